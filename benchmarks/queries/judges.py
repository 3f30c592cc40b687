"""Reads of what was measured of judges."""

from __future__ import annotations

from django.db.models import Max, QuerySet

from benchmarks.models import JudgeCalibration
from tasks_app.models import CanvasSet


def calibrations() -> QuerySet[JudgeCalibration]:
    """All calibrations, newest first."""
    return JudgeCalibration.objects.select_related("canvas_set").defer("canvas_set__audit")


def calibration_detail(pk: int) -> JudgeCalibration:
    """Raises ``JudgeCalibration.DoesNotExist``."""
    return calibrations().select_related("created_by").get(pk=pk)


def latest_calibration(judge_model: str, metric: str | None = None) -> JudgeCalibration | None:
    """The newest completed calibration of a judge, of one metric where one is named; ``None`` where there is none."""
    completed = calibrations().filter(judge_model=judge_model, status=JudgeCalibration.Status.COMPLETED)
    return (completed.filter(metric=metric) if metric else completed).first()


def latest_by_metric(judge_model: str) -> dict[str, JudgeCalibration]:
    """Metric → the newest completed calibration of a judge for it, in one query; those without one are left out."""
    completed = JudgeCalibration.objects.filter(judge_model=judge_model, status=JudgeCalibration.Status.COMPLETED)
    newest = completed.order_by().values("metric").annotate(newest=Max("id")).values("newest")
    return {found.metric: found for found in calibrations().filter(pk__in=newest)}


def canvas_sets_to_examine_on() -> list[CanvasSet]:
    """The canvas sets whose questions can be asked, newest first."""
    return list(CanvasSet.objects.filter(dataset__current_version__isnull=False).only("slug", "name").order_by("-id"))
