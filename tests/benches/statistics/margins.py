"""How often two runs are wrongly called the same at the margin's edge, how often equal runs are found the same, and how
often a nightly gate raises a false alarm or finds a loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.statistics.margins import LEVEL, NIGHTS, Edges, edges
from tests.benches.statistics.report import share, table

DRAWS = 2_000
MARGIN = 0.05
QUESTIONS = 6


@dataclass(frozen=True)
class Kind:
    name: str
    graded: bool = False
    clustered: bool = False
    repeats: int = 1
    rare: bool = False
    """The whole loss lies in a few tasks that drop to 0."""


KINDS = (
    Kind("0/1"),
    Kind("0/1, 3 repeats", repeats=3),
    Kind("0/1, canvases with 6 questions", clustered=True),
    Kind("graded", graded=True),
    Kind("graded, the loss in a few zeros", graded=True, rare=True),
    Kind("graded, canvases with 6 questions", graded=True, clustered=True),
)


def drawn(random: np.random.Generator, kind: Kind, tasks: int, lift: float, *, level: float = 0.05) -> Edges:
    """Two runs, B better by ``lift``, on the same tasks of all difficulties."""
    base = random.uniform(0.35, 0.85, tasks)
    groups = np.arange(tasks) // QUESTIONS
    runs: list[Mapping[int, float]] = []
    for gain in (0.0, lift):
        rates = base + (0.0 if kind.rare else gain)
        if kind.clustered:
            rates = rates + random.uniform(-0.1, 0.1, groups[-1] + 1)[groups]
        rates = np.clip(np.broadcast_to(rates, (kind.repeats, tasks)), 0.001, 0.999)
        scores = random.beta(40 * rates, 40 * (1 - rates)) if kind.graded else random.binomial(1, rates)
        means = scores.mean(axis=0)
        if kind.rare and gain:
            means = np.where(random.random(tasks) < -gain / 0.6, 0.0, means)  # 0.6 is the mean that is lost
        runs.append(dict(enumerate(means.tolist())))
    return edges(*runs, dict(enumerate(groups.tolist())) if kind.clustered else None, level=level)


def same(random: np.random.Generator) -> Iterator[str]:
    rows = []
    for kind in KINDS:
        for tasks in (60, 240, 960):
            edge = [drawn(random, kind, tasks, -MARGIN).is_same(MARGIN) for _ in range(DRAWS)]
            equal = [drawn(random, kind, tasks, 0.0).is_same(MARGIN) for _ in range(DRAWS // 4)]
            rows.append([kind.name, tasks, share(float(np.mean(edge))), share(float(np.mean(equal)))])
    yield table(["scores", "tasks", "same within 5 points, at a true 5", "same, at a true 0"], rows)


SERIES = 400
GATE = 0.02
"""The margin of the nightly gate."""


def nights(random: np.random.Generator) -> Iterator[str]:
    """Series of nights against one reference run, on the same tasks: a task is right with a chance of its own each
    night. The losses up to the margin must raise no alarm in all nights of a series.
    """
    rows = []
    for tasks, spread in ((60, 0.25), (240, 0.25), (240, 0.45)):
        for loss in (GATE, 0.1, 0.2):
            alarmed = [_alarms(random, tasks, spread, loss, NIGHTS if loss <= GATE else 1) for _ in range(SERIES)]
            share_of = share(float(np.mean(alarmed)))
            rows.append(
                [tasks, _chances(spread), f"{100 * loss:.0f}", *((share_of, "") if loss <= GATE else ("", share_of))]
            )
    yield table(
        ["tasks", "chances", "true loss, points", f"false alarm in {NIGHTS} nights", "found in one night"], rows
    )


def _chances(spread: float) -> str:
    return f"{0.5 - spread:.2f} to {0.5 + spread:.2f}"


def _alarms(random: np.random.Generator, tasks: int, spread: float, loss: float, count: int) -> bool:
    """Whether any of ``count`` nights is called worse."""
    chances = random.uniform(0.5 - spread, 0.5 + spread, tasks)
    reference = dict(enumerate(random.binomial(1, chances).tolist()))
    later = np.clip(chances - loss * chances / chances.mean(), 0, 1)
    for _ in range(count):
        night = dict(enumerate(random.binomial(1, later).tolist()))
        if edges(reference, night, level_high=LEVEL / NIGHTS).is_worse(GATE):
            return True
    return False


def spending(random: np.random.Generator) -> Iterator[str]:
    """How often a gate finds a loss in one night, by how its series spends 5%: in equal shares on 100 nights, after
    which they are used up, or in shares of 1/(k(k + 1)) for night k, which never are.
    """
    rows = []
    at = (1, 10, 50, 100)
    for tasks in (240, 960):
        for loss in (0.1, 0.2):
            pairs = [_night(random, tasks, loss) for _ in range(SERIES)]
            equal = [_found(pairs, LEVEL / NIGHTS)]
            falling = [_found(pairs, LEVEL / (night * (night + 1))) for night in at]
            rows.append([tasks, f"{100 * loss:.0f}", *map(share, (*equal, *falling))])
    heads = ["tasks", "true loss, points", "equal shares, each night"]
    yield table([*heads, *(f"falling shares, night {night}" for night in at)], rows)


def _night(random: np.random.Generator, tasks: int, loss: float) -> tuple[dict[int, float], dict[int, float]]:
    chances = random.uniform(0.25, 0.75, tasks)
    later = np.clip(chances - loss * chances / chances.mean(), 0, 1)
    reference, night = (dict(enumerate(random.binomial(1, each).tolist())) for each in (chances, later))
    return reference, night


def _found(pairs: Sequence[tuple[dict[int, float], dict[int, float]]], level: float) -> float:
    return float(np.mean([edges(*pair, level_high=level).is_worse(GATE) for pair in pairs]))
