"""Reads of judge calibrations. A calibration is a run whose tasks carry answers with known truth."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Max, QuerySet

from benchmarks.models import COMPLETED, Run, RunKind
from benchmarks.queries.runs import turns
from benchmarks.summary import Agreement
from tasks_app.models import CanvasSet


def calibrations() -> QuerySet[Run]:
    """All calibrations, newest first, without what only the run's own page shows."""
    runs = Run.objects.filter(kind=RunKind.CALIBRATION).select_related("dataset__known_answers_of", "dataset_version")
    runs = runs.defer("breakdown", "environment", "dataset__known_answers_of__audit", "dataset_version__facets")
    return runs.annotate(**turns())


def calibration_detail(pk: int) -> Run:
    """Raises ``Run.DoesNotExist``."""
    return calibrations().select_related("created_by").get(pk=pk)


def latest_calibrations(judge_model: str) -> dict[str, Run]:
    """Metric → the latest completed calibration of a judge for it; metrics without one are left out. One query."""
    return {metric: run for (_, metric), run in latest_calibrations_of([judge_model]).items()}


def latest_calibrations_of(judges: Collection[str]) -> dict[tuple[str, str], Run]:
    """Judge and metric → the latest completed calibration; those without one are left out. One query."""
    completed = Run.objects.filter(kind=RunKind.CALIBRATION, judge_model__in=judges, status__in=COMPLETED)
    latest = completed.order_by().values("judge_model", "metrics").annotate(latest=Max("id")).values("latest")
    return {(run.judge_model, run.metrics[0]): run for run in calibrations().filter(pk__in=latest)}


def answers_to_judge(run: Run) -> int:
    """The number of answers that a calibration sends to the judge, counting repeats, also before it is prepared."""
    return run.total or run.dataset_version.task_count * run.repeats


def agreement_of(run: Run) -> Agreement | None:
    """The numbers of a completed calibration; ``None`` for all others."""
    return run.numbers.agreement if run.status in COMPLETED else None


def usable_canvas_sets() -> list[CanvasSet]:
    """The canvas sets that judges can be calibrated on, newest first."""
    return list(CanvasSet.objects.filter(dataset__current_version__isnull=False).only("slug", "name").order_by("-id"))
