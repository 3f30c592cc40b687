"""What repeats of the same task tell: how often at least one, or every one, of k tries is right, and how far tries
agree.

Sources: Chen et al. (2021), arXiv:2107.03374, for the unbiased pass@k; Yao et al. (2024), arXiv:2406.12045 (τ-bench),
for pass^k; Fleiss (1971), Psychol. Bull. 76:378, for agreement; Krippendorff (2011), Computing Krippendorff's
Alpha-Reliability, for α, which lets repeats be missing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from benchmarks.statistics.intervals import Interval, interval_from_moments

Task = TypeVar("Task", bound=Hashable)

KS = (1, 2, 4, 8)
_ROUNDING = 1e-12


def pass_at_k(n: int, right: int, k: int) -> float:
    """The chance that at least one of k of the n tries, drawn without return, is right."""
    _check_tries(n, right, k)
    return 1 - math.comb(n - right, k) / math.comb(n, k)


def pass_hat_k(n: int, right: int, k: int) -> float:
    """The chance that all k of the n tries, drawn without return, are right."""
    _check_tries(n, right, k)
    return math.comb(right, k) / math.comb(n, k)


def _check_tries(n: int, right: int, k: int) -> None:
    if not 0 <= right <= n:
        raise ValueError(f"{right} right of {n} tries: give a number from 0 to {n}")
    if not 1 <= k <= n:
        raise ValueError(f"k = {k} with {n} tries: k is at least 1 and at most the number of tries")


@dataclass(frozen=True, slots=True)
class Reliability:
    """Over the tasks of a run with repeats. Intervals are over tasks, by canvas where canvases are given."""

    pass_at: Mapping[int, Interval]
    pass_hat: Mapping[int, Interval]
    flipped: Interval
    """The share of tasks with two tries or more whose tries are not all alike."""
    agreement: Interval
    """The chance that two tries of one task agree: the mean over tasks, whose standard is ``alpha``."""
    alpha: float | None
    """Krippendorff's α of the tries; ``None`` where all tries of all tasks are alike."""
    n_tasks: int
    n_repeated: int
    """Tasks with two tries or more; the others cannot flip and are left out of ``flipped`` and ``agreement``."""


Tally = Mapping[tuple[int, int], int]
"""How many tasks had so many tries with so many of them right: (tries, right) → tasks."""


def reliability(
    tries: Mapping[Task, Sequence[bool]],
    ks: Sequence[int] = KS,
    clusters: Mapping[Task, Hashable] | None = None,
    *,
    confidence: float = 0.95,
) -> Reliability:
    """Reliability of right and wrong tries by task. A k counts only tasks with at least k scored tries."""
    tallies: dict[Hashable, Counter[tuple[int, int]]] = {}
    for task, found in tries.items():
        cluster: Hashable = (task,) if clusters is None else clusters[task]
        tallies.setdefault(cluster, Counter())[len(found), sum(found)] += 1
    return reliability_of_tallies(((tally, 1) for tally in tallies.values()), ks, confidence=confidence)


def reliability_of_tallies(
    clusters: Iterable[tuple[Tally, int]], ks: Sequence[int] = KS, *, confidence: float = 0.95
) -> Reliability:
    """The same from how often each result came about in each cluster, and in how many clusters it was so.

    ``clusters`` is passed over once and not kept: what is kept grows with the number of different sums, not of tasks.
    """
    passing = {k: (_Shares(), _Shares()) for k in ks}
    flipped, agreeing = _Shares(), _Shares()
    together: Counter[tuple[int, int]] = Counter()
    for tally, count in clusters:
        for result, tasks in tally.items():
            together[result] += tasks * count
        for k, (at_least_one, all_of_them) in passing.items():
            tried = {(n, right): tasks for (n, right), tasks in tally.items() if n >= k}
            at_least_one.add([(pass_at_k(*result, k), tasks) for result, tasks in tried.items()], count)
            all_of_them.add([(pass_hat_k(*result, k), tasks) for result, tasks in tried.items()], count)
        repeated = {result: tasks for result, tasks in tally.items() if result[0] > 1}
        flipped.add([(float(0 < right < n), tasks) for (n, right), tasks in repeated.items()], count)
        agreeing.add([(_pair_agreement(*result), tasks) for result, tasks in repeated.items()], count)
    longest = max((n for n, _ in together), default=0)
    usable = [k for k in ks if k <= longest]
    return Reliability(
        pass_at={k: passing[k][0].interval(confidence) for k in usable},
        pass_hat={k: passing[k][1].interval(confidence) for k in usable},
        flipped=flipped.interval(confidence),
        agreement=agreeing.interval(confidence),
        alpha=_alpha_of_tally(together),
        n_tasks=together.total(),
        n_repeated=sum(tasks for (n, _), tasks in together.items() if n > 1),
    )


class _Shares:
    """Values in [0, 1] of tasks, gathered cluster by cluster, for their mean and its interval."""

    def __init__(self) -> None:
        self.values: Counter[float] = Counter()
        self.clusters: Counter[tuple[int, float]] = Counter()

    def add(self, values: Sequence[tuple[float, int]], count: int) -> None:
        """Take in ``count`` clusters that have these values, each so many times."""
        for value, tasks in values:
            self.values[value] += tasks * count
        if size := sum(tasks for _, tasks in values):
            self.clusters[size, math.fsum(value * tasks for value, tasks in values)] += count

    def interval(self, confidence: float) -> Interval:
        total, squares, cubes, fourths = (
            math.fsum(tasks * value**power for value, tasks in self.values.items()) for power in (1, 2, 3, 4)
        )
        shared = any(size > 1 for size, _ in self.clusters)
        counts = [(size, subtotal, count) for (size, subtotal), count in self.clusters.items()]
        return interval_from_moments(
            self.values.total(),
            total,
            squares,
            binary=set(self.values) <= {0.0, 1.0},
            clusters=counts if shared else None,
            total_of_cubes=cubes,
            total_of_fourths=fourths,
            confidence=confidence,
        )


def _pair_agreement(n: int, right: int) -> float:
    """Fleiss's agreement on one item: the share of the pairs of tries that are alike."""
    return (math.comb(right, 2) + math.comb(n - right, 2)) / math.comb(n, 2)


def _alpha_of_tally(tally: Tally) -> float | None:
    """``krippendorff_alpha`` of right and wrong tries."""
    return _alpha_of_units((n, right, right, tasks) for (n, right), tasks in tally.items())


def krippendorff_alpha(units: Sequence[Sequence[float]]) -> float | None:
    """Krippendorff's α with the interval metric, which for 0/1 values is also the nominal one.

    ``units`` holds the values found for each item, in any number; items with fewer than two say nothing and are
    passed over. 1 is full agreement, 0 what chance gives. ``None`` where no two values differ or none can be paired.
    """
    return _alpha_of_units((len(values), math.fsum(values), _squares(values), 1) for values in units)


def _alpha_of_units(units: Iterable[tuple[int, float, float, int]]) -> float | None:
    """The same from the size, sum and sum of squares of each unit, and how many units are so.

    The sum of squared differences over all ordered pairs of n values is 2 · (n · Σx² − (Σx)²).
    """
    everything, total, squares, observed = 0, 0.0, 0.0, 0.0
    for n, subtotal, unit_squares, count in units:
        if n > 1:
            everything += n * count
            total += subtotal * count
            squares += unit_squares * count
            observed += count * 2 * (n * unit_squares - subtotal**2) / (n - 1)
    expected = 2 * (everything * squares - total**2)
    if expected <= _ROUNDING * max(1.0, everything * squares):
        return None
    return 1 - (everything - 1) * observed / expected


def _squares(values: Sequence[float]) -> float:
    return math.fsum(value**2 for value in values)


@dataclass(frozen=True, slots=True)
class JudgeSpread:
    """How far a judge's repeated scores of one and the same answer lie apart."""

    deviation: float | None
    """The standard deviation of one score, pooled over the answers; ``None`` where no answer was scored twice."""
    widest: float | None
    """The largest distance between two scores of one answer."""
    alpha: float | None
    n_answers: int
    """Answers with two scores or more."""


def judge_spread(scores: Mapping[Task, Sequence[float]]) -> JudgeSpread:
    """The spread of repeated judge scores, by answer."""
    return judge_spread_of_sums(
        (len(values), math.fsum(values), _squares(values), max(values) - min(values)) if values else (0, 0.0, 0.0, 0.0)
        for values in scores.values()
    )


def judge_spread_of_sums(answers: Iterable[tuple[int, float, float, float]]) -> JudgeSpread:
    """The same from the number of scores of each answer, their sum, their sum of squares and their range."""
    repeated = [answer for answer in answers if answer[0] > 1]
    if not repeated:
        return JudgeSpread(None, None, None, 0)
    squares = math.fsum(max(0.0, squared - total**2 / n) for n, total, squared, _ in repeated)
    degrees = sum(n - 1 for n, *_ in repeated)
    return JudgeSpread(
        deviation=math.sqrt(squares / degrees),
        widest=max(width for *_, width in repeated),
        alpha=_alpha_of_units((n, total, squared, 1) for n, total, squared, _ in repeated),
        n_answers=len(repeated),
    )
