"""The weighted mean of a run: a second figure beside the strict mean, where the dataset's weights differ."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, F, Sum

from benchmarks.engine.summary.means import FETCHED, range_of, scored_rows, stored
from benchmarks.models import Run
from benchmarks.statistics.weighted import WeightedCluster, weighted_mean


def weighted_numbers(run: Run, metric: str) -> dict[str, Any]:
    """The interval and ``n_effective``; empty without weights, of part of the tasks, and of a measurement."""
    if not run.dataset_version.facets.get("weights") or run.subset_design or range_of(metric) != (0.0, 1.0):
        return {}
    rows, at = scored_rows(run, metric)
    tasks = (
        rows.order_by(f"{at}cluster")
        .values_list(f"{at}cluster", f"{at}task__weight")
        .annotate(n=Count("pk"), total=Sum("value"), squares=Sum(F("value") * F("value")))
    )
    mean = weighted_mean(
        WeightedCluster(n, weight * n, weight * total, weight * squares)
        for _, weight, n, total, squares in tasks.iterator(chunk_size=FETCHED)
    )
    return {**stored(mean.interval), "n_effective": mean.n_effective}
