from __future__ import annotations

from typing import Any

from benchmarks.metrics.base import Item, Score
from benchmarks.metrics.extraction import answer_body
from benchmarks.metrics.judge_replies import JudgeReplyError
from benchmarks.metrics.judging import DeepEval, DeepEvalMetric, as_data, shown_answer
from benchmarks.metrics.verdict_lists import verdict_detail, verdict_reason
from benchmarks.metrics.verdicts import scored


class AnswerRelevancy(DeepEvalMetric):
    """Share of the answer's statements that address the input (DeepEval's ``AnswerRelevancyMetric``).

    Two judge calls: the statements of the answer, a verdict for each. A borderline statement passes. An empty answer
    addresses nothing and scores 0 unasked.
    """

    name = "answer_relevancy"
    title = "Answer relevancy"
    description = "Share of the answer's statements that address the input"
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
            raise JudgeReplyError("it found no statement in an answer that is not empty")
        if len(metric.verdicts) != len(metric.statements):
            raise JudgeReplyError(f"it gave {len(metric.verdicts)} verdicts on {len(metric.statements)} statements")
        reason = verdict_reason("statements address the input", metric.statements, metric.verdicts)
        return scored(value, reason, **verdict_detail(metric.statements, metric.verdicts))
