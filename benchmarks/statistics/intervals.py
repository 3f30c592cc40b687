"""Confidence intervals for the mean of scores in [0, 1].

One construction serves every kind of score. The interval holds the means m that the data do not contradict,

    (mean - m)² <= c · m · (1 - m),

which is Wilson's score interval where c = z² / n, as it is for independent 0/1 scores. Scores that share a canvas or
a task move together, which raises c by the design effect; graded scores vary less than 0/1 scores of the same mean,
which lowers it. The interval never leaves [0, 1], and near its ends it is as lopsided as it ought to be.

Sources: Wilson (1927), JASA 22:209; Dean & Pagano (2015), J. Surv. Stat. Methodol. 3:484, and Franco, Little, Louis &
Slud (2019), J. Surv. Stat. Methodol. 7:334, for Wilson's interval with a design effect. The variances are those of
:mod:`benchmarks.statistics.spread`. Coverage by simulation: ``benchmarks/statistics/benches``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from benchmarks.statistics.distributions import two_sided_z
from benchmarks.statistics.spread import (
    ClusterCount,
    ClusteredSpread,
    Spread,
    cluster_sums,
    clustered_spread,
    counted,
    independent_spread,
    score_factor,
)

FEW = 30
"""Below so many results, or so many clusters, an interval comes with a warning in words."""


Clusters = Iterable[ClusterCount] | ClusteredSpread
"""How many clusters there are of each size and sum, in any order, passed over once; or clusters gathered already."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its confidence bounds. With no values there is no mean and there are no bounds: all three are
    ``None``.
    """

    mean: float | None
    low: float | None
    high: float | None
    n: int
    n_clusters: int | None
    """How many clusters the values fall into; ``None`` where they were taken as independent."""
    method: str
    note: str = ""
    """What a reader must know before leaning on the bounds, in words; empty where there is nothing to add."""
    confidence: float = 0.95

    @property
    def half_width(self) -> float | None:
        """Half the distance between the bounds, which is what a stopping rule or a sort by certainty asks for."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


def mean_interval(
    values: Sequence[float], clusters: Sequence[Hashable] | None = None, *, confidence: float = 0.95
) -> Interval:
    """The mean of scores in [0, 1] with its confidence interval.

    ``clusters`` names, value by value, what each shares with others (its canvas; its task where tasks are repeated).
    Raises ``ValueError`` for a value outside [0, 1] or when the two sequences differ in length.
    """
    return interval_by_confidence(values, clusters)(confidence)


def interval_by_confidence(
    values: Sequence[float], clusters: Sequence[Hashable] | None = None
) -> Callable[[float], Interval]:
    """:func:`mean_interval` as a function of the confidence, for those who ask many times: the values are read once."""
    for place, value in enumerate(values):
        if not 0 <= value <= 1:
            raise ValueError(f"value {place} is {value!r}: a score is a number in [0, 1]; leave unscored results out")
    if clusters is not None and len(clusters) != len(values):
        raise ValueError(f"{len(values)} values with {len(clusters)} cluster names: give one name for every value")
    total, squares, cubes, fourths = (math.fsum(value**power for value in values) for power in (1, 2, 3, 4))
    binary = all(value in (0, 1) for value in values)
    sums = None if clusters is None else counted(cluster_sums(values, clusters))

    def interval(confidence: float) -> Interval:
        return interval_from_moments(
            len(values),
            total,
            squares,
            binary=binary,
            clusters=sums,
            total_of_cubes=cubes,
            total_of_fourths=fourths,
            confidence=confidence,
        )

    return interval


def interval_from_moments(
    n: int,
    total: float,
    total_of_squares: float,
    *,
    binary: bool,
    clusters: Clusters | None = None,
    total_of_cubes: float | None = None,
    total_of_fourths: float | None = None,
    confidence: float = 0.95,
) -> Interval:
    """The interval of :func:`mean_interval` from sums alone, so that a long run need not be read again.

    The sums of cubes and fourth powers are used for graded scores without clusters, where they tell how far the
    variance itself can be trusted; without them the degrees of freedom are n - 1.
    """
    if n == 0:
        no_clusters = None if clusters is None else 0
        return Interval(None, None, None, 0, no_clusters, "none", "no scored results", confidence)
    mean = min(1.0, max(0.0, total / n))
    variance = max(0.0, total_of_squares / n - mean * mean)
    method = "wilson" if binary else "score"
    grouped = None if clusters is None else grouped_spread(clusters, n, mean, variance)
    n_clusters = None if grouped is None else grouped.n_clusters
    if grouped is None or n_clusters == n:
        fourth = _central_fourth_moment(n, mean, total_of_squares, total_of_cubes, total_of_fourths)
        spread = independent_spread(n, mean, variance, fourth)
    else:
        spread, method = grouped, f"{method}-clustered"
    wilson = method == "wilson"
    factor = two_sided_z(confidence) ** 2 / n if wilson else score_factor(spread, mean * (1 - mean), confidence)
    low, high = score_bounds(mean, factor)
    shared_clusters = n_clusters if method.endswith("clustered") else None
    note = scarcity_note(n, shared_clusters, all_equal=spread.is_flat and not wilson)
    return Interval(mean, low, high, n, n_clusters, method, note, confidence)


def score_bounds(mean: float, factor: float) -> tuple[float, float]:
    """The two solutions m of ``(mean - m)² = factor · m · (1 - m)``."""
    middle = mean + factor / 2
    half = math.sqrt(factor * mean * (1 - mean) + factor * factor / 4)
    low, high = (middle - half) / (1 + factor), (middle + half) / (1 + factor)
    return (0.0 if mean == 0 else max(0.0, low)), (1.0 if mean == 1 else min(1.0, high))


def grouped_spread(clusters: Clusters, n: int, mean: float, variance: float) -> Spread:
    """The spread of values in clusters, gathered before or told now."""
    if isinstance(clusters, ClusteredSpread):
        return clusters.spread(variance)
    return clustered_spread(n, mean, variance, clusters)


def _central_fourth_moment(
    n: int, mean: float, squares: float, cubes: float | None, fourths: float | None
) -> float | None:
    if cubes is None or fourths is None:
        return None
    moment = fourths / n - 4 * mean * cubes / n + 6 * mean**2 * squares / n - 3 * mean**4
    return max(0.0, moment)


def scarcity_note(n: int, n_clusters: int | None, *, all_equal: bool) -> str:
    """What limits an interval, in words. ``n_clusters`` is given where values share clusters."""
    notes = []
    if n < FEW:
        notes.append(f"only {n} result{'s' * (n != 1)}")
    if n_clusters is not None and n_clusters < FEW:
        notes.append(f"only {n_clusters} independent group{'s' * (n_clusters != 1)} of results")
    if all_equal and n > 1:
        notes.append("all scores are equal, so the interval assumes the widest spread possible")
    return "; ".join(notes)
