"""The variance of a mean whose values may come in clusters, how far to trust it, and the quantiles that go with it.

Sources: Bell & McCaffrey (2002), Surv. Methodol. 28:169, for the cluster-robust variance CR2 and its degrees of
freedom; Satterthwaite (1946), Biometrics Bull. 2:110, for degrees of freedom from the variance's own spread; Kish
(1965), Survey Sampling, for the design effect; Carter, Schnepel & Steigerwald (2017), Rev. Econ. Stat. 99:698, for the
number of equal clusters that uneven ones are worth.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

ClusterCount = tuple[int, float, int]
"""Size and sum of a cluster, and how many clusters have both. Several entries may have the same size and sum."""

NO_SPREAD = 1e-12
"""A smaller variance is rounding, not spread: scores closer together than a millionth are equal."""
UNSEEN = 0.5
"""How many results with the score 0, or 1, stand for those that have not occurred yet."""
_EQUAL = 1e-9
"""Means of equal scores may differ in their last digits."""


def are_equal(a: float, b: float) -> bool:
    """Whether two means are the same number, apart from rounding."""
    return abs(a - b) <= _EQUAL * max(1.0, abs(a), abs(b))


def normal_quantile(probability: float) -> float:
    return NormalDist().inv_cdf(probability)


def two_sided_z(confidence: float) -> float:
    """The normal quantile that leaves ``1 - confidence`` outside, half on each side."""
    return normal_quantile(_upper_point(confidence))


def two_sided_t(confidence: float, degrees: float) -> float:
    """The same quantile of Student's t. ``degrees`` may be a fraction, as Satterthwaite's are."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, _upper_point(confidence)))


def _upper_point(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence!r}: give a number between 0 and 1, such as 0.95")
    return (1 + confidence) / 2


@dataclass(frozen=True, slots=True)
class Spread:
    """A mean, the variance of its values and the variance of the mean itself."""

    n: float
    n_clusters: int
    mean: float
    population_variance: float
    """Of the single values, with divisor n."""
    variance_of_mean: float
    degrees: float
    """Degrees of freedom of ``variance_of_mean``; 0 if a single cluster leaves it unknown."""
    concentration: float
    """The sum of the squared shares of the clusters: 1/n for independent values, 1 for a single cluster."""
    equal_clusters: float
    """How many clusters of equal size tell the variance as well as these do if the values of a cluster are alike."""

    @property
    def is_flat(self) -> bool:
        """Whether all values are equal, which does not say how much they could have varied."""
        return self.population_variance <= NO_SPREAD


def spread_of(values: Sequence[float], clusters: Sequence[Hashable] | None = None) -> Spread:
    """The spread of one or more values: independent, or in the clusters that ``clusters`` names value by value."""
    n = len(values)
    mean = math.fsum(values) / n
    deviations = [value - mean for value in values]
    variance = math.fsum(deviation**2 for deviation in deviations) / n
    sums = None if clusters is None else cluster_sums(values, clusters)
    if sums is None or len(sums) == n:
        return independent_spread(n, mean, variance, math.fsum(deviation**4 for deviation in deviations) / n)
    return clustered_spread(n, mean, variance, ((size, total, 1) for size, total in sums))


def cluster_sums(values: Sequence[float], clusters: Sequence[Hashable]) -> list[tuple[int, float]]:
    """Size and sum of every cluster, in the order in which the clusters first appear."""
    sums: dict[Hashable, tuple[int, float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        size, total = sums.get(cluster, (0, 0.0))
        sums[cluster] = (size + 1, total + value)
    return list(sums.values())


def counted(sums: Iterable[tuple[int, float]]) -> list[ClusterCount]:
    """How many clusters there are of each size and sum."""
    return [(size, total, count) for (size, total), count in Counter(sums).items()]


def independent_spread(
    n: int, mean: float, variance: float, fourth_moment: float | None, unseen: Sequence[float] = ()
) -> Spread:
    """The spread of independent values from their central moments; without the fourth, n - 1 degrees of freedom.

    ``UNSEEN`` values are added to the variance for each deviation of ``unseen``.
    """
    variance += _unseen_variance(n, unseen)
    if fourth_moment is not None:
        fourth_moment += UNSEEN * sum(deviation**4 for deviation in unseen) / n
    if n == 1:
        return Spread(n, n, mean, variance, 0.0, 0.0, 1.0, n)
    degrees = float(n - 1)
    if fourth_moment is not None and variance > NO_SPREAD:
        degrees = _trusted_degrees(degrees, fourth_moment / (n * variance * variance), n)
    return Spread(n, n, mean, variance, variance / (n - 1), degrees, 1 / n, n)


class ClusteredSpread:
    """Accumulates clusters one by one for the spread of ``n`` values with a known ``mean``, and stores none of them.

    For a mean, which is a regression on a constant, CR2 and its degrees of freedom have a closed form. With weights,
    sizes are sums of weights.
    """

    def __init__(self, n: float, mean: float) -> None:
        self.n = n
        self.mean = mean
        self.n_values = 0.0
        self.n_clusters = 0
        self.concentration = self.fourth_shares = self.leverage = self.squared_leverage = 0.0
        self.variance_of_mean = self.fourths = 0.0

    def add(self, size: float, subtotal: float, count: int = 1) -> None:
        """Add ``count`` clusters of this size and sum; an empty one does not count."""
        if not size:
            return
        share = size / self.n
        self.n_values += size * count
        self.n_clusters += count
        self.concentration += count * share**2
        self.fourth_shares += count * share**4
        if share < 1:  # A cluster with all values has leverage 1: it determines the mean and leaves no residual.
            square = ((subtotal - size * self.mean) / self.n) ** 2 / (1 - share)
            self.variance_of_mean += count * square
            self.fourths += count * square**2
            self.leverage += count * share**2 / (1 - share)
            self.squared_leverage += count * (share**2 / (1 - share)) ** 2

    def spread(self, variance: float, unseen: Sequence[float] = ()) -> Spread:
        """The spread, given the variance of the single values. Raises ``ValueError`` unless all ``n`` were added.

        ``UNSEEN`` clusters of average size are added to the variance for each deviation of ``unseen``.
        """
        variance += _unseen_variance(self.n, unseen)
        if not math.isclose(self.n_values, self.n):
            raise ValueError(f"the clusters contain {self.n_values:g} values, not {self.n:g}: count each value once")
        if self.n_clusters == 1:
            return Spread(self.n, 1, self.mean, variance, 0.0, 0.0, 1.0, 1)
        degrees = 1 / (self.concentration + self.leverage**2 - self.squared_leverage)
        squares = [(deviation / self.n_clusters) ** 2 for deviation in unseen]
        variance_of_mean = self.variance_of_mean + UNSEEN * sum(squares)
        fourths = self.fourths + UNSEEN * sum(square**2 for square in squares)
        if variance_of_mean > 0:
            degrees = _trusted_degrees(degrees, fourths / variance_of_mean**2, self.n_clusters)
        return Spread(
            self.n,
            self.n_clusters,
            self.mean,
            variance,
            variance_of_mean,
            degrees,
            self.concentration,
            equal_clusters=self.concentration**2 / self.fourth_shares,
        )


def clustered_spread(n: int, mean: float, variance: float, clusters: Iterable[ClusterCount]) -> Spread:
    """The spread of clustered values. ``clusters`` is iterated once."""
    return accumulated(n, mean, clusters).spread(variance)


def _unseen_variance(n: float, unseen: Sequence[float]) -> float:
    return UNSEEN * sum(deviation**2 for deviation in unseen) / n


def accumulated(n: int, mean: float, clusters: Iterable[ClusterCount]) -> ClusteredSpread:
    """The clusters of ``n`` values with this mean, added one by one."""
    added = ClusteredSpread(n, mean)
    for size, subtotal, count in clusters:
        added.add(size, subtotal, count)
    return added


def _trusted_degrees(degrees: float, fourth_share: float, n_clusters: int) -> float:
    """Fewer degrees of freedom if a few clusters make up most of the variance.

    ``fourth_share`` is Σe⁴ / (Σe²)² over the clusters' deviations e, which is their kurtosis over their number. The
    variance estimate then has relative variance ``fourth_share - 1 / n_clusters``, and a scaled χ² with that spread has
    2 divided by it degrees. Ordinary data keep theirs; one failed canvas among thirty correct ones leaves two.
    """
    relative_variance = fourth_share - 1 / n_clusters
    return degrees if relative_variance * degrees <= 2 else max(1.0, 2 / relative_variance)


def score_factor(spread: Spread, reference_variance: float, confidence: float) -> float:
    """The c of a score interval ``(estimate - m)² <= c · v(m)``, with ``reference_variance`` as v at the estimate.

    ``reference_variance`` is the largest variance of a single value given the mean. Values that reach it and vary with
    their whole cluster bound c from above; that bound needs no estimate and so a normal quantile. From below, clusters
    never make a mean more certain than independent values would.
    """
    z_squared = two_sided_z(confidence) ** 2
    widest = z_squared * spread.concentration
    if spread.is_flat or spread.degrees <= 0:
        return widest
    narrowest = z_squared * spread.population_variance / reference_variance / spread.n
    estimated = two_sided_t(confidence, spread.degrees) ** 2 * spread.variance_of_mean / reference_variance
    return min(widest, max(narrowest, estimated))
