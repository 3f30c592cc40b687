"""Means with their intervals: of a run's metrics, and by difficulty, task class and number of shapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

from benchmarks.analysis.sums import Cell, Sums, added, cluster_counts, cluster_sums, expected_weight
from benchmarks.metrics.registered_metrics import metric_named
from benchmarks.models import Run
from benchmarks.statistics.intervals import Clusters, Interval, interval_from_moments, measurement_interval
from benchmarks.statistics.spread import ClusteredSpread, are_equal
from benchmarks.statistics.weighted import WeightedPart, weighted_mean
from benchmarks.summary import Counted, Weighted

Facets = tuple[str, ...]
Level = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Mean:
    """The strict mean with its interval: faults of answers count as the lowest value. ``sums`` say what is in it."""

    interval: Interval
    sums: Sums

    @property
    def counted(self) -> Counted:
        """The interval, the N of its n, and the share n / N; ``None`` if N is 0."""
        return Counted.of(self.interval, n_expected=self.sums.expected, coverage=self.coverage)

    @property
    def coverage(self) -> float | None:
        return self.interval.n / self.sums.expected if self.sums.expected else None


Means = dict[tuple[str, Facets, Level], Mean]
"""Metric, facets and the level of each of them → the mean there. For the whole run both are empty."""

WHOLE: Facets = ()
SURFACE: Facets = ("n_shapes", "group")
CANVAS_COUNTS: tuple[tuple[Facets, tuple[Facets, ...]], ...] = (
    (("difficulty",), (("difficulty",),)),
    (("n_shapes",), (WHOLE, ("n_shapes",))),
    (SURFACE, (("group",), SURFACE)),
)
"""Facets by which clusters are counted, and the facets whose means use these counts. A canvas has one number of shapes,
so the counts by it also add up to those of the whole run."""
TASK_COUNTS: tuple[tuple[Facets, tuple[Facets, ...]], ...] = (
    (WHOLE, (WHOLE,)),
    (("difficulty",), (("difficulty",),)),
)
"""The same outside canvas sets, where a cluster is a task, or several of any difficulty."""


def means_of(run: Run, cells: Mapping[Cell, Sums]) -> Means:
    """All means of a run: of the whole, by difficulty, task class, number of shapes, and by the latter two together."""
    sums = {
        (metric, facets, level): group
        for facets in (WHOLE, ("difficulty",), ("group",), ("n_shapes",), SURFACE)
        for (metric, level), group in added(cells, partial(_level, facets)).items()
        if metric in run.all_metrics
    }
    if not run.has_clusters:
        return {key: Mean(interval_of(key[0], group), group) for key, group in sums.items()}
    spreads = {key: ClusteredSpread(group.n, group.mean) for key, group in sums.items() if group.n}
    for metric in run.all_metrics:
        _add_clusters(run, metric, spreads)
    return {key: Mean(interval_of(key[0], group, spreads.get(key, ())), group) for key, group in sums.items()}


def _level(facets: Facets, cell: Cell) -> tuple[str, Level] | None:
    level = tuple(getattr(cell, name) for name in facets)
    return None if None in level or "" in level else (cell.metric, level)


def _add_clusters(run: Run, metric: str, spreads: Mapping[tuple[str, Facets, Level], ClusteredSpread]) -> None:
    """Add the clusters of a metric to every mean they belong to."""
    for counted, used in CANVAS_COUNTS if run.has_canvases else TASK_COUNTS:
        for level, size, subtotal, count in cluster_counts(run, metric, counted):
            named = dict(zip(counted, level, strict=True))
            for facets in used:
                if spread := spreads.get((metric, facets, tuple(named[name] for name in facets))):
                    spread.add(size, subtotal, count)


def interval_of(metric: str, sums: Sums, clusters: Clusters | None = None) -> Interval:
    """A score's interval, or the t interval of a measurement such as a latency."""
    low, high = range_of(metric)
    if (low, high) != (0.0, 1.0):
        return measurement_interval(sums, clusters, lowest=low)
    return interval_from_moments(sums, clusters)


def range_of(metric: str) -> tuple[float, float | None]:
    """Lowest and highest value of a metric; 0 to 1 if it no longer exists."""
    known = metric_named(metric)
    return (0.0, 1.0) if known is None else known.range


def weighted_numbers(run: Run, metric: str) -> Weighted | None:
    """``None`` without weights, of part of the tasks, and of a measurement."""
    if not run.dataset_version.facets.get("weights") or run.subset_design or range_of(metric) != (0.0, 1.0):
        return None
    rows = groupby(cluster_sums(run, metric, "task__weight"), key=itemgetter(0))
    mean = weighted_mean(
        [WeightedPart(n, weight * n, weight * total, weight * squares) for _, weight, n, total, squares in parts]
        for _, parts in rows
    )
    lowest, expected = mean.interval.mean, expected_weight(run, metric)
    # Weights that add up in another order differ in the last place.
    if lowest is not None and not are_equal(mean.weight / expected, 1.0):
        lowest *= mean.weight / expected
    return Weighted.of(mean.interval, n_effective=mean.n_effective, if_missing_wrong=lowest)
