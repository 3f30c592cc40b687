"""How a system differs from itself: what a gate makes of a run that was asked the same tasks several times.

With w the mean variance of a task's score over its repeats, the difference of two means over n tasks, each asked r
times, has the standard deviation sqrt(2 w / (r n)) if nothing has changed. A gate with the one-sided quantile z calls
that worse with Φ(-margin/sd - z) and passes it with Φ(margin/sd - z), by the normal approximation. Tasks of one cluster
are taken as independent here, because what is compared is the same tasks with themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from statistics import NormalDist

from benchmarks.statistics.margins import LEVEL, NIGHTS, Verdict, edges

REPEATS = (1, 2, 3, 5, 10)
"""Numbers of repeats whose effect is shown."""
_FLIPS_AT = 0.5
"""Two scores of a task that differ by as much are a flip."""
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a gate says of an unchanged system with so many repeats of each run, and the half-width of the difference's
    90% interval."""

    repeats: int
    half_width: float
    passes: float
    called_worse: float


@dataclass(frozen=True, slots=True)
class SelfCheck:
    """``flip_rate`` is the share of tasks that two repeats score differently. ``verdicts`` counts what the gate says of
    each repeat against each other one, which are as many gates, though not independent ones."""

    n_tasks: int
    repeats: int
    flip_rate: float
    flipping_tasks: int
    verdicts: dict[Verdict, int]
    outlooks: tuple[Outlook, ...]


def self_check(scores: Sequence[Sequence[float]], margin: float, *, nightly: bool = False) -> SelfCheck:
    """Check a gate on scores from 0 to 1, a row for each task with one score for each repeat.

    Raises ``ValueError`` without tasks, or if rows have fewer than two scores or not equally many.
    """
    counts = {len(row) for row in scores}
    if len(counts) != 1 or min(counts) < 2:
        raise ValueError("each task needs the same number of scores, at least two")
    (repeats,), n = counts, len(scores)
    pairs = list(combinations(range(repeats), 2))
    flips = [[abs(row[i] - row[j]) >= _FLIPS_AT for i, j in pairs] for row in scores]
    level_high = LEVEL / NIGHTS if nightly else LEVEL
    verdicts = dict.fromkeys(Verdict, 0)
    for i, j in permutations(range(repeats), 2):
        earlier, later = ({task: row[at] for task, row in enumerate(scores)} for at in (i, j))
        verdicts[edges(earlier, later, level=LEVEL, level_high=level_high).verdict(margin)] += 1
    within = math.fsum(map(_variance, scores)) / n
    return SelfCheck(
        n_tasks=n,
        repeats=repeats,
        flip_rate=sum(map(sum, flips)) / (n * len(pairs)),
        flipping_tasks=sum(map(any, flips)),
        verdicts={verdict: count for verdict, count in verdicts.items() if count},
        outlooks=tuple(outlook(within, n, each, margin, level_high) for each in REPEATS),
    )


def outlook(within: float, n: int, repeats: int, margin: float, level_high: float = LEVEL) -> Outlook:
    """The chances by the formulas above; ``within`` is the mean variance of a task's score over its repeats."""
    sd = math.sqrt(2 * within / (repeats * n))
    z_low, z_high = (_NORMAL.inv_cdf(1 - level) for level in (LEVEL, level_high))
    if sd == 0:
        return Outlook(repeats, 0.0, 1.0, 0.0)
    passes, worse = _NORMAL.cdf(margin / sd - z_low), _NORMAL.cdf(-margin / sd - z_high)
    return Outlook(repeats, z_low * sd, passes, worse)


def _variance(row: Sequence[float]) -> float:
    """The unbiased variance."""
    mean = math.fsum(row) / len(row)
    return math.fsum((value - mean) ** 2 for value in row) / (len(row) - 1)
