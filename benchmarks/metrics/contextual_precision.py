from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from benchmarks.metrics.base import Item, Score, scored
from benchmarks.metrics.judges import DeepEval, DeepEvalMetric, as_data, scored_by_verdicts
from benchmarks.metrics.retrieval import NOTHING_RETRIEVED


class PassagesMetric(DeepEvalMetric):
    """Judges the passages by the expected output, not the answer, so it decides no outcome. One judge call."""

    needs = frozenset({"passages", "expected_output"})
    decides_outcome = False
    formula: ClassVar[str]
    """DeepEval's name of it."""

    @abstractmethod
    def scored(self, item: Item, value: float, verdicts: Sequence[Any]) -> Score:
        """The score from DeepEval's value and the judge's verdicts."""

    async def measure(self, deepeval: DeepEval, item: Item, model: Any) -> Score:
        if not item.passages:
            return scored(0.0, NOTHING_RETRIEVED)
        formula = getattr(deepeval.metrics, self.formula)
        metric = formula(model=model, eval_mode="llm", include_reason=False, verbose_mode=False)
        case = deepeval.test_case.LLMTestCase(
            input=as_data("TASK", item.input),
            expected_output=as_data("REFERENCE", item.reference),
            retrieval_context=[as_data("PASSAGE", passage) for passage in item.passages],
        )
        return self.scored(item, await metric.a_measure(case, _show_indicator=False), metric.verdicts)


class ContextualPrecision(PassagesMetric):
    """How early the useful passages come: the mean of precision at k over the useful passages (average precision;
    DeepEval's ``ContextualPrecisionMetric``)."""

    name = "contextual_precision"
    title = "Contextual precision"
    description = "Whether useful passages come before useless ones, according to a judge"
    formula = "ContextualPrecisionMetric"

    def scored(self, item: Item, value: float, verdicts: Sequence[Any]) -> Score:
        return scored_by_verdicts(value, "passages", "are useful", item.passages, verdicts)
