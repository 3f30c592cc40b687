from __future__ import annotations

from typing import Any

from benchmarks.metrics.base import Item, Score, scored, with_passages
from benchmarks.metrics.judge_responses import JudgeResponseError
from benchmarks.metrics.judges import DeepEval, DeepEvalMetric, as_data, scored_by_verdicts, shown_answer
from benchmarks.metrics.retrieval import NOTHING_RETRIEVED
from tasks_app.tasks.reply import answer_body


class Faithfulness(DeepEvalMetric):
    """Share of the answer's factual claims that the passages do not contradict (DeepEval's ``FaithfulnessMetric``).

    Three judge calls: the facts of the context, the claims of the answer, then a verdict on each claim. A borderline
    claim passes. A judge that lists no claims has read nothing that it could check, which is an error and not a 1;
    an empty answer scores 0 without a call.
    """

    name = "faithfulness"
    title = "Faithfulness"
    description = "Share of claims in the answer that agree with the passages, according to a judge"
    needs = frozenset({"passages"})
    passes_at = 0.9
    fails_at = 0.5

    def reordered(self, item: Item) -> Item:
        return with_passages(item, item.passages[::-1])

    async def measure(self, deepeval: DeepEval, item: Item, model: Any) -> Score:
        if not answer_body(item.actual_output):
            return scored(0.0, "The answer is empty.")
        if not item.passages:
            return scored(0.0, NOTHING_RETRIEVED)
        metric = deepeval.metrics.FaithfulnessMetric(
            model=model, eval_mode="llm", include_reason=False, verbose_mode=False
        )
        case = deepeval.test_case.LLMTestCase(
            input=as_data("TASK", item.input),
            actual_output=shown_answer(item),
            retrieval_context=[as_data("CONTEXT", passage) for passage in item.passages],
        )
        value = await metric.a_measure(case, _show_indicator=False)
        if not metric.truths:
            raise JudgeResponseError("it returned no facts for the context, so the claims could not be checked")
        if not metric.claims:
            raise JudgeResponseError("it returned no claims for an answer that is not empty")
        return scored_by_verdicts(value, "claims", "agree with the context", metric.claims, metric.verdicts)
