"""The mean that people would give all answers, from a judge's scores of all and people's labels of a random part.

The estimate is the mean of the labels, corrected by how much lower or higher the judge scores the labeled answers than
all answers, times a slope. This is prediction-powered inference with power tuning, in survey sampling the regression
estimator of two phases. The slope is that of the labels on the judge's scores, from 0 to 1: a worthless judge gets 0,
which leaves the labels alone. A lenient or strict judge costs nothing, because only differences of its scores count.

The interval is about answers like these, as that of a run's mean. It is the score interval of ``intervals`` with

    variance = (1/n - 1/N) · s² + V,

for n of N answers labeled, s² the variance of label - slope · score, and V the variance of the mean if all answers had
labels: that of independent labels, times the design effect of the judge's scores. Few labels may miss errors that the
judge makes, so errors are added to those seen: half of one, or two if the labels show none.

The labeled answers must be a random sample of all. Labels that people chose, or that a rule chose because judges
disagree, would say more of the judge than of the mean; the estimate would be biased and no interval could tell.

Sources: Angelopoulos et al. (2023), Science 382:669, and arXiv:2311.01453 (PPI++) for the slope; Cochran (1977),
Sampling Techniques, 12.6, for two phases. Simulated coverage: ``tests/benches/statistics/people.py``.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.statistics.intervals import Interval, mean_interval, score_bounds
from benchmarks.statistics.spread import spread_of, two_sided_t, two_sided_z

FEWEST = 20
"""With fewer labels there is no corrected mean."""
_UNSEEN, _UNSEEN_IF_NONE = 0.5, 2.0
_NO_SPREAD = 1e-12


@dataclass(frozen=True, slots=True)
class CorrectedMean:
    """Three estimates of one mean: by the judge alone, by labels alone, and corrected."""

    judge: Interval
    labels: Interval
    mean: float
    low: float
    high: float
    slope: float
    """How far the judge's scores are used: 1 fully, 0 not at all."""
    n_labels: int
    n_judged: int
    residual_variance: float
    """Of one label, given the judge's score: what more labels average out."""
    variance_of_all: float
    """Of the mean if all answers had labels."""

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2

    @property
    def detectable_difference(self) -> float:
        """The difference of two such means, of different answers, whose interval just excludes 0."""
        return math.sqrt(2) * self.half_width

    def half_width_with(self, n_labels: int) -> float:
        """The expected half width with this total of labels, if the judge errs as often as it does so far."""
        n = min(n_labels, self.n_judged)
        variance = (1 / n - 1 / self.n_judged) * self.residual_variance + self.variance_of_all
        low, high = _bounds(self.mean, variance, n, self.n_judged, self.slope)
        return (high - low) / 2


@dataclass(frozen=True, slots=True)
class CorrectedDifference:
    """One corrected mean minus another, with its 95% interval."""

    difference: float
    low: float
    high: float
    more_labels: int | None
    """How many more labels, half of them for each mean, would make a difference of this size significant; ``None`` if
    labels of all answers would not."""

    @property
    def is_clear(self) -> bool:
        return self.low > 0 or self.high < 0


def corrected_difference(first: CorrectedMean, second: CorrectedMean) -> CorrectedDifference:
    """The difference of two corrected means as if of different answers, which on shared tasks is cautious: there, two
    means rise and fall together. The squared distances to the bounds add up, separately on each side (Newcombe (1998),
    Stat. Med. 17:873, method 10; Zou & Donner (2008), Stat. Med. 27:1693).
    """
    difference = first.mean - second.mean
    low = difference - math.hypot(first.mean - first.low, second.high - second.mean)
    high = difference + math.hypot(first.high - first.mean, second.mean - second.low)

    def shows(labels: int) -> bool:
        """Whether this number of additional labels for each mean would make the difference clear."""
        widths = (each.half_width_with(each.n_labels + labels) for each in (first, second))
        return math.hypot(*widths) < abs(difference)

    most = max(each.n_judged - each.n_labels for each in (first, second))
    if low > 0 or high < 0:
        return CorrectedDifference(difference, low, high, 0)
    if not shows(most):
        return CorrectedDifference(difference, low, high, None)
    few, enough = 0, most
    while enough - few > 1:
        middle = (few + enough) // 2
        few, enough = (few, middle) if shows(middle) else (middle, enough)
    more = sum(min(enough, each.n_judged - each.n_labels) for each in (first, second))
    return CorrectedDifference(difference, low, high, more)


def corrected_mean(
    judged: Sequence[float], labels: Mapping[int, float], clusters: Sequence[Hashable] | None = None
) -> CorrectedMean | None:
    """The mean of the labels that all answers would have, with its 95% interval; ``None`` with too few labels.

    ``judged`` has the judge's score in [0, 1] of every answer, ``labels`` the label in [0, 1] by the place of the
    answer, ``clusters`` what each answer shares with others. The labeled answers are a random sample of all.
    Raises ``ValueError`` for a value outside [0, 1] or a place that is not in ``judged``.
    """
    n_judged, n = len(judged), len(labels)
    places = sorted(labels)
    if places and not 0 <= places[0] <= places[-1] < n_judged:
        raise ValueError(f"labels of places {places[0]} to {places[-1]} with {n_judged} scores: label judged answers")
    judge = mean_interval(judged, clusters)
    values = [labels[place] for place in places]
    people = mean_interval(values, None if clusters is None else [clusters[place] for place in places])
    if n < FEWEST or judge.mean is None or people.mean is None:
        return None
    scores = [judged[place] for place in places]
    slope = _slope(values, scores)
    residuals = [value - slope * score for value, score in zip(values, scores, strict=True)]
    center = math.fsum(residuals) / n
    squares = math.fsum((residual - center) ** 2 for residual in residuals)
    reference = people.mean * (1 - people.mean)
    spread = math.fsum((value - people.mean) ** 2 for value in values) / n
    # Graded labels vary less than 0/1 labels of the same mean, and so do the errors that are added.
    graded = spread / reference if spread > _NO_SPREAD else 1.0
    unseen = graded * (_UNSEEN if squares > _NO_SPREAD else _UNSEEN_IF_NONE)
    residual_variance = (squares + unseen) / (n - 2)
    variance_of_all = graded * _inside(reference, n_judged) / n_judged * _design_effect(judged, clusters)
    mean = min(1.0, max(0.0, slope * judge.mean + center))
    variance = (1 / n - 1 / n_judged) * residual_variance + variance_of_all
    low, high = _bounds(mean, variance, n, n_judged, slope) if slope else (people.low or 0.0, people.high or 1.0)
    return CorrectedMean(judge, people, mean, low, high, slope, n, n_judged, residual_variance, variance_of_all)


def _bounds(mean: float, variance: float, n: int, n_judged: int, slope: float) -> tuple[float, float]:
    """The score interval: one degree of freedom is lost to the mean of the residuals and one to the slope."""
    quantile = two_sided_t(0.95, n - 2) if slope else two_sided_z(0.95)
    return score_bounds(mean, quantile**2 * variance / _inside(mean * (1 - mean), n_judged))


def _inside(variance: float, n: int) -> float:
    """The variance of a 0/1 label, at least that of half an answer among all."""
    return max(variance, 0.5 / n * (1 - 0.5 / n))


def _slope(labels: Sequence[float], scores: Sequence[float]) -> float:
    """The least-squares slope of labels on scores, in [0, 1]; 0 without spread."""
    n = len(labels)
    label_mean, score_mean = math.fsum(labels) / n, math.fsum(scores) / n
    covariance = math.fsum((y - label_mean) * (f - score_mean) for y, f in zip(labels, scores, strict=True))
    variance = math.fsum((score - score_mean) ** 2 for score in scores)
    return min(1.0, max(0.0, covariance / variance)) if variance > _NO_SPREAD else 0.0


def _design_effect(judged: Sequence[float], clusters: Sequence[Hashable] | None) -> float:
    spread = spread_of(judged, clusters)
    return 1.0 if spread.is_flat else max(1.0, spread.variance_of_mean * spread.n / spread.population_variance)
