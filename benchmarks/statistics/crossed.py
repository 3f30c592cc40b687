"""Means over tasks and variants that are both samples: each variant, a prompt or a seed, answers the same tasks.

A score is taken as μ + task + variant + rest. With T tasks and V variants its mean has the variance

    σ²_task / T + σ²_variant / V + σ²_rest / (T·V).

The variance of the mean by tasks, with clusters (CR2), estimates the first and the last term, that of the variants'
means over V the second and the last. Their sum counts the last twice: it is a little too large, and more so where
variants hardly differ. Degrees of freedom are Satterthwaite's; with three variants that differ they are near two, and
the interval is as wide as it then has to be. Sources: Clark (1973), J. Verbal Learn. Verbal Behav. 12:335, for why both
have to be random, and for the sum (his min F′ divides by it); Brennan (2001), Generalizability Theory, ch. 3, for the
components; Satterthwaite (1946), Biometrics Bull. 2:110, for the degrees.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.statistics.spread import NO_SPREAD, spread_of, two_sided_t

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CONFIDENCE = 0.95
FEWEST = 3
"""Variants from which on they can be averaged: intervals from two covered 87% of the true means."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Scores, or differences of scores, on one dataset: a row for each variant and a column for each task, not a number
    where there is none. ``clusters`` numbers the cluster of each task."""

    values: NDArray[np.float64]
    clusters: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Shares:
    """Of the variance of single scores, what tasks, variants and all else (also repeats) make up; their sum is 1."""

    tasks: float
    variants: float
    rest: float


@dataclass(frozen=True, slots=True)
class Crossed:
    """A mean over datasets, tasks and variants, with its ``variance`` and the ``degrees`` of freedom of that.

    ``by_variant`` are the means of the variants. ``extra`` is by how much the squared half-width of an interval for
    these variants alone must grow to hold for others like them. ``shares`` is ``None`` if no score varies.
    """

    mean: float
    by_variant: Sequence[float]
    variance: float
    degrees: float
    extra: float
    shares: Shares | None

    def widened(self, mean: float, low: float, high: float) -> tuple[float, float, float]:
        """A mean with its interval for variants like these, from that for these alone."""
        return (
            mean,
            mean - math.hypot(mean - low, math.sqrt(self.extra)),
            mean + math.hypot(high - mean, math.sqrt(self.extra)),
        )

    @property
    def p_value(self) -> float:
        """Of a true mean of 0, two-sided, by Student's t."""
        from scipy.special import stdtr

        if self.variance <= NO_SPREAD or self.degrees <= 0:
            return 1.0 if abs(self.mean) <= NO_SPREAD else 0.0
        return float(2 * stdtr(self.degrees, -abs(self.mean) / math.sqrt(self.variance)))


def crossed(datasets: Sequence[Answers]) -> Crossed | None:
    """The plain average of the datasets' means, from tasks with a score in every variant.

    All datasets have the same ``FEWEST`` variants or more, in the same order. ``None`` if one has no such task.
    """
    import numpy as np

    complete = [Answers(each.values[:, known], each.clusters[known]) for each in datasets for known in [_known(each)]]
    if not all(each.values.size for each in complete):
        return None
    by_variant = np.mean([each.values.mean(axis=1) for each in complete], axis=0)
    spreads = [spread_of(each.values.mean(axis=0).tolist(), each.clusters.tolist()) for each in complete]
    of_tasks = [(spread.variance_of_mean / len(complete) ** 2, spread.degrees) for spread in spreads]
    of_variants = (float(np.var(by_variant, ddof=1)) / len(by_variant), len(by_variant) - 1.0)
    variance, degrees = _sum([*of_tasks, of_variants])
    return Crossed(
        mean=float(by_variant.mean()),
        by_variant=by_variant.tolist(),
        variance=variance,
        degrees=degrees,
        extra=max(0.0, _squared_width(variance, degrees) - _squared_width(*_sum(of_tasks))),
        shares=_shares([_components(each.values) for each in complete]),
    )


def _known(answers: Answers) -> NDArray[np.bool_]:
    import numpy as np

    known: NDArray[np.bool_] = np.logical_and.reduce(~np.isnan(answers.values), axis=0)
    return known


def _sum(terms: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The sum of independent estimates of variances, each with its degrees of freedom, and Satterthwaite's of it."""
    total = math.fsum(own for own, _ in terms)
    spread = math.fsum(own**2 / degrees for own, degrees in terms if degrees > 0)
    return total, total**2 / spread if spread > 0 else 0.0


def _squared_width(variance: float, degrees: float) -> float:
    return two_sided_t(CONFIDENCE, degrees) ** 2 * variance if variance > 0 and degrees > 0 else 0.0


def _components(values: NDArray[np.float64]) -> tuple[float, float, float]:
    """Of tasks, variants and rest, from the mean squares of a two-way layout; one that is below 0 counts as 0."""
    import numpy as np

    n_variants, n_tasks = values.shape
    if n_tasks == 1:
        return 0.0, 0.0, 0.0
    by_task, by_variant = values.mean(axis=0), values.mean(axis=1, keepdims=True)
    of_rest = float(((values - by_task - by_variant + values.mean()) ** 2).sum()) / ((n_variants - 1) * (n_tasks - 1))
    of_tasks = float(np.var(by_task, ddof=1)) - of_rest / n_variants
    of_variants = float(np.var(by_variant, ddof=1)) - of_rest / n_tasks
    return max(0.0, of_tasks), max(0.0, of_variants), of_rest


def _shares(components: Sequence[tuple[float, float, float]]) -> Shares | None:
    sums = [math.fsum(column) for column in zip(*components, strict=True)]
    total = math.fsum(sums)
    return Shares(*(each / total for each in sums)) if total > NO_SPREAD else None
