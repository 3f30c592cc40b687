"""Whether one run is the same as another within a margin, no worse than it by a margin, or worse by more.

These statements come from one-sided bounds of the paired difference B minus A. Two runs are the same within a margin if
both bounds are inside it, which is two one-sided tests: with bounds of 95% each, the 90% interval lies inside ±margin.
B is not worse if its lower bound is above -margin, and worse if its upper bound is below.

The bounds are Tango's score bounds (:mod:`benchmarks.statistics.paired`), moved outward by half a task. Without that,
0/1 scores cross the margin's edge with up to 6.8% instead of 5%; with it, with at most 4.7% (exact, 20 to 500 tasks).
No bound is closer than z² / (n + z²) to the difference, about what n tasks without a change leave open.

Sources: Schuirmann (1987), J. Pharmacokinet. Biopharm. 15:657, for two one-sided tests; Tango (1998), Stat. Med.
17:891, for the bounds; Manski (1989), J. Hum. Resour. 24:343, for missing scores.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from benchmarks.statistics.paired import Shares, Task, TaskScores, paired_score_bounds, score_bounds, shares
from benchmarks.statistics.spread import normal_quantile, score_factor, spread_of

MARGIN = 0.02
"""The margin if the reader chooses none: 2 points."""
LEVEL = 0.05
"""The chance that a bound is wrong, on its side."""
NIGHTS = 100
"""The length of a series in which an unchanged system is called worse with at most ``LEVEL``, however the nights depend
on each other: each night has its share of the level (Bonferroni)."""
MOST_TASKS = 1_000_000
"""More tasks than that are no plan."""


class Verdict(StrEnum):
    """What a gate says. ``MISSING`` is undecided only because of missing scores."""

    PASS = "pass"
    WORSE = "worse"
    UNDECIDED = "undecided"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Edges:
    """One-sided bounds of B minus A on the tasks with both scores, and on all common tasks with every missing score at
    its worst for the claim: for ``low_missing`` the worst for B, for ``high_missing`` the best. ``None`` without tasks.
    """

    n: int
    n_missing: int
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    low_missing: float | None = None
    high_missing: float | None = None

    def is_same(self, margin: float) -> bool:
        """Whether the runs are the same within the margin, whatever the missing scores are."""
        return self.is_not_worse(margin) and self.high_missing is not None and self.high_missing < margin

    def is_not_worse(self, margin: float) -> bool:
        return self.low_missing is not None and self.low_missing > -margin

    def is_worse(self, margin: float) -> bool:
        return self.high_missing is not None and self.high_missing < -margin

    def would_be_same(self, margin: float) -> bool:
        """The same by the scored tasks alone."""
        return self.low is not None and self.high is not None and -margin < self.low and self.high < margin

    def verdict(self, margin: float) -> Verdict:
        """That of a gate. Missing scores prevent it, if the scored tasks alone would decide it."""
        if self.is_not_worse(margin):
            return Verdict.PASS
        if self.is_worse(margin):
            return Verdict.WORSE
        decided = self.low is not None and self.high is not None and (self.low > -margin or self.high < -margin)
        return Verdict.MISSING if decided else Verdict.UNDECIDED

    def more_tasks(self, margin: float) -> int | None:
        """How many more tasks decide the gate, if the difference stays as it is; ``None`` for more than a plan has."""
        if self.difference is None or self.low is None or self.high is None:
            return None
        distance = self.difference + margin
        width = self.difference - self.low if distance > 0 else self.high - self.difference
        if abs(distance) <= width / math.sqrt(MOST_TASKS / self.n):
            return None
        return max(1, math.ceil(self.n * (width / distance) ** 2) - self.n)


def edges(
    a: TaskScores[Task],
    b: TaskScores[Task],
    clusters: Mapping[Task, Hashable] | None = None,
    *,
    unscored: tuple[Shares[Task], Shares[Task]] | None = None,
    level: float = LEVEL,
    level_high: float | None = None,
) -> Edges:
    """The bounds of B minus A, each wrong with at most ``level`` (the upper one ``level_high``).

    Arguments and errors are those of :func:`benchmarks.statistics.paired.compare`.
    """
    missing_a, missing_b = unscored or ({}, {})
    common = [task for task in a if task in b]
    names = None if clusters is None else [clusters[task] for task in common]
    lows, highs, scored, of_scored = [], [], [], []
    for place, task in enumerate(common):
        low_a, high_a = score_bounds(a[task], missing_a.get(task, 0.0), task)
        low_b, high_b = score_bounds(b[task], missing_b.get(task, 0.0), task)
        lows.append(low_b - high_a)
        highs.append(high_b - low_a)
        first, second = a[task], b[task]
        if first is not None and second is not None:
            scored.append(second - first)
            of_scored += [] if names is None else [names[place]]
    if not common:
        return Edges(0, 0)
    upper = level if level_high is None else level_high
    low_missing, high_missing = _bound(lows, names, level, -1), _bound(highs, names, upper, 1)
    if not scored:
        return Edges(0, len(common), low_missing=low_missing, high_missing=high_missing)
    own = None if names is None else of_scored
    low, high = _bound(scored, own, level, -1), _bound(scored, own, upper, 1)
    # What is missing only widens.
    return Edges(
        len(scored),
        len(common) - len(scored),
        math.fsum(scored) / len(scored),
        low,
        high,
        min(low, low_missing),
        max(high, high_missing),
    )


def _bound(differences: Sequence[float], names: Sequence[Hashable] | None, level: float, side: int) -> float:
    """The lower (``side`` -1) or upper (1) bound of the mean difference."""
    confidence = 1 - 2 * level
    spread = spread_of(differences, names)
    up, down = shares(differences)
    z_squared = normal_quantile(1 - level) ** 2
    independent = spread.n_clusters == spread.n
    if independent and all(difference in (-1, 0, 1) for difference in differences):
        factor = z_squared / spread.n
    else:
        factor = score_factor(spread, up + down - (up - down) ** 2, confidence)
    found = paired_score_bounds(up, down, factor)[side > 0] + side * spread.concentration / 2
    least = spread.mean + side * z_squared / (1 / spread.concentration + z_squared)
    return max(-1.0, min(found, least)) if side < 0 else min(1.0, max(found, least))
