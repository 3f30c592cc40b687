from __future__ import annotations

from typing import Any

from benchmarks.metrics.base import Item, Score, scored
from benchmarks.metrics.judges import DeepEval, DeepEvalMetric, as_data, scored_by_verdicts
from benchmarks.metrics.retrieval import NOTHING_RETRIEVED


class ContextualPrecision(DeepEvalMetric):
    """How early the useful passages come in the context: the mean of precision at k over the useful passages
    (average precision; DeepEval's ``ContextualPrecisionMetric``). One judge call.

    It reads the passages and the expected output, not the answer, so it decides no outcome.
    """

    name = "contextual_precision"
    title = "Contextual precision"
    description = "Whether useful passages come before useless ones, according to a judge"
    needs = frozenset({"passages", "expected_output"})
    decides_outcome = False

    async def measure(self, deepeval: DeepEval, item: Item, model: Any) -> Score:
        if not item.passages:
            return scored(0.0, NOTHING_RETRIEVED)
        metric = deepeval.metrics.ContextualPrecisionMetric(
            model=model, eval_mode="llm", include_reason=False, verbose_mode=False
        )
        case = deepeval.test_case.LLMTestCase(
            input=as_data("TASK", item.input),
            expected_output=as_data("REFERENCE", item.reference),
            retrieval_context=[as_data("PASSAGE", passage) for passage in item.passages],
        )
        value = await metric.a_measure(case, _show_indicator=False)
        return scored_by_verdicts(value, "passages", "are useful", item.passages, metric.verdicts)
