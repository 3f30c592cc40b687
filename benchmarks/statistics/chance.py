"""Scores corrected for guessing: 0 is what guessing earns, 1 is all right, below 0 is worse than guessing.

The corrected score is (score - guess) / (1 - guess), Abbott's formula (1925, J. Econ. Entomol. 18:265); for
multiple-choice tests it is the correction of Frary (1988), Educ. Meas. 7(2):33. A run over several task classes is
summed up by the plain average of the classes' corrected scores: averaging raw scores would rank by how guessable the
mix of questions is.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.statistics.intervals import Interval, mean_interval, scarcity_note, score_bounds
from benchmarks.statistics.spread import ClusterCount, Spread, clustered_spread, score_factor


@dataclass(frozen=True, slots=True)
class Group:
    """The scores of one task class. ``guess_rate`` is the expected score of a guess; clusters as in
    ``mean_interval``.
    """

    values: Sequence[float]
    guess_rate: float
    clusters: Sequence[Hashable] | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.guess_rate < 1:
            raise ValueError(
                f"guess rate {self.guess_rate!r}: give the expected score of a guess, at least 0 and below 1"
            )


@dataclass(frozen=True, slots=True)
class ChanceCorrected:
    """Raw and corrected means by group, and their plain average over the groups that have scores.

    Corrected intervals run from ``-guess / (1 - guess)`` to 1. The average over a single group is that group's.
    """

    raw: Mapping[str, Interval]
    corrected: Mapping[str, Interval]
    average: Interval
    left_out: tuple[str, ...]
    """Groups without any score, which the average does not cover."""


def corrected_score(score: float, guess_rate: float) -> float:
    return (score - guess_rate) / (1 - guess_rate)


def chance_corrected(groups: Mapping[str, Group], *, confidence: float = 0.95) -> ChanceCorrected:
    """Correct each group for guessing and average the groups; clusters may reach across groups, as a canvas does."""
    raw = {name: mean_interval(group.values, group.clusters, confidence=confidence) for name, group in groups.items()}
    corrected = {name: corrected_interval(raw[name], group.guess_rate) for name, group in groups.items()}
    filled = {name: group for name, group in groups.items() if group.values}
    left_out = tuple(name for name, group in groups.items() if not group.values)
    means = {
        name: GroupMean(len(group.values), math.fsum(group.values) / len(group.values), group.guess_rate)
        for name, group in filled.items()
    }
    if len(filled) == 1:
        return ChanceCorrected(raw, corrected, corrected[next(iter(filled))], left_out)
    return ChanceCorrected(raw, corrected, corrected_average(means, _clusters_of(filled), confidence), left_out)


def corrected_interval(interval: Interval, guess_rate: float) -> Interval:
    """The interval of the corrected score, whose bounds move with the mean."""
    if interval.mean is None or interval.low is None or interval.high is None:
        return interval
    return replace(
        interval,
        mean=corrected_score(interval.mean, guess_rate),
        low=corrected_score(interval.low, guess_rate),
        high=corrected_score(interval.high, guess_rate),
    )


@dataclass(frozen=True, slots=True)
class GroupMean:
    """The mean of the ``n`` scores of a group, at least one, and the expected score of a guess."""

    n: int
    mean: float
    guess_rate: float


Part = tuple[str, int, float, float]
"""What a cluster has of one group: the group's name, how many scores, their sum and their sum of squares."""


def corrected_average(
    groups: Mapping[str, GroupMean], clusters: Iterable[Sequence[Part]], confidence: float = 0.95
) -> Interval:
    """The plain average of the groups' corrected means, with clusters followed across the groups.

    Up to its scale the average is a mean of all values in which a group weighs by 1 / (1 - guess rate), whatever its
    size. The score interval is that of this weighted mean, with each value's deviation taken from its own group's
    mean. ``clusters`` is passed over once and not kept.
    """
    if not groups:
        return Interval(None, None, None, 0, None, "none", "no scored results", confidence)
    n = sum(group.n for group in groups.values())
    total_scale = math.fsum(1 / (1 - group.guess_rate) for group in groups.values())
    weights = {name: 1 / (1 - group.guess_rate) / total_scale / group.n for name, group in groups.items()}
    weighted_mean = math.fsum(weights[name] * group.n * group.mean for name, group in groups.items())
    spread = _weighted_spread(n, groups, weights, clusters)
    low, high = score_bounds(weighted_mean, score_factor(spread, weighted_mean * (1 - weighted_mean), confidence))
    n_clusters = spread.n_clusters if spread.n_clusters < n else None
    height = total_scale / len(groups)
    return Interval(
        1 - height * (1 - weighted_mean),
        1 - height * (1 - low),
        1 - height * (1 - high),
        n,
        n_clusters,
        "average of groups",
        scarcity_note(n, n_clusters, all_equal=spread.is_flat),
        confidence,
    )


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


def _clusters_of(groups: Mapping[str, Group]) -> Iterable[list[Part]]:
    """The clusters of groups whose values are at hand; a value without a cluster is one by itself."""
    clusters: dict[Hashable, list[Part]] = {}
    for name, group in groups.items():
        names = group.clusters if group.clusters is not None else [(name, at) for at in range(len(group.values))]
        for cluster, value in zip(names, group.values, strict=True):
            clusters.setdefault(cluster, []).append((name, 1, value, value**2))
    return clusters.values()
