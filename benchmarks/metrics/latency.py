from __future__ import annotations

from benchmarks.metrics.base import DeterministicMetric, Item, Score
from benchmarks.metrics.verdicts import not_applicable, scored


class Latency(DeterministicMetric):
    """Milliseconds from sending the request to the whole answer, without waiting for limits and retries."""

    name = "latency"
    title = "Latency"
    description = "Time from the request to the whole answer"
    needs = frozenset({"duration_ms"})
    range = (0.0, None)
    unit = "ms"
    higher_is_better = False
    decides_outcome = False

    def applies_to(self, item: Item) -> bool:
        """Every answer takes time, so it applies before there is one; an answer without a time has no score."""
        return True

    def score(self, item: Item) -> Score:
        if item.duration_ms is None:
            return not_applicable("The time of this answer was not measured.")
        return scored(item.duration_ms)
