from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.metrics.base import Item, Score
from benchmarks.metrics.contextual_precision import PassagesMetric
from benchmarks.metrics.judge_responses import JudgeResponseError
from benchmarks.metrics.judges import scored_by_verdicts


class ContextualRecall(PassagesMetric):
    """Share of the expected answer's sentences that the passages support (DeepEval's ``ContextualRecallMetric``). The
    judge takes the answer apart."""

    name = "contextual_recall"
    title = "Contextual recall"
    description = "Share of sentences in the expected answer that the passages support, according to a judge"
    formula = "ContextualRecallMetric"

    def scored(self, item: Item, value: float, verdicts: Sequence[Any]) -> Score:
        if not verdicts:
            raise JudgeResponseError("it returned no verdicts for an expected answer that is not empty")
        entries = [f"sentence {number}" for number, _ in enumerate(verdicts, 1)]
        return scored_by_verdicts(value, "sentences", "are supported", entries, verdicts)
