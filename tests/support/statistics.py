"""The statistics of plain values, where the product computes the same from sums of the database."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import binom

from benchmarks.statistics.chance import GroupMean, Part, corrected_average, corrected_interval
from benchmarks.statistics.intervals import Interval, mean_interval
from benchmarks.statistics.paired import Comparison, TaskScores, compare, holm
from benchmarks.statistics.reliability import KS, Reliability, krippendorff_alpha, reliability_of_tallies


@dataclass(frozen=True, slots=True)
class Group:
    """The scores of one task class, the expected score of a guess, and the scores' canvases if they share any."""

    values: Sequence[float]
    guess_rate: float
    clusters: Sequence[Hashable] | None = None
    guess_error: float = 0.0


def average_above_guessing(groups: Mapping[str, Group]) -> Interval:
    """The average of the groups' corrected means, as a run's summary has it."""
    scored = {name: group for name, group in groups.items() if group.values}
    if len(scored) == 1:
        (group,) = scored.values()
        return corrected_interval(mean_interval(group.values, group.clusters), group.guess_rate, group.guess_error)
    clusters: dict[Hashable, list[Part]] = {}
    for name, group in scored.items():
        names = group.clusters if group.clusters is not None else [(name, at) for at in range(len(group.values))]
        for cluster, value in zip(names, group.values, strict=True):
            clusters.setdefault(cluster, []).append((name, 1, value, value**2))
    means = {
        name: GroupMean(
            len(group.values), math.fsum(group.values) / len(group.values), group.guess_rate, group.guess_error
        )
        for name, group in scored.items()
    }
    return corrected_average(means, clusters.values())


def reliability(
    repeats: Mapping[int, Sequence[bool]], clusters: Mapping[int, Hashable] | None = None, ks: Sequence[int] = KS
) -> Reliability:
    """The reliability of correct and wrong repeats by task."""
    tallies: dict[Hashable, Counter[tuple[int, int]]] = {}
    for task, correct in repeats.items():
        cluster = task if clusters is None else clusters[task]
        tallies.setdefault(cluster, Counter())[len(correct), sum(correct)] += 1
    return reliability_of_tallies(((tally, 1) for tally in tallies.values()), ks)


def alpha(units: Sequence[Sequence[float]]) -> float | None:
    return krippendorff_alpha((len(unit), math.fsum(unit), math.fsum(x**2 for x in unit), 1) for unit in units)


def family(runs: Mapping[str, Mapping[str, TaskScores[int]]]) -> list[tuple[Comparison, float]]:
    """Every pair of runs compared on every metric of the first, with Holm's adjusted p-value."""
    compared = [compare(runs[a][metric], runs[b][metric]) for a, b in combinations(runs, 2) for metric in runs[a]]
    return list(zip(compared, holm([one.p_value or 0.0 for one in compared]), strict=True))


def exact_power(n: int, difference: float, discordance: float) -> float:
    """The chance that the exact McNemar test has p <= 0.05, summed over the number of changed tasks."""
    changed = np.arange(n + 1)
    better = np.arange(n + 1)[:, None]
    p_values = 2 * binom.cdf(np.minimum(better, changed - better), changed, 0.5)
    share = binom.pmf(better, changed, (discordance + difference) / 2 / discordance)
    rejected = np.where((p_values <= 0.05) & (better <= changed), share, 0).sum(axis=0)
    return float(binom.pmf(changed, n, discordance) @ rejected)
