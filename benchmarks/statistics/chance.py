"""Scores above the best guess: 0 is the guess rate, what the best answer without reading is expected to score, 1 is
perfect.

The corrected score is (score - guess) / (1 - guess), Abbott's formula (1925, J. Econ. Entomol. 18:265); for
multiple-choice tests it is the correction of Frary (1988), Educ. Meas. 7(2):33. A run over several task classes is
summarized by the plain average of the classes' corrected scores: the average of raw scores would depend on how easy to
guess the mix of questions is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.statistics.intervals import Interval, no_interval, sample_note, score_bounds
from benchmarks.statistics.spread import ClusterCount, Spread, clustered_spread, score_factor, two_sided_z

_CLEARLY = 2.0
"""So many standard errors a measured rate has to be above a known one to replace it."""


@dataclass(frozen=True, slots=True)
class Guess:
    """What guessing scores, with its standard error: 0 if the rate is known, not measured."""

    rate: float
    error: float = 0.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What guessing scored on ``n`` questions; of a weighted mean, on as many as say as much of it."""

    score: float
    n: float

    @classmethod
    def pooled(cls, parts: Iterable[tuple[Measured, int]]) -> Measured:
        """The mean of independent parts, each with its weight, such as a number of questions. Their number is Kish's
        (1965, Survey Sampling)."""
        weighted = list(parts)
        total = sum(weight for _, weight in weighted)
        score = math.fsum(part.score * weight for part, weight in weighted) / total
        return cls(score, 1 / math.fsum((weight / total) ** 2 / part.n for part, weight in weighted))

    def error_at(self, rate: float) -> float:
        """The standard error of the score if this is the true rate."""
        return math.sqrt(rate * (1 - rate) / max(self.n, 1))


def guess_of(own: float | None, measured: Iterable[Measured]) -> Guess:
    """What is scored without an ability.

    ``own`` is the known rate of the kind of question. A measured rate replaces it, or the one measured before, only if
    it is higher by over two standard errors: in few questions some answer is frequent by chance. Without any rate, it
    is 1.
    """
    guess = None if own is None else Guess(own)
    for other in measured:
        if guess is None or other.score - guess.rate > _CLEARLY * other.error_at(guess.rate):
            guess = Guess(other.score, other.error_at(other.score))
    return guess or Guess(1.0)


def corrected_interval(interval: Interval, guess_rate: float, guess_error: float = 0.0) -> Interval:
    """The interval of the corrected score; its bounds change with the mean, down to ``-guess / (1 - guess)``.

    The standard error of the guess rate widens it: the squared distances to the bounds add up.
    """
    if interval.mean is None or interval.low is None or interval.high is None:
        return interval
    mean, low, high = (
        (score - guess_rate) / (1 - guess_rate) for score in (interval.mean, interval.low, interval.high)
    )
    reach = two_sided_z(interval.confidence) * guess_error * (1 - mean) / (1 - guess_rate)
    low, high = _widened(mean, low, high, reach)
    return replace(interval, mean=mean, low=low, high=high)


def _widened(mean: float, low: float, high: float, reach: float) -> tuple[float, float]:
    """Both bounds; no score is above 1."""
    return mean - math.hypot(mean - low, reach), min(1.0, mean + math.hypot(high - mean, reach))


@dataclass(frozen=True, slots=True)
class GroupMean:
    """The mean of the ``n`` scores of a task class, at least one, and the expected score of a guess, below 1."""

    n: int
    mean: float
    guess_rate: float
    guess_error: float = 0.0


Part = tuple[str, int, float, float]
"""A cluster's scores in one group: the group's name, their number, sum and sum of squares."""


def corrected_average(
    groups: Mapping[str, GroupMean], clusters: Iterable[Sequence[Part]], confidence: float = 0.95
) -> Interval:
    """The plain average of the groups' corrected means, with clusters that may reach across groups, as a canvas does.

    Up to its scale the average is a mean of all values in which a group has weight 1 / (1 - guess rate), whatever its
    size. The score interval is that of this weighted mean, with each value's deviation taken from its own group's
    mean. ``clusters`` is iterated once and not stored.
    """
    if not groups:
        return no_interval(confidence=confidence)
    n = sum(group.n for group in groups.values())
    total_scale = math.fsum(1 / (1 - group.guess_rate) for group in groups.values())
    weights = {name: 1 / (1 - group.guess_rate) / total_scale / group.n for name, group in groups.items()}
    weighted_mean = math.fsum(weights[name] * group.n * group.mean for name, group in groups.items())
    spread = _weighted_spread(n, groups, weights, clusters)
    bounds = score_bounds(weighted_mean, score_factor(spread, weighted_mean * (1 - weighted_mean), confidence))
    # 1 - corrected score = (1 - score) / (1 - guess), so the average is linear in the weighted mean.
    height = total_scale / len(groups)
    mean, low, high = (1 - height * (1 - value) for value in (weighted_mean, *bounds))
    errors = [group.guess_error * (1 - group.mean) / (1 - group.guess_rate) ** 2 for group in groups.values()]
    low, high = _widened(mean, low, high, two_sided_z(confidence) * math.hypot(*errors) / len(groups))
    n_clusters = spread.n_clusters if spread.n_clusters < n else None
    note = sample_note(n, n_clusters, all_equal=spread.is_flat)
    return Interval(mean, low, high, n, n_clusters, "average of groups", note, confidence)


def _weighted_spread(
    n: int, groups: Mapping[str, GroupMean], weights: Mapping[str, float], clusters: Iterable[Sequence[Part]]
) -> Spread:
    """The spread of the deviations from the groups' means, each times n and its weight."""
    squares = concentration = 0.0

    def deviations() -> Iterator[ClusterCount]:
        nonlocal squares, concentration
        for parts in clusters:
            size, deviation, share = 0, 0.0, 0.0
            for name, count, total, total_of_squares in parts:
                mean, scale = groups[name].mean, n * weights[name]
                size += count
                deviation += scale * (total - count * mean)
                share += weights[name] * count
                squares += scale**2 * (total_of_squares - 2 * mean * total + count * mean**2)
            concentration += share**2
            yield size, deviation, 1

    spread = clustered_spread(n, 0.0, 0.0, deviations())
    return replace(spread, population_variance=max(0.0, squares / n), concentration=concentration)
