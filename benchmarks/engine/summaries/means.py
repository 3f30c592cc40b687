"""Means with their intervals: of a run's metrics, and by difficulty, task class and number of shapes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from benchmarks.engine.summaries.sums import FACETS, Cell, Sums, added, cluster_counts
from benchmarks.metrics.registered_metrics import metric_named
from benchmarks.models import Run, Score
from benchmarks.statistics.intervals import Clusters, Interval, interval_from_moments
from benchmarks.statistics.measurements import measurement_interval
from benchmarks.statistics.spread import ClusteredSpread

Facets = tuple[str, ...]
Level = tuple[Any, ...]
Means = dict[tuple[str, Facets, Level], Interval]
"""Metric, facets and the level of each of them → the mean there. Of the whole run both are empty."""

WHOLE: Facets = ()
SURFACE: Facets = ("n_shapes", "group")
TOGETHER: tuple[tuple[Facets, tuple[Facets, ...]], ...] = (
    (("difficulty",), (("difficulty",),)),
    (("n_shapes",), (WHOLE, ("n_shapes",))),
    (SURFACE, (("group",), SURFACE)),
)
"""What is told by clusters counted at which level. A canvas has one number of shapes, so counts by it add up."""
TOGETHER_BY_TASK: tuple[tuple[Facets, tuple[Facets, ...]], ...] = ((("difficulty",), (WHOLE, ("difficulty",))),)
"""The same outside canvas sets, where a cluster is a task."""


def has_clusters(run: Run) -> bool:
    """Whether results of the run share canvases or, where it repeats, tasks."""
    return run.repeats > 1 or bool(run.representation)


def means_of(run: Run, cells: Mapping[Cell, Sums]) -> Means:
    """All means of a run: of the whole, by difficulty, task class, number of shapes, and by the latter two together."""
    sums = {
        (metric, facets, level): found
        for facets in (WHOLE, ("difficulty",), ("group",), ("n_shapes",), SURFACE)
        for (metric, level), found in added(cells.items(), partial(_level, facets)).items()
        if metric in run.metrics
    }
    if not has_clusters(run):
        return {key: interval_of(key[0], found) for key, found in sums.items()}
    gathered = {key: ClusteredSpread(found.n, found.total / found.n) for key, found in sums.items() if found.n}
    for metric in run.metrics:
        _gather(run, metric, gathered)
    return {key: interval_of(key[0], found, gathered.get(key, ())) for key, found in sums.items()}


def _gather(run: Run, metric: str, gathered: Mapping[tuple[str, Facets, Level], ClusteredSpread]) -> None:
    """Give the clusters of a metric to every mean they belong to."""
    for counted, told in TOGETHER if run.representation else TOGETHER_BY_TASK:
        for level, size, subtotal, count in cluster_counts(run, metric, *counted):
            named = dict(zip(counted, level, strict=True))
            for facets in told:
                if found := gathered.get((metric, facets, tuple(named[name] for name in facets))):
                    found.add(size, subtotal, count)


def _level(facets: Facets, cell: Cell) -> tuple[str, Level] | None:
    level = tuple(getattr(cell, name) for name in facets)
    return None if None in level or "" in level else (cell.metric, level)


def interval_of(metric: str, sums: Sums, clusters: Clusters | None = None) -> Interval:
    """A score's interval, or the t interval of a measurement such as a latency."""
    low, high = range_of(metric)
    if (low, high) != (0.0, 1.0):
        return measurement_interval(sums.n, sums.total, sums.squares, clusters=clusters, lowest=low)
    return interval_from_moments(
        sums.n,
        sums.total,
        sums.squares,
        binary=not sums.graded,
        clusters=clusters,
        total_of_cubes=sums.cubes,
        total_of_fourths=sums.fourths,
    )


def range_of(metric: str) -> tuple[float, float | None]:
    """Lowest and highest value of a metric of some run."""
    found = metric_named(metric)
    return (0.0, 1.0) if found is None else found.range


def plain(interval: Interval) -> dict[str, Any]:
    """An interval as it is stored."""
    return {
        "mean": interval.mean,
        "n": interval.n,
        "low": interval.low,
        "high": interval.high,
        "n_clusters": interval.n_clusters,
        "method": interval.method,
        "note": interval.note,
    }


def metric_numbers(run: Run, cells: Mapping[Cell, Sums], means: Means) -> dict[str, dict[str, Any]]:
    """Each metric of the run: its mean, how many results have none, by the reason, and how many of those in the mean
    were cut off or refused."""
    sums = added(cells.items(), lambda cell: cell.metric)
    numbers = {}
    for metric in run.metrics:
        found = sums.get(metric, Sums())
        mean = means.get((metric, WHOLE, ())) or interval_of(metric, found, () if has_clusters(run) else None)
        numbers[metric] = {
            **plain(mean),
            "n_not_applicable": found.unscored[Score.Status.NOT_APPLICABLE],
            "n_unparsable": found.unscored[Score.Status.UNPARSABLE],
            "n_judge_error": found.unscored[Score.Status.JUDGE_ERROR],
            "n_metric_error": found.unscored[Score.Status.METRIC_ERROR],
            "n_missing": max(run.total - found.n - found.unscored.total(), 0),
            "n_truncated": found.truncated,
            "n_refused": found.refused,
        }
    return numbers


def breakdown_of(run: Run, means: Means) -> dict[str, Any]:
    """By each facet that the run has: level → metric → its mean; and the surface over shapes and task classes."""
    breakdown: dict[str, Any] = {}
    for facet in FACETS:
        levels: dict[str, dict[str, Any]] = {}
        for metric, (level,), mean in _ordered(run, means, (facet,)):
            levels.setdefault(str(level), {})[metric] = plain(mean)
        if levels:
            breakdown[facet] = levels
    breakdown["surface"] = [
        {"n_shapes": n_shapes, "group": group, "metric": metric, **plain(mean)}
        for metric, (n_shapes, group), mean in _ordered(run, means, SURFACE)
    ]
    return breakdown


def _ordered(run: Run, means: Means, facets: Facets) -> list[tuple[str, Level, Interval]]:
    """By level, easy before hard and few shapes before many, then by the run's metrics."""
    known = {name: place for place, name in enumerate(("easy", "medium", "hard", *run.metrics))}

    def order(row: tuple[str, Level, Interval]) -> tuple[Any, ...]:
        metric, level, _ = row
        return (*((known.get(name, 0), name) for name in level), known[metric])

    found = [(metric, level, mean) for (metric, of, level), mean in means.items() if of == facets]
    return sorted(found, key=order)
