"""The weighted mean of a run: a second figure beside the strict mean, where the dataset's weights differ."""

from __future__ import annotations

from typing import Any

from benchmarks.analysis.sums import cluster_sums
from benchmarks.engine.summary.means import range_of, stored
from benchmarks.models import Run
from benchmarks.statistics.weighted import WeightedCluster, weighted_mean


def weighted_numbers(run: Run, metric: str) -> dict[str, Any]:
    """The interval and ``n_effective``; empty without weights, of part of the tasks, and of a measurement."""
    if not run.dataset_version.facets.get("weights") or run.subset_design or range_of(metric) != (0.0, 1.0):
        return {}
    mean = weighted_mean(
        WeightedCluster(n, weight * n, weight * total, weight * squares)
        for _, weight, n, total, squares in cluster_sums(run, metric, "task__weight")
    )
    return {**stored(mean.interval), "n_effective": mean.n_effective}
