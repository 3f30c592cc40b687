"""The models of one dataset version ranked by one metric, from the stored summaries of their runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.models import COMPLETED, Dataset, DatasetVersion, Run
from benchmarks.queries.runs import runs

LATEST, BEST = "latest", "best"
MEAN, THRESHOLD = "mean", "threshold"
MOST_RUNS = 500
_THRESHOLD_RANK = {"beyond": 3, "fitted": 2, "before": 1}
"""Above the midpoint at every level, a fitted threshold, below the midpoint at every level."""


@dataclass(frozen=True, slots=True)
class Place:
    """A model (in one prompt variant) with the run that represents it, chosen from ``n_runs``."""

    run: Run
    summary: dict[str, Any]
    n_runs: int

    @property
    def threshold(self) -> dict[str, Any] | None:
        """The 50% threshold by number of shapes: over all task classes, or of the only one there is."""
        fitted = [row for row in self.run.summary.get("thresholds", ()) if row["measure"] == "n_shapes"]
        return next((row for row in fitted if not row["group"]), next(iter(fitted), None))


def ranked_datasets() -> list[Dataset]:
    """Datasets that have a completed run."""
    ranked = Run.objects.filter(status__in=COMPLETED, calibration__isnull=True).order_by().values("dataset").distinct()
    fields = ("slug", "name", "kind", "current_version__number")
    return list(Dataset.objects.filter(pk__in=ranked).select_related("current_version").only(*fields))


def ranked_versions(dataset: Dataset) -> list[DatasetVersion]:
    """Versions of the dataset that have a completed run, newest first."""
    ranked = Run.objects.filter(dataset=dataset, status__in=COMPLETED).order_by().values("dataset_version").distinct()
    return list(dataset.versions.filter(pk__in=ranked).only("number", "dataset", "facets").order_by("-number"))


def whole_runs(version: DatasetVersion) -> list[Run]:
    """The latest completed runs over all task classes of a version; runs on part of the tasks are not comparable."""
    completed = runs().filter(dataset_version=version, status__in=COMPLETED, limit=None)[:MOST_RUNS]
    # A run that lists all task classes by name is as comparable as one that lists none.
    classes = set(version.facets.get("group", ()))
    return [run for run in completed if not run.task_classes or classes <= set(run.task_classes)]


def places(candidates: list[Run], metric: str, choose: str = LATEST, rank: str = MEAN) -> list[Place]:
    """One place for each model and prompt variant, best first by ``rank``. ``candidates`` come newest first."""
    groups: dict[tuple[str, str, bool, str], list[Run]] = {}
    for run in candidates:
        if run.summary.get("metrics", {}).get(metric, {}).get("mean") is not None:
            groups.setdefault((run.model_label, run.representation, run.few_shot, run.judge_model), []).append(run)

    def mean(run: Run) -> float:
        return float(run.summary["metrics"][metric]["mean"])

    chosen = [(max(group, key=mean) if choose == BEST else group[0], len(group)) for group in groups.values()]
    ranked = [Place(run, run.summary["metrics"][metric], n_runs) for run, n_runs in chosen]
    ranked.sort(key=lambda place: -place.summary["mean"])
    # Sorting is stable, so equal thresholds stay in the order of their means.
    return sorted(ranked, key=_threshold_key, reverse=True) if rank == THRESHOLD else ranked


def _threshold_key(place: Place) -> tuple[int, float]:
    row = place.threshold
    return (0, 0.0) if row is None else (_THRESHOLD_RANK.get(row["status"], 0), row["threshold"] or 0.0)
