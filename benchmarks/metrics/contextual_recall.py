from __future__ import annotations

from typing import Any

from benchmarks.metrics.base import Item, Score, scored
from benchmarks.metrics.judge_responses import JudgeResponseError
from benchmarks.metrics.judges import DeepEval, DeepEvalMetric, as_data, scored_by_verdicts
from benchmarks.metrics.retrieval import NOTHING_RETRIEVED


class ContextualRecall(DeepEvalMetric):
    """Share of the expected answer's sentences that the passages support (DeepEval's ``ContextualRecallMetric``).
    One judge call, in which the judge takes the answer apart.

    It reads the passages and the expected output, not the answer, so it decides no outcome.
    """

    name = "contextual_recall"
    title = "Contextual recall"
    description = "Share of sentences in the expected answer that the passages support, according to a judge"
    needs = frozenset({"passages", "expected_output"})
    decides_outcome = False

    async def measure(self, deepeval: DeepEval, item: Item, model: Any) -> Score:
        if not item.passages:
            return scored(0.0, NOTHING_RETRIEVED)
        metric = deepeval.metrics.ContextualRecallMetric(
            model=model, eval_mode="llm", include_reason=False, verbose_mode=False
        )
        case = deepeval.test_case.LLMTestCase(
            input=as_data("TASK", item.input),
            expected_output=as_data("REFERENCE", item.reference),
            retrieval_context=[as_data("PASSAGE", passage) for passage in item.passages],
        )
        value = await metric.a_measure(case, _show_indicator=False)
        if not metric.verdicts:
            raise JudgeResponseError("it returned no verdicts for an expected answer that is not empty")
        entries = [f"sentence {number}" for number, _ in enumerate(metric.verdicts, 1)]
        return scored_by_verdicts(value, "sentences", "are supported", entries, metric.verdicts)
