"""Means of a run by the tags and metadata of its tasks."""

from __future__ import annotations

from collections import defaultdict

from django.db.models import Count

from benchmarks.analysis.sums import Sums, score_sums
from benchmarks.engine.summary.means import Mean, interval_of
from benchmarks.models import Run
from benchmarks.statistics.spread import ClusteredSpread
from benchmarks.summary import Counted


def label_breakdown(run: Run) -> dict[str, dict[str, dict[str, Counted]]]:
    """Key of the tasks' labels → value → metric → its mean, for the keys and values that the version counts."""
    counted = run.dataset_version.facets.get("labels", {})
    if not counted:
        return {}
    levels_of = defaultdict(list)
    clusters: dict[int, str] = {}
    labeled = run.dataset_version.tasks.filter(labels__isnull=False)
    for task, labels, cluster in labeled.values_list("pk", "labels", "cluster"):
        clusters[task] = cluster or str(task)
        for key, _, value in (label.partition(": ") for label in labels or ()):
            if value in counted.get(key, ()):
                levels_of[task].append((key, value))
    parts: dict[tuple[str, str, str], list[tuple[str, Sums]]] = defaultdict(list)
    sums_of: dict[tuple[int, str], Sums] = {}
    for task, n in run.results.order_by().values_list("task_id").annotate(n=Count("pk")):
        for metric in run.all_metrics:
            sums_of[task, metric] = Sums(results=n)
            for key, value in levels_of[task]:
                parts[key, value, metric].append((clusters[task], sums_of[task, metric]))
    for metric, task, sums in score_sums(run, "task_id"):
        if (task, metric) in sums_of:
            sums_of[task, metric].add(sums)
    return {
        key: {
            value: {metric: _mean(run, metric, parts[key, value, metric]).counted for metric in run.all_metrics}
            for value in values
            if (key, value, run.headline) in parts
        }
        for key, values in counted.items()
    }


def _mean(run: Run, metric: str, tasks: list[tuple[str, Sums]]) -> Mean:
    """The mean over tasks, given with their clusters."""
    total = Sums()
    by_cluster: dict[str, Sums] = defaultdict(Sums)
    for cluster, sums in tasks:
        total.add(sums)
        by_cluster[cluster].add(sums)
    if not run.has_clusters or not total.n:
        return Mean(interval_of(metric, total), total)
    spread = ClusteredSpread(total.n, total.mean)
    for sums in by_cluster.values():
        if sums.n:
            spread.add(sums.n, sums.total, 1)
    return Mean(interval_of(metric, total, spread), total)
