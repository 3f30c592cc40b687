"""Two runs compared on the tasks they share, pair by pair; and Holm's correction for many such comparisons.

The p-value is that of the sign-flip test (:mod:`benchmarks.statistics.permutation`). The interval of the difference is
Tango's score interval for paired proportions, with the same treatment of clusters and graded scores as the interval of
a mean: it contains the differences δ for which

    (difference - δ)² <= c · (2 · q(δ) + δ · (1 - δ)),

where q(δ) is the share of tasks that got worse, estimated under δ. Sources: Tango (1998), Stat. Med. 17:891; Connor
(1987), Biometrics 43:207, for the detectable difference; Cohen (1988), Statistical Power Analysis, for the effect sizes
g and d_z; Holm (1979), Scand. J. Stat. 6:65.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from benchmarks.statistics.intervals import FEW, Interval, mean_interval
from benchmarks.statistics.permutation import sign_flip_test
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

_BISECTIONS = 60
_CHANGED = 1e-9


@dataclass(frozen=True, slots=True)
class Comparison:
    """Run B compared with run A. Differences are B minus A, in scores from 0 to 1; ``None`` without shared tasks."""

    n_shared: int
    """Tasks of both runs with a score in both. Everything but the worst and best case is based on them."""
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
    method: str = "none"
    effect_size: float | None = None
    effect_size_name: str = ""
    detectable_difference: float | None = None
    """The difference that would be significant with the given power on these tasks."""
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

    @property
    def is_clear(self) -> bool:
        """Whether the test and the interval both show a difference."""
        if self.p_value is None or self.low is None or self.high is None:
            return False
        return self.p_value <= 1 - self.confidence and (self.low > 0 or self.high < 0)


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
    confidence: float = 0.95,
    power: float = 0.8,
    seed: int = 0,
) -> Comparison:
    """Compare run B with run A on the tasks that both have.

    ``clusters`` names the canvas of every common task. Raises ``ValueError`` for a score outside [0, 1], ``KeyError``
    for a common task without a cluster.
    """
    pairs = {task: (_score(a[task], task), _score(b[task], task)) for task in a if task in b}
    scored = {
        task: (first, second) for task, (first, second) in pairs.items() if first is not None and second is not None
    }
    counted = Comparison(
        n_shared=len(scored),
        n_missing=len(pairs) - len(scored),
        n_only_a=len(a) - len(pairs),
        n_only_b=len(b) - len(pairs),
        worst_case=_mean_difference(pairs.values(), missing_a=1.0, missing_b=0.0),
        best_case=_mean_difference(pairs.values(), missing_a=0.0, missing_b=1.0),
        confidence=confidence,
        power=power,
    )
    if not scored:
        return counted
    names = None if clusters is None else [clusters[task] for task in scored]
    return _compared(counted, list(scored.values()), names, seed)


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
    if test.p_value > 1 - counted.confidence:  # The interval must not show a difference that the test denies.
        low, high = min(low, 0.0), max(high, 0.0)
    effect_size, effect_size_name = _effect_size(spread, better, changed, binary=binary)
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
        detectable_difference=_detectable(differences, spread, counted.confidence, counted.power),
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


def _mean_difference(
    pairs: Collection[tuple[float | None, float | None]], *, missing_a: float, missing_b: float
) -> float | None:
    """The mean difference with every missing score replaced; ``None`` without pairs."""
    if not pairs:
        return None
    differences = [(missing_b if b is None else b) - (missing_a if a is None else a) for a, b in pairs]
    return math.fsum(differences) / len(pairs)


def _difference_bounds(
    differences: Sequence[float], spread: Spread, *, binary: bool, confidence: float
) -> tuple[float, float]:
    up, down = _shares(differences)
    if binary:
        factor = two_sided_z(confidence) ** 2 / spread.n
    else:
        factor = score_factor(spread, up + down - (up - down) ** 2, confidence)
    return paired_score_bounds(up, down, factor)


def _shares(differences: Sequence[float]) -> tuple[float, float]:
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


def _detectable(differences: Sequence[float], spread: Spread, confidence: float, power: float) -> float:
    """The smallest true difference that would be significant with this power.

    If few tasks change, a difference requires at least as large a share of changed tasks as it is large itself.
    Clusters never make the mean more certain than independent tasks would, as with the interval of a mean.
    """
    up, down = _shares(differences)
    changed = up + down
    if spread.is_flat or spread.degrees <= 0:
        design, critical = spread.concentration, two_sided_z(confidence)
    else:
        variance_of_mean = max(spread.variance_of_mean, spread.population_variance / spread.n)
        design = variance_of_mean / (changed - (up - down) ** 2)
        critical = two_sided_t(confidence, spread.degrees)
    factor = (critical + normal_quantile(power)) ** 2 * design
    least = factor / (1 + factor)
    return math.sqrt(least * changed) if least <= changed else least
