"""Confidence intervals for the mean of scores in [0, 1], and of measurements such as latencies.

One construction serves every kind of score. The interval contains the means m that the data do not contradict,

    (mean - m)² <= c · m · (1 - m),

which is Wilson's score interval for c = z² / n, as for independent 0/1 scores. Scores that share a canvas or a task
vary together, which raises c by the design effect; graded scores vary less than 0/1 scores of the same mean, which
lowers it. The interval never leaves [0, 1], and is asymmetric near its ends. A measurement has no upper bound, so it
gets a t interval with the same variance.

Wilson's interval covers too rarely where few 0/1 scores are wrong, or few right. There, bounds are at least as wide as
Clopper and Pearson's, with clusters for as many independent scores as give the same c.

An answer with a fault scores 0. Where graded scores hold no 0, rare faults may not have occurred yet, and the observed
variance says nothing of them: half a result, or cluster, with the score 0 is added to it. The same holds for 1.

Sources: Wilson (1927), JASA 22:209; Dean & Pagano (2015), J. Surv. Stat. Methodol. 3:484, and Franco, Little, Louis &
Slud (2019), J. Surv. Stat. Methodol. 7:334, for Wilson's interval with a design effect; Clopper & Pearson (1934),
Biometrika 26:404; Korn & Graubard (1998), Surv. Methodol. 24:193, for their interval with clusters; Student (1908),
Biometrika 6:1.
The variances are those of :mod:`benchmarks.statistics.spread`. Simulated coverage: ``tests/benches/statistics``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from benchmarks.statistics.spread import (
    NO_SPREAD,
    ClusterCount,
    ClusteredSpread,
    Spread,
    accumulated,
    cluster_sums,
    counted,
    independent_spread,
    score_factor,
    two_sided_t,
    two_sided_z,
)

FEW = 30
"""With fewer results, or clusters, or equal clusters that they are worth, a note says that the sample is small."""
_FEW_OF_A_KIND = 4.5
"""With fewer effective zeros, or ones, the bounds of 0/1 scores are at least as wide as Clopper and Pearson's."""

Clusters = Iterable[ClusterCount] | ClusteredSpread
"""How many clusters there are of each size and sum, in any order, iterated once; or clusters already accumulated."""


Bounded = tuple[float, float, float]
"""A mean, the lower and the upper bound of its interval."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its confidence bounds. Without values, mean and bounds are ``None``."""

    mean: float | None
    low: float | None
    high: float | None
    n: int
    n_clusters: int | None
    """How many clusters the values fall into; ``None`` if they are treated as independent."""
    method: str
    note: str = ""
    """What limits the interval, in words; empty if nothing does."""
    confidence: float = 0.95

    @property
    def half_width(self) -> float | None:
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


def no_interval(note: str = "no scored results", confidence: float = 0.95, n_clusters: int | None = None) -> Interval:
    """The interval of no values."""
    return Interval(None, None, None, 0, n_clusters, "none", note, confidence)


@dataclass(slots=True)
class Moments:
    """The number of values and the sums of their powers, which suffice for an interval."""

    n: int = 0
    total: float = 0.0
    squares: float = 0.0
    cubes: float = 0.0
    fourths: float = 0.0
    graded: int = 0
    """How many values are neither 0 nor 1. Cubes and fourth powers matter only if there are any."""
    zeros: int = 0

    @classmethod
    def of(cls, values: Iterable[tuple[float, int]]) -> Moments:
        """The moments of (value, how many times) pairs."""
        pairs = list(values)
        n = sum(count for _, count in pairs)
        graded = sum(count for value, count in pairs if value not in (0, 1))
        sums = [math.fsum(count * value**power for value, count in pairs) for power in (1, 2, 3, 4)]
        zeros = sum(count for value, count in pairs if value == 0)
        return cls(n, sums[0], sums[1], sums[2], sums[3], graded, zeros)

    @property
    def mean(self) -> float:
        return self.total / self.n

    def fourth_central_moment(self) -> float:
        mean = self.mean
        moment = self.fourths / self.n - 4 * mean * self.cubes / self.n + 6 * mean**2 * self.squares / self.n
        return max(0.0, moment - 3 * mean**4)


def mean_interval(
    values: Sequence[float], clusters: Sequence[Hashable] | None = None, *, confidence: float = 0.95
) -> Interval:
    """The mean of scores in [0, 1] with its confidence interval.

    ``clusters`` names, value by value, what each shares with others (its canvas; its task if tasks are repeated).
    Raises ``ValueError`` for a value outside [0, 1] or if the two sequences differ in length.
    """
    return interval_by_confidence(values, clusters)(confidence)


def interval_by_confidence(
    values: Sequence[float], clusters: Sequence[Hashable] | None = None
) -> Callable[[float], Interval]:
    """:func:`mean_interval` as a function of the confidence, which reads the values only once."""
    for place, value in enumerate(values):
        if not 0 <= value <= 1:
            raise ValueError(f"value {place} is {value!r}: a score is a number in [0, 1]; leave unscored results out")
    if clusters is not None and len(clusters) != len(values):
        raise ValueError(f"{len(values)} values with {len(clusters)} cluster names: give one name for every value")
    moments = Moments.of((value, 1) for value in values)
    sums = None if clusters is None else counted(cluster_sums(values, clusters))
    return lambda confidence: interval_from_moments(moments, sums, confidence=confidence)


def interval_from_moments(moments: Moments, clusters: Clusters | None = None, *, confidence: float = 0.95) -> Interval:
    """The interval of :func:`mean_interval` from sums alone, so that a long run need not be read again."""
    n = moments.n
    if n == 0:
        return no_interval(confidence=confidence, n_clusters=None if clusters is None else 0)
    # Sums of floats can leave [0, 1] by rounding, and the variance can fall below 0.
    mean = min(1.0, max(0.0, moments.mean))
    variance = max(0.0, moments.squares / n - mean * mean)
    unseen = [] if variance <= NO_SPREAD else _unseen(moments, mean)
    spread = None if clusters is None else _grouped_spread(clusters, n, mean, variance, unseen)
    n_clusters = None if spread is None else spread.n_clusters
    is_clustered = spread is not None and n_clusters != n
    if spread is None or not is_clustered:
        spread = independent_spread(n, mean, variance, moments.fourth_central_moment(), unseen)
    is_wilson = not moments.graded and not is_clustered
    factor = two_sided_z(confidence) ** 2 / n if is_wilson else score_factor(spread, mean * (1 - mean), confidence)
    low, high = score_bounds(mean, factor)
    n_effective = two_sided_z(confidence) ** 2 / factor
    if not moments.graded and n_effective * min(mean, 1 - mean) < _FEW_OF_A_KIND:
        exact = _clopper_pearson(mean, n_effective, confidence)
        low, high = min(low, exact[0]), max(high, exact[1])
    method = ("score" if moments.graded else "wilson") + ("-clustered" if is_clustered else "")
    all_equal = spread.is_flat and not is_wilson
    note = sample_note(n, n_clusters if is_clustered else None, spread.equal_clusters, all_equal=all_equal)
    return Interval(mean, low, high, n, n_clusters, method, note, confidence)


def measurement_interval(
    moments: Moments, clusters: Clusters | None = None, *, lowest: float = 0.0, confidence: float = 0.95
) -> Interval:
    """The mean of measurements ± t · its standard error; never below ``lowest``.

    A single measurement, or a single cluster of them, has a mean without bounds, because its spread is unknown.
    """
    n = moments.n
    if n == 0:
        return no_interval("no measurements", confidence)
    mean = moments.mean
    variance = max(0.0, moments.squares / n - mean * mean)
    spread = independent_spread(n, mean, variance, None)
    n_clusters = None
    if clusters is not None and (grouped := _grouped_spread(clusters, n, mean, variance, ())).n_clusters < n:
        spread, n_clusters = grouped, grouped.n_clusters
    note = sample_note(n, n_clusters, spread.equal_clusters)
    if spread.degrees <= 0:
        return Interval(mean, None, None, n, n_clusters, "mean", note, confidence)
    half = two_sided_t(confidence, spread.degrees) * math.sqrt(spread.variance_of_mean)
    method = "t" if n_clusters is None else "t-clustered"
    return Interval(mean, max(lowest, mean - half), mean + half, n, n_clusters, method, note, confidence)


def score_bounds(mean: float, factor: float) -> tuple[float, float]:
    """The two solutions m of ``(mean - m)² = factor · m · (1 - m)``."""
    middle = mean + factor / 2
    half = math.sqrt(factor * mean * (1 - mean) + factor * factor / 4)
    low, high = (middle - half) / (1 + factor), (middle + half) / (1 + factor)
    # At the ends the solution is exact; computed, it would be a rounding error away.
    return (0.0 if mean == 0 else max(0.0, low)), (1.0 if mean == 1 else min(1.0, high))


def independent_difference(first: Bounded, second: Bounded) -> Bounded:
    """The first mean minus the second with its bounds, for means of different tasks: the squared distances to the
    bounds add up, separately on each side (Newcombe (1998), Stat. Med. 17:873, method 10)."""
    (a, a_low, a_high), (b, b_low, b_high) = first, second
    return a - b, a - b - math.hypot(a - a_low, b_high - b), a - b + math.hypot(a_high - a, b - b_low)


def _clopper_pearson(mean: float, n: float, confidence: float) -> tuple[float, float]:
    """The bounds that cover at least as often as ``confidence`` says. ``n`` may be a fraction."""
    from scipy.special import betaincinv

    tail, ones, zeros = (1 - confidence) / 2, n * mean, n * (1 - mean)
    low = float(betaincinv(ones, zeros + 1, tail)) if ones else 0.0
    return low, (float(betaincinv(ones + 1, zeros, 1 - tail)) if zeros else 1.0)


def _unseen(moments: Moments, mean: float) -> list[float]:
    """How far from the mean those of 0 and 1 are that graded scores do not hold."""
    if not moments.graded:
        return []
    ones = moments.n - moments.graded - moments.zeros
    return [*([] if moments.zeros else [mean]), *([] if ones else [1 - mean])]


def _grouped_spread(clusters: Clusters, n: int, mean: float, variance: float, unseen: Sequence[float]) -> Spread:
    if not isinstance(clusters, ClusteredSpread):
        clusters = accumulated(n, mean, clusters)
    return clusters.spread(variance, unseen)


def sample_note(
    n: int, n_clusters: int | None = None, equal_clusters: float = math.inf, *, all_equal: bool = False
) -> str:
    """What limits an interval, in words. ``n_clusters`` is given if values share clusters, and ``equal_clusters`` if
    these may differ in size."""
    small = [f"{n} result{'s' * (n != 1)}"] if n < FEW else []
    if n_clusters is not None and min(n_clusters, equal_clusters) < FEW:
        worth = f" of unequal size, worth {equal_clusters:.0f} equal ones" if n_clusters >= FEW else ""
        small.append(f"{n_clusters} independent group{'s' * (n_clusters != 1)}{worth}")
    notes = [f"small sample: {', '.join(small)}"] if small else []
    if all_equal and n > 1:
        notes.append("all scores are equal, so the interval assumes the largest possible spread")
    return "; ".join(notes)
