"""The gap between two models that the tasks of a dataset can show, before any have run."""

from __future__ import annotations

from functools import lru_cache

from benchmarks.models import Dataset
from benchmarks.statistics.planning import PairedDesign, detectable_difference

DISCORDANCE = 0.3
"""The share of tasks on which two runs differ, if no earlier runs give an estimate."""
CANVAS_CORRELATION = 0.1
"""The correlation of the differences of questions about one canvas, if nothing better is known."""


@lru_cache(1_000)  # a list of benchmarks asks for each of them
def gap_shown(n_tasks: int, per_cluster: float = 1.0, pairs: int = 1) -> float | None:
    """The smallest difference that shows between any two candidates without earlier runs; ``None``: none."""
    return detectable_difference(n_tasks, paired_design(per_cluster, pairs))


def paired_design(per_cluster: float = 1.0, pairs: int = 1) -> PairedDesign:
    """What is assumed without earlier runs. As strict as the first step of Holm's correction for all ``pairs``."""
    return PairedDesign(
        discordance=DISCORDANCE,
        tasks_per_cluster=per_cluster,
        cluster_correlation=CANVAS_CORRELATION if per_cluster > 1 else 0.0,
        confidence=1 - 0.05 / pairs,
    )


def tasks_per_cluster(dataset: Dataset) -> float:
    """How many tasks share a canvas or another cluster; 1 without either."""
    version, canvases = dataset.current_version, dataset.canvas_set
    if version is None:
        return 1.0
    clusters = canvases.count if canvases else version.facets.get("clusters")
    return max(1.0, version.task_count / clusters) if clusters else 1.0
