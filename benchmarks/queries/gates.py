"""Reads of series of gates: their checks, and the run that those of a schedule are held against."""

from __future__ import annotations

from django.db.models import Prefetch, QuerySet

from benchmarks.models import COMPLETED, GateCheck, GateSeries, Run, ScheduledRun
from benchmarks.queries.schedules import MAX_EARLIER_RUNS, settings_of

MOST_CHECKS = 200
"""The latest checks of a series that are read."""
_LATEST: str = "latest_checks"  # no literal in place: the model declares the attribute for its readers


def gate_series() -> QuerySet[GateSeries]:
    """All series by name, each with its ``latest_checks``, the latest first."""
    checks = GateCheck.objects.order_by("-pk")
    return GateSeries.objects.select_related("schedule").prefetch_related(
        Prefetch("checks", checks[:MOST_CHECKS], to_attr=_LATEST)
    )


def series_named(name: str) -> GateSeries:
    """Raises ``GateSeries.DoesNotExist``."""
    return gate_series().get(name=name)


def series_of_schedule(pk: int) -> GateSeries | None:
    """``None`` before the schedule's first check."""
    return gate_series().filter(schedule=pk).first()


def reference_run(scheduled: ScheduledRun, series: GateSeries) -> Run | None:
    """The first completed run of the schedule's period that asks the same version in the same way; ``None`` if this
    run is the first."""
    before = ScheduledRun.objects.filter(schedule=scheduled.schedule_id, pk__lt=scheduled.pk)
    completed = before.filter(run__status__in=COMPLETED, run__created_at__gte=series.begun_at)
    own, first = settings_of(scheduled.run), None
    for each in completed.select_related("run__dataset_version").order_by("-pk")[:MAX_EARLIER_RUNS]:
        if settings_of(each.run) != own:
            break
        first = each.run
    return first
