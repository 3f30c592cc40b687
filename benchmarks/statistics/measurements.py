"""The mean of measurements, such as latencies and lengths, with its t interval.

A measurement has no upper bound, so the score interval of :mod:`benchmarks.statistics.intervals` does not apply; its
variance, clusters included, is estimated in the same way. Sources: Student (1908), Biometrika 6:1; Bell & McCaffrey
(2002), Surv. Methodol. 28:169, for clusters.
"""

from __future__ import annotations

import math

from benchmarks.statistics.distributions import two_sided_t
from benchmarks.statistics.intervals import Clusters, Interval, grouped_spread, scarcity_note
from benchmarks.statistics.spread import Spread, independent_spread


def measurement_interval(
    n: int,
    total: float,
    total_of_squares: float,
    *,
    clusters: Clusters | None = None,
    lowest: float = 0.0,
    confidence: float = 0.95,
) -> Interval:
    """The mean ± t · its standard error, from sums as in ``interval_from_moments``; never below ``lowest``.

    A single measurement, or a single cluster of them, has a mean without bounds: nothing tells how far others lie.
    """
    if n == 0:
        return Interval(None, None, None, 0, None, "none", "no measurements", confidence)
    mean = total / n
    variance = max(0.0, total_of_squares / n - mean * mean)
    spread, method = _spread(n, mean, variance, clusters)
    n_clusters = spread.n_clusters if method == "t-clustered" else None
    note = scarcity_note(n, n_clusters, all_equal=False)
    if spread.degrees <= 0:
        return Interval(mean, None, None, n, n_clusters, "mean", note, confidence)
    half = two_sided_t(confidence, spread.degrees) * math.sqrt(spread.variance_of_mean)
    return Interval(mean, max(lowest, mean - half), mean + half, n, n_clusters, method, note, confidence)


def _spread(n: int, mean: float, variance: float, clusters: Clusters | None) -> tuple[Spread, str]:
    if clusters is not None:
        grouped = grouped_spread(clusters, n, mean, variance)
        if grouped.n_clusters < n:
            return grouped, "t-clustered"
    return independent_spread(n, mean, variance, None), "t"
