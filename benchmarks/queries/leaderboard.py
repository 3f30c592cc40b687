"""The models of one dataset version ranked by one metric, from the stored summaries of their runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.models import COMPLETED, Dataset, DatasetVersion, Run
from benchmarks.queries.runs import runs

LATEST, BEST = "latest", "best"
MEAN, THRESHOLD = "mean", "threshold"
MOST_RUNS = 500


@dataclass(frozen=True, slots=True)
class Place:
    """A model (asked in one way) with the run that stands for it, chosen out of ``n_runs``."""

    run: Run
    summary: dict[str, Any]
    n_runs: int

    @property
    def threshold(self) -> dict[str, Any] | None:
        """The number of shapes at which the model is half way, over all task classes (or the only one there is)."""
        found = [one for one in self.run.summary.get("thresholds", ()) if one["measure"] == "n_shapes"]
        together = [one for one in found if not one["group"]]
        return next(iter(together or found), None)


def ranked_datasets() -> list[Dataset]:
    """Datasets that have a completed run."""
    ranked = Run.objects.filter(status__in=COMPLETED).order_by().values("dataset").distinct()
    return list(Dataset.objects.filter(pk__in=ranked).select_related("current_version").only(
        "slug", "name", "kind", "current_version__number"
    ))  # fmt: skip


def ranked_versions(dataset: Dataset) -> list[DatasetVersion]:
    """Versions of the dataset that have a completed run, newest first."""
    ranked = Run.objects.filter(dataset=dataset, status__in=COMPLETED).order_by().values("dataset_version").distinct()
    return list(dataset.versions.filter(pk__in=ranked).only("number", "dataset", "facets").order_by("-number"))


def whole_runs(version: DatasetVersion) -> list[Run]:
    """The latest completed runs over all task classes of a version; one over part of the tasks is not comparable."""
    completed = runs().filter(dataset_version=version, status__in=COMPLETED, limit=None)[:MOST_RUNS]
    classes = set(version.facets.get("group", ()))
    return [run for run in completed if not run.task_classes or classes <= set(run.task_classes)]


def places(candidates: list[Run], metric: str, choose: str = LATEST, rank: str = MEAN) -> list[Place]:
    """One place for each model and way of asking, best first by ``rank``. ``candidates`` come newest first."""
    groups: dict[tuple[str, str, bool, str], list[Run]] = {}
    for run in candidates:
        if run.summary.get("metrics", {}).get(metric, {}).get("mean") is not None:
            groups.setdefault((run.model_label, run.representation, run.few_shot, run.judge_model), []).append(run)
    found = []
    for group in groups.values():
        run = max(group, key=lambda run: _mean(run, metric)) if choose == BEST else group[0]
        found.append(Place(run, run.summary["metrics"][metric], len(group)))
    by_mean = sorted(found, key=lambda place: -place.summary["mean"])
    return sorted(by_mean, key=_how_far, reverse=True) if rank == THRESHOLD else by_mean


_FAR = {"beyond": 3, "fitted": 2, "before": 1}


def _how_far(place: Place) -> tuple[int, float]:
    """Better than half way throughout, by the fitted threshold, worse throughout, and last where none can be told."""
    found = place.threshold
    return (0, 0.0) if found is None else (_FAR.get(found["status"], 0), found["threshold"] or 0.0)


def _mean(run: Run, metric: str) -> float:
    return float(run.summary["metrics"][metric]["mean"])
