"""Reliability over repeats of a task: how often at least one, or each, of k repeats is correct, and how far they agree.

Sources: Chen et al. (2021), arXiv:2107.03374, for the unbiased pass@k; Yao et al. (2024), arXiv:2406.12045 (τ-bench),
for pass^k; Fleiss (1971), Psychol. Bull. 76:378, for agreement; Krippendorff (2011), Computing Krippendorff's
Alpha-Reliability, for α, which lets repeats be missing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.statistics.intervals import Interval, Moments, interval_from_moments

KS = (2, 4, 8)
"""pass@1 and pass^1 are the share of correct repeats: the score itself, which has an interval."""
_ROUNDING = 1e-12


def pass_at_k(n: int, correct: int, k: int) -> float:
    """The chance that at least one of k of the n repeats, drawn without replacement, is correct."""
    _check_counts(n, correct, k)
    return 1 - math.comb(n - correct, k) / math.comb(n, k)


def pass_hat_k(n: int, correct: int, k: int) -> float:
    """The chance that all k of the n repeats, drawn without replacement, are correct."""
    _check_counts(n, correct, k)
    return math.comb(correct, k) / math.comb(n, k)


def _check_counts(n: int, correct: int, k: int) -> None:
    if not 0 <= correct <= n:
        raise ValueError(f"{correct} correct of {n} repeats: give a number from 0 to {n}")
    if not 1 <= k <= n:
        raise ValueError(f"k = {k} with {n} repeats: k is at least 1 and at most the number of repeats")


@dataclass(frozen=True, slots=True)
class Reliability:
    """Over the tasks of a run with repeats. Intervals are over tasks, clustered by canvas if there are canvases."""

    pass_at: Mapping[int, Interval]
    pass_hat: Mapping[int, Interval]
    flipped: Interval
    """The share of tasks with at least two repeats whose repeats are not all correct or all wrong."""
    agreement: Interval
    """The chance that two repeats of one task agree: the mean over tasks, which ``alpha`` corrects for chance."""
    alpha: float | None
    """Krippendorff's α of the repeats; ``None`` if all repeats of all tasks are equal."""
    n_tasks: int
    n_repeated: int
    """Tasks with at least two repeats; ``flipped`` and ``agreement`` leave out the others, which cannot flip."""


Tally = Mapping[tuple[int, int], int]
"""(repeats, correct ones) → number of tasks with these counts."""


def reliability_of_tallies(
    clusters: Iterable[tuple[Tally, int]], ks: Sequence[int] = KS, *, confidence: float = 0.95
) -> Reliability:
    """Reliability from the tally of each cluster and the number of clusters that have it.

    A k counts only tasks with at least k scored repeats. ``clusters`` is iterated once and not stored: memory grows
    with the number of different sums, not of tasks.
    """
    passing = {k: (_Shares(), _Shares()) for k in ks}
    flipped, agreeing = _Shares(), _Shares()
    tasks_by_counts: Counter[tuple[int, int]] = Counter()
    for tally, count in clusters:
        for counts, tasks in tally.items():
            tasks_by_counts[counts] += tasks * count
        for k, (at_least_one, all_of_them) in passing.items():
            enough = [(counts, tasks) for counts, tasks in tally.items() if counts[0] >= k]
            at_least_one.add([(pass_at_k(*counts, k), tasks) for counts, tasks in enough], count)
            all_of_them.add([(pass_hat_k(*counts, k), tasks) for counts, tasks in enough], count)
        repeated = [(counts, tasks) for counts, tasks in tally.items() if counts[0] > 1]
        flipped.add([(float(0 < correct < n), tasks) for (n, correct), tasks in repeated], count)
        agreeing.add([(_pair_agreement(*counts), tasks) for counts, tasks in repeated], count)
    most_repeats = max((n for n, _ in tasks_by_counts), default=0)
    usable = [k for k in ks if k <= most_repeats]
    return Reliability(
        pass_at={k: passing[k][0].interval(confidence) for k in usable},
        pass_hat={k: passing[k][1].interval(confidence) for k in usable},
        flipped=flipped.interval(confidence),
        agreement=agreeing.interval(confidence),
        # For 0/1 values sum and sum of squares are both the number of correct repeats.
        alpha=krippendorff_alpha((n, right, right, tasks) for (n, right), tasks in tasks_by_counts.items()),
        n_tasks=tasks_by_counts.total(),
        n_repeated=sum(tasks for (n, _), tasks in tasks_by_counts.items() if n > 1),
    )


class _Shares:
    """Values in [0, 1] of tasks, accumulated by cluster, for their mean and its interval."""

    def __init__(self) -> None:
        self.values: Counter[float] = Counter()
        self.clusters: Counter[tuple[int, float]] = Counter()

    def add(self, values: Sequence[tuple[float, int]], count: int) -> None:
        """Add ``count`` clusters that have these (value, number of tasks) pairs."""
        for value, tasks in values:
            self.values[value] += tasks * count
        if size := sum(tasks for _, tasks in values):
            self.clusters[size, math.fsum(value * tasks for value, tasks in values)] += count

    def interval(self, confidence: float) -> Interval:
        shared = any(size > 1 for size, _ in self.clusters)
        clusters = [(size, subtotal, count) for (size, subtotal), count in self.clusters.items()] if shared else None
        return interval_from_moments(Moments.of(self.values.items()), clusters, confidence=confidence)


def _pair_agreement(n: int, correct: int) -> float:
    """Fleiss's agreement on one item: the share of the pairs of repeats that are equal."""
    return (math.comb(correct, 2) + math.comb(n - correct, 2)) / math.comb(n, 2)


def krippendorff_alpha(units: Iterable[tuple[int, float, float, int]]) -> float | None:
    """Krippendorff's α with the interval metric, which for 0/1 values is also the nominal one.

    ``units`` are (number of values, sum, sum of squares, how many such units). Units with fewer than two values are
    ignored. 1 is full agreement, 0 is chance; ``None`` if all values are equal or none can be paired.
    """
    n_values, total, squares, observed = 0, 0.0, 0.0, 0.0
    for n, subtotal, unit_squares, count in units:
        if n > 1:
            n_values += n * count
            total += subtotal * count
            squares += unit_squares * count
            # The squared differences over all ordered pairs of n values sum to 2 · (n · Σx² − (Σx)²).
            observed += count * 2 * (n * unit_squares - subtotal**2) / (n - 1)
    expected = 2 * (n_values * squares - total**2)
    if expected <= _ROUNDING * max(1.0, n_values * squares):
        return None
    return 1 - (n_values - 1) * observed / expected


@dataclass(frozen=True, slots=True)
class JudgeSpread:
    """How far a judge's repeated scores of the same answer differ."""

    deviation: float | None
    """The standard deviation of one score, pooled over the answers; ``None`` if no answer was scored twice."""
    widest: float | None
    """The largest difference between two scores of one answer."""
    alpha: float | None
    n_answers: int
    """Answers with at least two scores."""


def judge_spread(scores: Mapping[Any, Sequence[float]]) -> JudgeSpread:
    """The spread of repeated judge scores, by answer."""
    return judge_spread_of_sums(
        (len(values), math.fsum(values), math.fsum(value**2 for value in values), max(values) - min(values))
        for values in scores.values()
        if values
    )


def judge_spread_of_sums(answers: Iterable[tuple[int, float, float, float]]) -> JudgeSpread:
    """The same from the number of scores of each answer, their sum, their sum of squares and their range."""
    repeated = [answer for answer in answers if answer[0] > 1]
    if not repeated:
        return JudgeSpread(None, None, None, 0)
    # Rounding can make a sum of squared deviations slightly negative.
    squares = math.fsum(max(0.0, squared - total**2 / n) for n, total, squared, _ in repeated)
    degrees = sum(n - 1 for n, *_ in repeated)
    return JudgeSpread(
        deviation=math.sqrt(squares / degrees),
        widest=max(width for *_, width in repeated),
        alpha=krippendorff_alpha((n, total, squared, 1) for n, total, squared, _ in repeated),
        n_answers=len(repeated),
    )
