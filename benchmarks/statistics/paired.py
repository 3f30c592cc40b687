"""Two runs compared on the tasks they share, pair by pair.

The p-value is that of the sign-flip test (:mod:`benchmarks.statistics.permutation`). The interval of the difference is
Tango's score interval for paired proportions, with the same treatment of clusters and graded scores as the interval of
a mean has: it holds the differences δ for which

    (difference - δ)² <= c · (2 · q(δ) + δ · (1 - δ)),

where q(δ) is the share of tasks that got worse, estimated under δ. Sources: Tango (1998), Stat. Med. 17:891; Connor
(1987), Biometrics 43:207, for the difference that could have been seen; Cohen (1988), Statistical Power Analysis, for
the effect sizes g and d_z.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from benchmarks.statistics.distributions import normal_quantile, two_sided_t, two_sided_z
from benchmarks.statistics.intervals import FEW
from benchmarks.statistics.permutation import sign_flip_test
from benchmarks.statistics.spread import Spread, cluster_sums, score_factor, spread_of

Task = TypeVar("Task", bound=Hashable)
TaskScores = Mapping[Task, float | None]
"""A run's score on every task, the mean over its repeats; ``None`` where the task was asked but has no score."""

_BISECTIONS = 60
_CHANGED = 1e-9


@dataclass(frozen=True, slots=True)
class Comparison:
    """Run B against run A. Differences are B minus A, in scores from 0 to 1; all are ``None`` with no shared tasks."""

    n_shared: int
    """Tasks of both runs that have a score in both: what everything but the worst and best case rests on."""
    n_missing: int
    """Tasks of both runs that lack a score in one or both."""
    n_only_a: int
    n_only_b: int
    worst_case: float | None
    """The difference over all common tasks if every missing score had gone against B."""
    best_case: float | None
    confidence: float
    power: float
    n_clusters: int | None = None
    n_changed: int = 0
    n_better: int = 0
    mean_a: float | None = None
    mean_b: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    method: str = "none"
    effect_size: float | None = None
    effect_size_name: str = ""
    detectable_difference: float | None = None
    """The difference that these tasks could have shown with the given power."""
    note: str = "no task has a score in both runs"

    @property
    def n_worse(self) -> int:
        return self.n_changed - self.n_better

    @property
    def is_clear(self) -> bool:
        """Whether the test and the interval both say that there is a difference."""
        if self.p_value is None or self.low is None or self.high is None:
            return False
        return self.p_value <= 1 - self.confidence and (self.low > 0 or self.high < 0)


def task_scores(results: Iterable[tuple[Task, float | None]]) -> dict[Task, float | None]:
    """Every task's mean score over its repeats, from (task, score) pairs; ``None`` where no repeat has a score."""
    scored: dict[Task, list[float]] = {}
    for task, score in results:
        scored.setdefault(task, []).extend([] if score is None else [score])
    return {task: math.fsum(scores) / len(scores) if scores else None for task, scores in scored.items()}


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
    common = [task for task in a if task in b]
    pairs = {task: (_score(a[task], task), _score(b[task], task)) for task in common}
    scored = {
        task: (first, second) for task, (first, second) in pairs.items() if first is not None and second is not None
    }
    worst_case, best_case = _missing_bounds(list(pairs.values()))
    unscored = Comparison(
        n_shared=len(scored),
        n_missing=len(common) - len(scored),
        n_only_a=len(a) - len(common),
        n_only_b=len(b) - len(common),
        worst_case=worst_case,
        best_case=best_case,
        confidence=confidence,
        power=power,
    )
    if not scored:
        return unscored
    names = None if clusters is None else [clusters[task] for task in scored]
    return _compared(unscored, list(scored.values()), names, seed)


def _compared(
    counted: Comparison, scores: Sequence[tuple[float, float]], names: Sequence[Hashable] | None, seed: int
) -> Comparison:
    """``counted`` with all that the pairs of scores tell."""
    differences = [second - first for first, second in scores]
    spread = spread_of(differences, names)
    clustered = names is not None and spread.n_clusters < spread.n
    sums = [total for _, total in cluster_sums(differences, names)] if clustered and names else differences
    test = sign_flip_test(sums, seed=seed)
    binary = all(score in (0, 1) for pair in scores for score in pair)
    better = sum(difference > _CHANGED for difference in differences)
    changed = sum(abs(difference) > _CHANGED for difference in differences)
    low, high = _difference_bounds(differences, spread, binary=binary and not clustered, confidence=counted.confidence)
    if test.p_value > 1 - counted.confidence:  # The interval must not tell a difference that the test denies.
        low, high = min(low, 0.0), max(high, 0.0)
    effect_size, effect_size_name = _effect_size(spread, better, changed, binary=binary)
    return replace(
        counted,
        n_clusters=None if names is None else spread.n_clusters,
        n_changed=changed,
        n_better=better,
        mean_a=math.fsum(first for first, _ in scores) / len(scores),
        mean_b=math.fsum(second for _, second in scores) / len(scores),
        difference=spread.mean,
        low=low,
        high=high,
        p_value=test.p_value,
        method=_method(test.method, binary=binary, clustered=clustered),
        effect_size=effect_size,
        effect_size_name=effect_size_name,
        detectable_difference=_detectable(differences, spread, counted.confidence, counted.power),
        note=_note(spread, counted.confidence),
    )


def _score(score: float | None, task: Hashable) -> float | None:
    if score is not None and not 0 <= score <= 1:
        raise ValueError(
            f"task {task!r} has score {score!r}: a score is a number in [0, 1], or None where there is none"
        )
    return score


def _missing_bounds(pairs: Sequence[tuple[float | None, float | None]]) -> tuple[float | None, float | None]:
    """The mean difference with every missing score set against B, and with every one set in its favour."""
    if not pairs:
        return None, None
    worst = [(0.0 if second is None else second) - (1.0 if first is None else first) for first, second in pairs]
    best = [(1.0 if second is None else second) - (0.0 if first is None else first) for first, second in pairs]
    return math.fsum(worst) / len(pairs), math.fsum(best) / len(pairs)


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
    """What was gained and what was lost, as shares of all that could be: for 0/1 scores the two discordant cells."""
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
        if inside(end):
            return end
        kept, lost = difference, end
        for _ in range(_BISECTIONS):
            middle = (kept + lost) / 2
            kept, lost = (middle, lost) if inside(middle) else (kept, middle)
        return kept

    return edge(-1.0), edge(1.0)


def _score_variance(up: float, down: float, delta: float) -> float:
    """The variance of one difference when the true one is ``delta``, the rest at its maximum likelihood (Tango's 2)."""
    b = -up - down + (2 - up + down) * delta
    c = -down * delta * (1 - delta)
    down_given_delta = (math.sqrt(max(0.0, b * b - 8 * c)) - b) / 4
    return max(0.0, 2 * down_given_delta + delta * (1 - delta))


def _effect_size(spread: Spread, better: int, changed: int, *, binary: bool) -> tuple[float | None, str]:
    """Cohen's g, the share for the better among the changed less one half, or d_z, the mean over the spread."""
    if binary:
        return (better / changed - 0.5 if changed else 0.0), "Cohen's g"
    if spread.is_flat:
        return (0.0 if spread.mean == 0 else None), "Cohen's d_z"
    deviation = math.sqrt(spread.population_variance * spread.n / (spread.n - 1))
    return spread.mean / deviation, "Cohen's d_z"


def _detectable(differences: Sequence[float], spread: Spread, confidence: float, power: float) -> float:
    """The smallest true difference that would have been called clear with this power.

    Where few tasks change, a difference needs at least as large a share of changed tasks as it is large itself.
    Clusters that happen to agree make the mean no surer than independent tasks would, as with the interval of a mean.
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


def _method(test: str, *, binary: bool, clustered: bool) -> str:
    if binary and not clustered:
        return "McNemar's exact test"
    unit = "clusters' differences" if clustered else "tasks' differences"
    return f"sign-flip permutation of the {unit} ({test})"


def _note(spread: Spread, confidence: float) -> str:
    smallest = 2.0 ** (1 - spread.n_clusters)
    if smallest > 1 - confidence:
        return f"only {spread.n_clusters} independent pairs: no result could have p below {smallest:.2g}"
    if spread.n_clusters < FEW:
        return f"only {spread.n_clusters} independent pairs"
    return ""
