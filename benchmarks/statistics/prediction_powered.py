"""The mean that people would give all answers, from a judge's scores of all and people's labels of a random part.

The estimate is the mean of the labels, corrected by how much lower or higher the judge scores the labeled answers than
all answers, times a slope. This is prediction-powered inference with power tuning, in survey sampling the regression
estimator of two phases. The slope is that of the labels on the judge's scores, from 0 to 1: a worthless judge gets 0,
which leaves the labels alone. A lenient or strict judge costs nothing, because only differences of its scores count.

The interval is about answers like these, as that of a run's mean. If scores and labels are all 0 or 1, the estimate is
the average of two shares of right answers: of those that the judge passes and of those that it fails. Three intervals
are combined by adding the squared distances to their bounds: Jeffreys' intervals of the two shares, shortened by
√(1 - n/N) for n of N answers labeled, and the interval of the mean if all answers had labels. With graded scores or
labels it is the score interval of ``intervals`` with

    variance = (1/n - 1/N) · s² + V,

s² the variance of label - slope · score, and V the variance of the mean if all answers had labels. Few labels may miss
errors that the judge makes, so errors are added to those seen: half of one, or two if the labels show none. If all
answers had labels, they would vary as independent ones do, times the design effect of the judge's scores.

The labeled answers must be a random sample of all. Labels that people chose, or that a rule chose because judges
disagree, would say more of the judge than of the mean; the estimate would be biased and no interval could tell.

Sources: Angelopoulos et al. (2023), Science 382:669, and arXiv:2311.01453 (PPI++) for the slope; Cochran (1977),
Sampling Techniques, 12.6, for two phases; Tenenbein (1970), JASA 65:1350, for the two shares; Brown, Cai & DasGupta
(2001), Stat. Sci. 16:101, for Jeffreys' interval; Zou & Donner (2008), Stat. Med. 27:1693, for the combination.
Simulated coverage: ``tests/benches/statistics/people.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

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
    bounds_with: Callable[[int], tuple[float, float]] = field(repr=False, compare=False)
    """The expected bounds with this total of labels, if the judge errs as often as it does so far."""

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2

    @property
    def detectable_difference(self) -> float:
        """The difference of two such means, of different answers, whose interval just excludes 0."""
        return math.sqrt(2) * self.half_width

    def half_width_with(self, n_labels: int) -> float:
        """The expected half width with this total of labels."""
        low, high = self.bounds_with(min(n_labels, self.n_judged))
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
    mean = min(1.0, max(0.0, people.mean + slope * (judge.mean - math.fsum(scores) / n)))
    sample = _Sample(values, scores, judge.mean, n_judged, mean, slope, _design_effect(judged, clusters))
    is_binary = slope and {*judged, *values} <= {0.0, 1.0}
    bounds_with = _bounds_by_verdict(sample) if is_binary else _bounds_by_score(sample)
    low, high = bounds_with(n) if slope else (people.low or 0.0, people.high or 1.0)
    return CorrectedMean(judge, people, mean, low, high, slope, n, n_judged, bounds_with)


@dataclass(frozen=True, slots=True)
class _Sample:
    """The labels with the judge's scores of the same answers, and what is known of all answers."""

    labels: Sequence[float]
    scores: Sequence[float]
    judge_mean: float
    n_judged: int
    mean: float
    slope: float
    design_effect: float


def _bounds_by_verdict(sample: _Sample) -> Callable[[int], tuple[float, float]]:
    """For scores and labels of 0 and 1, by number of labels: from the shares of right answers among passed and failed
    ones."""
    groups = []
    for verdict, weight in ((1.0, sample.judge_mean), (0.0, 1 - sample.judge_mean)):
        chosen = [label for label, score in zip(sample.labels, sample.scores, strict=True) if score == verdict]
        groups.append((weight, len(chosen), math.fsum(chosen) / len(chosen)))
    of_all = score_bounds(sample.mean, two_sided_z(0.95) ** 2 * sample.design_effect / sample.n_judged)

    def bounds(n_labels: int) -> tuple[float, float]:
        below, above = ((bound - sample.mean) ** 2 for bound in of_all)
        for weight, labeled, share in groups:
            n = labeled * n_labels / len(sample.labels)
            low, high = _jeffreys(share, n)
            shrink = weight**2 * max(0.0, 1 - n / (weight * sample.n_judged))
            below, above = below + shrink * (share - low) ** 2, above + shrink * (high - share) ** 2
        return max(0.0, sample.mean - math.sqrt(below)), min(1.0, sample.mean + math.sqrt(above))

    return bounds


def _jeffreys(share: float, n: float) -> tuple[float, float]:
    """The equal-tailed 95% interval of a share with the prior Beta(1/2, 1/2), up to the ends for 0 and for 1."""
    from scipy.special import betaincinv

    right, wrong = share * n + 0.5, (1 - share) * n + 0.5
    low, high = (float(betaincinv(right, wrong, tail)) for tail in (0.025, 0.975))
    return (low if share > 0 else 0.0), (high if share < 1 else 1.0)


def _bounds_by_score(sample: _Sample) -> Callable[[int], tuple[float, float]]:
    """For graded scores, by number of labels: from the residuals of the labels."""
    n, n_judged = len(sample.labels), sample.n_judged
    center = math.fsum(sample.labels) / n
    pairs = zip(sample.labels, sample.scores, strict=True)
    residuals = [label - sample.slope * score for label, score in pairs]
    residual_mean = math.fsum(residuals) / n
    squares = math.fsum((residual - residual_mean) ** 2 for residual in residuals)
    spread, reference = math.fsum((label - center) ** 2 for label in sample.labels) / n, center * (1 - center)
    # Graded labels vary less than 0/1 labels of the same mean, and so do the errors that are added.
    graded = spread / reference if spread > _NO_SPREAD else 1.0
    residual_variance = (squares + graded * (_UNSEEN if squares > _NO_SPREAD else _UNSEEN_IF_NONE)) / (n - 2)
    variance_of_all = graded * _inside(reference, n_judged) / n_judged * sample.design_effect

    def bounds(n_labels: int) -> tuple[float, float]:
        variance = (1 / n_labels - 1 / n_judged) * residual_variance + variance_of_all
        # One degree of freedom is lost to the mean of the residuals and one to the slope.
        quantile = two_sided_t(0.95, n_labels - 2) if sample.slope else two_sided_z(0.95)
        reference = _inside(sample.mean * (1 - sample.mean), n_judged)
        return score_bounds(sample.mean, quantile**2 * variance / reference)

    return bounds


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
