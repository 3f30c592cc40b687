from __future__ import annotations

from benchmarks.metrics.base import DeterministicMetric, Item, Score, not_applicable, scored


class Latency(DeterministicMetric):
    """Milliseconds from sending the request to the complete answer, without waits for limits and retries."""

    name = "latency"
    title = "Latency"
    description = "Time from sending the request to the complete answer"
    needs = frozenset({"duration_ms"})
    range = (0.0, None)
    unit = "ms"
    higher_is_better = False
    decides_outcome = False

    def applies_to(self, item: Item) -> bool:
        """Always: before a run no answer has a time yet. An answer without one is not applicable in ``score``."""
        return True

    def score(self, item: Item) -> Score:
        if item.duration_ms is None:
            return not_applicable("The latency of this answer was not measured.")
        return scored(item.duration_ms)
