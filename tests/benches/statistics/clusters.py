"""Tasks of a file that share a text, a template or a document: intervals and tests that count clusters of tasks, and
what they would be if tasks were taken as independent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.statistics.intervals import Interval, Moments, interval_from_moments, mean_interval
from benchmarks.statistics.paired import Comparison, compare
from benchmarks.statistics.spread import counted
from tests.benches.statistics.coverage import CORRELATIONS, REPEATS, canvas_rates, holds
from tests.benches.statistics.report import band_summary, coverage, share, table

GRADED = 500
ALIKE = 2_000
TASKS = (40, 120, 400)
Floats = NDArray[np.float64]


def sizes_of(kind: str, n_tasks: int) -> list[int]:
    """How many tasks each cluster has."""
    if kind == "4 each":
        return [4] * (n_tasks // 4)
    if kind == "half alone, half by 10":
        return [1] * (n_tasks // 2) + [10] * (n_tasks // 20)
    sizes: list[int] = []
    while (left := n_tasks - sum(sizes)) > 0:
        sizes.append(min(left, 1 + len(sizes) % 8))
    return sizes


KINDS = ("4 each", "1 to 8 each", "half alone, half by 10")


def means(random: np.random.Generator) -> Iterator[str]:
    """Coverage of the interval of a mean; tasks of one cluster correlate, and three repeats of a task by ½ more."""
    values: list[float] = []
    rows: list[list[object]] = []
    for kind in KINDS:
        for n_tasks in TASKS:
            sizes = sizes_of(kind, n_tasks)
            for scores in ("0/1, 0.5", "0/1, 0.8", "0/1, 0.95", "0/1, 0.8, 3 repeats", "graded, 0.8"):
                rate = float(scores.split(", ")[1])
                row = [_means(random, sizes, rate, correlation, scores) for correlation in CORRELATIONS]
                values += row
                alone = _means(random, sizes, rate, CORRELATIONS[-2], scores, ignored=True)
                rows.append([kind, n_tasks, len(sizes), scores, *map(coverage, row), share(alone)])
    heads = [f"correlation {each}" for each in CORRELATIONS]
    yield table(["tasks in a cluster", "tasks", "clusters", "scores", *heads, "0.3, clusters ignored"], rows)
    yield band_summary(values)


def _means(
    random: np.random.Generator,
    sizes: Sequence[int],
    rate: float,
    correlation: float,
    scores: str,
    *,
    ignored: bool = False,
) -> float:
    graded, repeats = scores.startswith("graded"), 3 if scores.endswith("repeats") else 1
    draws = GRADED if graded else REPEATS
    rates = np.repeat(canvas_rates(random, (draws, len(sizes)), rate, correlation), sizes, axis=1)
    names = np.repeat(np.arange(len(sizes)), sizes)
    if graded:
        drawn = random.beta(4 * rates + 1e-9, 4 * (1 - rates) + 1e-9)
        found = [mean_interval(each, None if ignored else names.tolist()) for each in drawn.tolist()]
    else:
        own = random.beta(rates + 1e-9, 1 - rates + 1e-9) if repeats > 1 else rates
        right = random.binomial(repeats, own)
        found = [_of_counts(each, sizes, repeats, ignored=ignored) for each in right]
    return float(np.mean([holds(interval, rate) for interval in found]))


def _of_counts(right: NDArray[np.int64], sizes: Sequence[int], repeats: int, *, ignored: bool) -> Interval:
    """Of the number of right repeats of each task. Ignoring clusters, the repeats of a task are still one."""
    total = int(right.sum())
    moments = Moments(repeats * len(right), total, total)
    if ignored:
        return interval_from_moments(moments, counted((repeats, each) for each in right.tolist()))
    sums = np.add.reduceat(right, np.concatenate([[0], np.cumsum(sizes)[:-1]]))
    return interval_from_moments(
        moments, counted((repeats * n, each) for n, each in zip(sizes, sums.tolist(), strict=True))
    )


def pairs(random: np.random.Generator) -> Iterator[str]:
    """Two runs of equal ability that each like some clusters better: how often they are called different."""
    rows: list[list[object]] = []
    for kind in KINDS:
        for n_tasks in TASKS:
            sizes = sizes_of(kind, n_tasks)
            names = dict(enumerate(np.repeat(np.arange(len(sizes)), sizes).tolist()))
            alike = [_two_runs(random, sizes) for _ in range(ALIKE)]
            apart = [compare(a, b, names) for a, b in alike]
            rows.append(
                [
                    kind,
                    n_tasks,
                    len(sizes),
                    share(_clear(apart)),
                    coverage(float(np.mean([pair.low <= 0 <= pair.high for pair in apart if pair.low is not None]))),
                    share(_clear([compare(a, b) for a, b in alike])),
                ]
            )
    head = ["tasks in a cluster", "tasks", "clusters", "false alarms", "interval holds 0", "alarms, clusters ignored"]
    yield table(head, rows)


def _clear(comparisons: Sequence[Comparison]) -> float:
    return float(np.mean([comparison.is_clear for comparison in comparisons]))


def _two_runs(random: np.random.Generator, sizes: Sequence[int]) -> tuple[dict[int, float], dict[int, float]]:
    base = random.uniform(0.25, 0.75, sum(sizes))
    first, second = (
        random.binomial(1, base + np.repeat(random.uniform(-0.25, 0.25, len(sizes)), sizes)) for _ in range(2)
    )
    return dict(enumerate(first.astype(float).tolist())), dict(enumerate(second.astype(float).tolist()))
