from __future__ import annotations

from typing import Any

from benchmarks.metrics.base import Item, Score, scored
from benchmarks.metrics.judge_responses import JudgeResponseError
from benchmarks.metrics.judges import DeepEval, DeepEvalMetric, as_data, scored_by_verdicts, shown_answer
from tasks_app.tasks.reply import answer_body


class AnswerRelevancy(DeepEvalMetric):
    """Share of the answer's statements that address the input (DeepEval's ``AnswerRelevancyMetric``).

    Two judge calls: the statements of the answer, then a verdict on each. A borderline statement passes. An empty
    answer addresses nothing and scores 0 without a call.
    """

    name = "answer_relevancy"
    title = "Answer relevancy"
    description = "Share of statements in the answer that address the input, according to a judge"
    needs = frozenset({"input"})

    async def measure(self, deepeval: DeepEval, item: Item, model: Any) -> Score:
        if not answer_body(item.actual_output):
            return scored(0.0, "The answer is empty.")
        metric = deepeval.metrics.AnswerRelevancyMetric(
            model=model, eval_mode="llm", include_reason=False, verbose_mode=False
        )
        case = deepeval.test_case.LLMTestCase(input=as_data("TASK", item.input), actual_output=shown_answer(item))
        value = await metric.a_measure(case, _show_indicator=False)
        if not metric.statements:
            raise JudgeResponseError("it returned no statements for an answer that is not empty")
        return scored_by_verdicts(value, "statements", "address the input", metric.statements, metric.verdicts)
