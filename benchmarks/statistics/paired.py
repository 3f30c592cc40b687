"""Two runs compared on the tasks they share, pair by pair; and Holm's correction for many such comparisons.

The p-value is that of the sign-flip test (:mod:`benchmarks.statistics.permutation`). The interval of the difference is
Tango's score interval for paired proportions, with the same treatment of clusters and graded scores as the interval of
a mean: it contains the differences δ for which

    (difference - δ)² <= c · (2 · q(δ) + δ · (1 - δ)),

where q(δ) is the share of tasks that got worse, estimated under δ.

A missing score carries no claim: a difference is clear only if it stays so with every missing score at its worst for
the run that gains, 0 for that run and 1 for the other (worst-case bounds). Sources: Tango (1998), Stat. Med. 17:891;
Connor (1987), Biometrics 43:207, for the detectable difference; Cohen (1988), Statistical Power Analysis, for the
effect sizes g and d_z; Holm (1979), Scand. J. Stat. 6:65; Manski (1989), J. Hum. Resour. 24:343, and Horowitz & Manski
(2000), J. Am. Stat. Assoc. 95:77, for the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from benchmarks.statistics.intervals import FEW, Interval, mean_interval
from benchmarks.statistics.permutation import sign_flip_test
from benchmarks.statistics.planning import share_detected
from benchmarks.statistics.spread import (
    Spread,
    cluster_sums,
    normal_quantile,
    score_factor,
    spread_of,
    two_sided_t,
    two_sided_z,
)

Task = TypeVar("Task", bound=Hashable)
TaskScores = Mapping[Task, float | None]
"""A run's score on every task, the mean over its repeats; ``None`` if the task was sent but has no score."""

Shares = Mapping[Task, float]
"""Of tasks that have a score: the share of their repeats without one, if any."""
Bounds = tuple[float, float]
"""What a score would be if all that is missing of it were 0, and if it were 1."""

_BISECTIONS = 60
_CHANGED = 1e-9


@dataclass(frozen=True, slots=True)
class Precision:
    """What the differences follow from that pairs of scores can show."""

    pairs: int
    """Independent ones: clusters, or tasks if they are treated as independent"""
    changed: float
    """The gain plus the loss, as a share of the possible maximum"""
    change: float
    """What one changed pair contributes on average, as a mean over all pairs: 1 for 0/1 scores without clusters"""
    design: float
    """The variance of the mean difference by that of one pair with so many changes"""

    def detectable(self, level: float, power: float) -> float | None:
        """The smallest true difference whose p-value is at most ``level`` with this power; ``None`` if there is none.

        If few tasks change, a difference requires at least as large a share of changed tasks as it is large itself.
        However little the scores vary, the exact test needs a number of pairs that change in one direction, and its
        p-values come in steps, which costs about one pair.
        """
        share = share_detected(self.pairs, 1 - level, power)
        if share is None:
            return None
        factor = (two_sided_t(1 - level, self.pairs - 1) + normal_quantile(power)) ** 2 * self.design
        least = factor / (1 + factor)
        by_spread = math.sqrt(least * self.changed) if least <= self.changed else least
        return min(1.0, max(by_spread + self.change / self.pairs, share * self.change))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Run B compared with run A. Differences are B minus A, in scores from 0 to 1; ``None`` without shared tasks."""

    n_shared: int
    """Tasks of both runs with a score in both. All but ``worst_case``, ``best_case``, ``p_missing`` is based on them"""
    n_missing: int
    """Tasks of both runs that lack a score in one or both."""
    n_only_a: int
    n_only_b: int
    worst_case: float | None
    """The difference over all common tasks if every missing score were the worst for B."""
    best_case: float | None
    confidence: float
    power: float
    n_clusters: int | None = None
    n_changed: int = 0
    n_better: int = 0
    interval_a: Interval | None = None
    interval_b: Interval | None = None
    """The mean of each run on the shared tasks, with its own interval."""
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    p_missing: float | None = None
    """The same with the missing scores counted against the run that gains, 1 if that turns the difference; ``None`` if
    nothing is missing."""
    method: str = "none"
    effect_size: float | None = None
    effect_size_name: str = ""
    detectable_difference: float | None = None
    """The difference that would be significant with the given power on these tasks; ``None`` if none would."""
    precision: Precision | None = None
    note: str = "no task has a score in both runs"
    """What limits the comparison, in words; empty if nothing does."""

    @property
    def n_worse(self) -> int:
        return self.n_changed - self.n_better

    @property
    def n_pairs(self) -> int:
        """Independent pairs: clusters, or tasks if they are treated as independent."""
        return self.n_shared if self.n_clusters is None else self.n_clusters

    @property
    def smallest_p(self) -> float:
        """The smallest p-value that this number of pairs can reach, with all of them changing in one direction."""
        return 2.0 ** (1 - self.n_pairs)

    @property
    def is_hopeless(self) -> bool:
        """Whether the pairs are too few for any result to be significant."""
        return self.smallest_p > 1 - self.confidence

    def detectable(self, comparisons: int = 1) -> float | None:
        """The detectable difference if this is one of so many comparisons, of which the smallest p-value must be that
        much smaller."""
        level = (1 - self.confidence) / comparisons
        return None if self.precision is None else self.precision.detectable(level, self.power)

    @property
    def p_decisive(self) -> float | None:
        """What a claim rests on: the larger of both p-values."""
        return self.p_value if self.p_value is None or self.p_missing is None else max(self.p_value, self.p_missing)

    @property
    def is_clear(self) -> bool:
        """Whether the test, with and without the missing scores, and the interval all show a difference."""
        if self.p_decisive is None or self.low is None or self.high is None:
            return False
        return self.p_decisive <= 1 - self.confidence and (self.low > 0 or self.high < 0)

    @property
    def is_undone_by_missing(self) -> bool:
        """Whether the difference would be significant if it were not for the missing scores."""
        level = 1 - self.confidence
        return self.p_missing is not None and self.p_value is not None and self.p_value <= level < self.p_missing


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given.

    The chance that any difference of the family is called clear although there is none stays below one minus the
    confidence, whatever the dependence between the comparisons.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def compare(
    a: TaskScores[Task],
    b: TaskScores[Task],
    clusters: Mapping[Task, Hashable] | None = None,
    *,
    unscored: tuple[Shares[Task], Shares[Task]] | None = None,
    confidence: float = 0.95,
    power: float = 0.8,
    seed: int = 0,
) -> Comparison:
    """Compare run B with run A on the tasks that both have.

    ``clusters`` names the canvas of every common task, ``unscored`` of A and B what is missing of scored tasks. Raises
    ``ValueError`` for a score outside [0, 1], ``KeyError`` for a common task without a cluster.
    """
    missing_a, missing_b = unscored or ({}, {})
    pairs = {task: (_score(a[task], task), _score(b[task], task)) for task in a if task in b}
    scored = {
        task: (first, second) for task, (first, second) in pairs.items() if first is not None and second is not None
    }
    bounds = [
        (score_bounds(a, missing_a.get(task, 0.0), task), score_bounds(b, missing_b.get(task, 0.0), task))
        for task, (a, b) in pairs.items()
    ]
    counted = Comparison(
        n_shared=len(scored),
        n_missing=len(pairs) - len(scored),
        n_only_a=len(a) - len(pairs),
        n_only_b=len(b) - len(pairs),
        worst_case=_mean([b - a for (_, a), (b, _) in bounds]),
        best_case=_mean([b - a for (a, _), (_, b) in bounds]),
        confidence=confidence,
        power=power,
    )
    if not scored:
        return counted
    names = None if clusters is None else [clusters[task] for task in scored]
    p_missing = None
    if any(low < high for pair in bounds for low, high in pair):
        observed = math.fsum(second - first for first, second in scored.values())
        of_all = None if clusters is None else [clusters[task] for task in pairs]
        p_missing = p_against_gain(bounds, of_all, observed, seed=seed)
    return _compared(replace(counted, p_missing=p_missing), list(scored.values()), names, seed)


def p_against_gain(
    bounds: Sequence[tuple[Bounds, Bounds]], names: Sequence[Hashable] | None, observed: float, *, seed: int = 0
) -> float:
    """The p-value of B minus A with what is missing counted against the one that gains by the ``observed`` difference;
    1 if the difference is then gone. ``bounds`` of A and B are those of all common tasks, ``names`` their clusters."""
    sign = 1.0 if observed > 0 else -1.0
    worst = [b[0] - a[1] if observed > 0 else b[1] - a[0] for a, b in bounds]
    if sign * math.fsum(worst) <= _CHANGED:
        return 1.0
    sums = worst if names is None else [total for _, total in cluster_sums(worst, names)]
    return sign_flip_test(sums, seed=seed).p_value


def _compared(
    counted: Comparison, scores: Sequence[tuple[float, float]], names: Sequence[Hashable] | None, seed: int
) -> Comparison:
    """``counted`` with everything that is computed from the pairs of scores."""
    differences = [second - first for first, second in scores]
    spread = spread_of(differences, names)
    clustered = names is not None and spread.n_clusters < spread.n
    intervals = [
        mean_interval(of_run, names if clustered else None, confidence=counted.confidence)
        for of_run in zip(*scores, strict=True)
    ]
    sums = [total for _, total in cluster_sums(differences, names)] if clustered and names else differences
    test = sign_flip_test(sums, seed=seed)
    binary = all(score in (0, 1) for pair in scores for score in pair)
    better = sum(difference > _CHANGED for difference in differences)
    changed = sum(abs(difference) > _CHANGED for difference in differences)
    low, high = _difference_bounds(differences, spread, binary=binary and not clustered, confidence=counted.confidence)
    p_decisive = max(test.p_value, counted.p_missing or 0.0)
    if p_decisive > 1 - counted.confidence:  # The interval must not show a difference that the test denies.
        low, high = min(low, 0.0), max(high, 0.0)
    effect_size, effect_size_name = _effect_size(spread, better, changed, binary=binary)
    precision = _precision(differences, sums, spread)
    compared = replace(
        counted,
        n_clusters=None if names is None else spread.n_clusters,
        n_changed=changed,
        n_better=better,
        interval_a=intervals[0],
        interval_b=intervals[1],
        difference=spread.mean,
        low=low,
        high=high,
        p_value=test.p_value,
        method=(
            "exact McNemar test"
            if binary and not clustered
            else f"sign-flip permutation test on {'cluster' if clustered else 'task'} differences ({test.method})"
        ),
        effect_size=effect_size,
        effect_size_name=effect_size_name,
        detectable_difference=precision.detectable(1 - counted.confidence, counted.power),
        precision=precision,
    )
    return replace(compared, note=_note(compared))


def _note(comparison: Comparison) -> str:
    pairs = f"{comparison.n_pairs} independent pair{'s' * (comparison.n_pairs != 1)}"
    if comparison.is_hopeless:
        verb = "is" if comparison.n_pairs == 1 else "are"
        smallest = f"{comparison.smallest_p:.2g}"
        return f"{pairs} {verb} too few to show a difference: the smallest possible p-value is {smallest}"
    return f"small sample: {pairs}" if comparison.n_pairs < FEW else ""


def _score(score: float | None, task: Hashable) -> float | None:
    if score is not None and not 0 <= score <= 1:
        raise ValueError(f"task {task!r} has score {score!r}: a score is a number in [0, 1], or None if there is none")
    return score


def score_bounds(score: float | None, unscored: float, task: Hashable) -> Bounds:
    """What a task's score would be if all that is missing of it were 0, and 1. Raises as ``compare`` does."""
    score = _score(score, task)
    low = 0.0 if score is None else score * (1 - unscored)
    return low, 1.0 if score is None else low + unscored


def _mean(differences: Sequence[float]) -> float | None:
    return math.fsum(differences) / len(differences) if differences else None


def _difference_bounds(
    differences: Sequence[float], spread: Spread, *, binary: bool, confidence: float
) -> tuple[float, float]:
    up, down = shares(differences)
    if binary:
        factor = two_sided_z(confidence) ** 2 / spread.n
    else:
        factor = score_factor(spread, up + down - (up - down) ** 2, confidence)
    return paired_score_bounds(up, down, factor)


def shares(differences: Sequence[float]) -> tuple[float, float]:
    """The gain and the loss as shares of the possible maximum: for 0/1 scores the two discordant cells."""
    gained = math.fsum(difference for difference in differences if difference > 0)
    lost = -math.fsum(difference for difference in differences if difference < 0)
    return gained / len(differences), lost / len(differences)


def paired_score_bounds(up: float, down: float, factor: float) -> tuple[float, float]:
    """The two δ around ``up - down`` at which Tango's score statistic reaches the critical value.

    ``factor`` is z² / n for n independent pairs of 0/1 scores, of which shares ``up`` and ``down`` are discordant.
    """
    difference = up - down

    def inside(delta: float) -> bool:
        return (difference - delta) ** 2 <= factor * _score_variance(up, down, delta)

    def edge(end: float) -> float:
        # Between the estimate, which is inside, and the end the statistic crosses the critical value once.
        if inside(end):
            return end
        kept, lost = difference, end
        for _ in range(_BISECTIONS):
            middle = (kept + lost) / 2
            kept, lost = (middle, lost) if inside(middle) else (kept, middle)
        return kept

    return edge(-1.0), edge(1.0)


def _score_variance(up: float, down: float, delta: float) -> float:
    """The variance of a difference if the true one is ``delta``, at maximum likelihood for the rest (Tango's eq. 2)."""
    b = -up - down + (2 - up + down) * delta
    c = -down * delta * (1 - delta)
    down_given_delta = (math.sqrt(max(0.0, b * b - 8 * c)) - b) / 4
    return max(0.0, 2 * down_given_delta + delta * (1 - delta))


def _effect_size(spread: Spread, better: int, changed: int, *, binary: bool) -> tuple[float | None, str]:
    """Cohen's g, the share of better among the changed tasks minus one half, or d_z, the mean over the spread."""
    if binary:
        return (better / changed - 0.5 if changed else 0.0), "Cohen's g"
    if spread.is_flat:
        return (0.0 if spread.mean == 0 else None), "Cohen's d_z"
    deviation = math.sqrt(spread.population_variance * spread.n / (spread.n - 1))
    return spread.mean / deviation, "Cohen's d_z"


def _precision(differences: Sequence[float], sums: Sequence[float], spread: Spread) -> Precision:
    """``sums`` are those of the independent pairs. Clusters never make the mean more certain than independent tasks
    would, as with the interval of a mean."""
    up, down = shares(differences)
    changed = up + down
    sizes = [abs(total) for total in sums if abs(total) > _CHANGED]
    change = math.fsum(sizes) / len(sizes) * len(sums) / len(differences) if sizes else 1.0
    if spread.is_flat:
        return Precision(len(sums), changed, change, spread.concentration)
    variance_of_mean = max(spread.variance_of_mean, spread.population_variance / spread.n)
    return Precision(len(sums), changed, change, variance_of_mean / (changed - (up - down) ** 2))
