"""The weighted mean of scores in [0, 1] with its confidence interval.

Weights are known, scores may share clusters, and both may go together: heavy tasks may be the hard ones. The weighted
mean R = Σwx / Σw is a ratio of two totals, whose variance by linearization is that of the total of w·(x - R) / Σw.

Sources: Cochran (1977), Sampling Techniques, section 6, and Särndal, Swensson & Wretman (1992), section 5.7, for the
ratio and its linearized variance; Bell & McCaffrey (2002), Surv. Methodol. 28:169, for CR2 of a weighted mean; Kish
(1965), Survey Sampling, for the effective number. Simulated coverage: ``tests/benches/statistics``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from benchmarks.statistics.intervals import FEW, Interval, no_interval, sample_note, score_bounds
from benchmarks.statistics.spread import ClusteredSpread, two_sided_t, two_sided_z

FEWEST = 20
"""With an effective number below, there is no interval: simulated ones held in as few as 69%."""


class WeightedPart(NamedTuple):
    """What the scores of one weight in one cluster add up to, such as the repeats of a task."""

    n: int
    weight: float
    """Σw"""
    total: float
    """Σwx"""
    squares: float
    """Σwx²"""


@dataclass(frozen=True, slots=True)
class WeightedMean:
    interval: Interval
    n_effective: float
    """How many clusters of equal weight make a mean as certain: (Σw)² / Σ(cluster's weight)². At most their number."""
    weight: float = 0.0
    """Σw of all scores"""


def weighted_mean(clusters: Iterable[Sequence[WeightedPart]], *, confidence: float = 0.95) -> WeightedMean:
    """R with the score interval ``(R - m)² <= c · m · (1 - m)``; a cluster is given by its parts.

    c is t² · V / (R · (1 - R)), with V and its degrees of freedom by CR2, but at least that of independent scores.
    Nothing bounds it from above: if heavy tasks score otherwise than light ones, the ratio varies more than any mean
    of equal weights. If all scores are equal, c is z² / ``n_effective``. Below ``FEWEST`` there are no bounds.
    """
    kept = [parts for cluster in clusters if (parts := [part for part in cluster if part.n])]
    if not kept:
        return WeightedMean(no_interval("no scored results", confidence, 0), 0.0)
    parts = list(chain.from_iterable(kept))
    n, weight = sum(part.n for part in parts), math.fsum(part.weight for part in parts)
    mean = min(1.0, max(0.0, math.fsum(part.total for part in parts) / weight))
    variance = max(0.0, math.fsum(part.squares for part in parts) / weight - mean * mean)
    # By shares of the whole weight, the ratio is a mean of one value, whose clusters have sizes that add up to 1.
    accumulated = ClusteredSpread(1, mean)
    for cluster in kept:
        accumulated.add(sum(part.weight for part in cluster) / weight, sum(part.total for part in cluster) / weight)
    spread = accumulated.spread(variance)
    n_effective = 1 / spread.concentration
    factor = (z_squared := two_sided_z(confidence) ** 2) / n_effective
    if not spread.is_flat and spread.degrees > 0:
        estimated = two_sided_t(confidence, spread.degrees) ** 2 * spread.variance_of_mean
        independent = math.fsum(
            each.weight / each.n * (each.squares - 2 * mean * each.total + mean * mean * each.weight) for each in parts
        )
        factor = max(z_squared * independent / weight**2, estimated) / (mean * (1 - mean))
    low, high = score_bounds(mean, factor)
    note = sample_note(n, len(kept), all_equal=spread.is_flat)
    if n_effective < FEW:
        alike = f"{n:,} scores count as {n_effective:.0f} equal tasks"
        note = "; ".join(filter(None, (note, alike)))
    if n_effective < FEWEST:
        return WeightedMean(
            Interval(mean, None, None, n, len(kept), "ratio", f"{alike}: no interval"), n_effective, weight
        )
    return WeightedMean(Interval(mean, low, high, n, len(kept), "ratio", note, confidence), n_effective, weight)
