"""Many comparisons at once: over the metrics, over all pairs of more than two runs.

Source: Holm (1979), Scand. J. Stat. 6:65. The chance that any difference of the whole family is called clear although
there is none stays below one minus the confidence, whatever the dependence between the comparisons.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from benchmarks.statistics.paired import Comparison, Task, TaskScores, compare


@dataclass(frozen=True, slots=True)
class FamilyMember:
    """One comparison of a family: run ``b`` against run ``a`` on one metric."""

    a: str
    b: str
    metric: str
    comparison: Comparison
    p_adjusted: float | None
    """Holm's p-value within the family; ``None`` where there was nothing to test."""
    family_size: int

    @property
    def is_clear(self) -> bool:
        """Whether the difference stands also after the correction for the whole family."""
        return (
            self.p_adjusted is not None
            and self.p_adjusted <= 1 - self.comparison.confidence
            and self.comparison.is_clear
        )


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def compare_many(
    runs: Mapping[str, Mapping[str, TaskScores[Task]]],
    clusters: Mapping[Task, Hashable] | None = None,
    *,
    confidence: float = 0.95,
    power: float = 0.8,
    seed: int = 0,
) -> list[FamilyMember]:
    """Compare every pair of runs on every metric that both have, as one family.

    ``runs`` maps a run's name to its metrics, and each of those to the scores of its tasks. Pairs come in the order of
    ``runs``, the earlier run as A; metrics in the order of A.
    """
    compared = [
        (a, b, metric, compare(scores, runs[b][metric], clusters, confidence=confidence, power=power, seed=seed))
        for a, b in combinations(runs, 2)
        for metric, scores in runs[a].items()
        if metric in runs[b]
    ]
    p_values = [comparison.p_value for *_, comparison in compared if comparison.p_value is not None]
    adjusted = iter(holm(p_values))
    return [
        FamilyMember(a, b, metric, found, None if found.p_value is None else next(adjusted), len(p_values))
        for a, b, metric, found in compared
    ]
