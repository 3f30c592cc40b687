"""Attending to runs: one visit of a worker to a run, and the search for runs that want for workers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from benchmarks.engine import shifts, transitions
from benchmarks.engine.clerk import STOPPING, Clerk
from benchmarks.engine.closing import TO_DO, close_if_over
from benchmarks.engine.patience import DATABASE_AWAY, patiently
from benchmarks.engine.preparing import prepare_run
from benchmarks.models import Result, ResultState, Run, RunStatus, Shift
from benchmarks.tracing import span

logger = logging.getLogger(__name__)

UNATTENDED_AFTER = timedelta(seconds=3)
"""How long a fresh run may wait for the message that announced it before the sweep rings for it again."""

Ring = Callable[[int], object]
"""Calls one more worker to a run."""


def attend(run_id: int, ring: Ring = lambda run_id: None) -> list[int]:
    """Visit a run as ``_visit`` says, in a span of its own."""
    with span("run", codeforge__run=run_id):
        return _visit(run_id, ring)


def _visit(run_id: int, ring: Ring) -> list[int]:
    """Visit a run: prepare it where it is queued, work a shift on it, close it when nothing is left.

    ``ring`` is called for each further shift that a run just prepared can keep busy. Returns the id of the run where
    a worker should come again.
    """
    run = Run.objects.select_related("dataset_version").filter(pk=run_id).first()
    if run is None or STOPPING.is_set():
        return []
    if run.status in (RunStatus.QUEUED, RunStatus.PREPARING):
        if not _prepare(run):
            patiently(lambda: close_if_over(run_id), f"run {run_id}")
            return []
        for _ in range(1, shifts_wanted(run)):
            ring(run_id)
    again = _work(run_id)
    over = patiently(lambda: close_if_over(run_id), f"run {run_id}")
    return [run_id] if again or (not over and patiently(lambda: _was_extended(run_id), f"run {run_id}")) else []


def unattended_runs() -> list[int]:
    """End dead shifts, settle runs that are over, and return those that need workers, once for each worker."""
    shifts.end_dead_shifts()
    for run_id in _unsettled():
        close_if_over(run_id)
    fresh = Q(status=RunStatus.QUEUED, created_at__gt=timezone.now() - UNATTENDED_AFTER)
    unprepared = Run.objects.filter(status__in=(RunStatus.QUEUED, RunStatus.PREPARING), shifts=None).exclude(fresh)
    running = Run.objects.filter(Exists(_results_in(WAITING)), status=RunStatus.RUNNING)
    return sorted(
        [
            *unprepared.values_list("id", flat=True),
            *(run.pk for run in running for _ in range(shifts.shifts_missing(run))),
        ]
    )


def _was_extended(run_id: int) -> bool:
    """Whether an adaptive run got more to do, and nobody is at it."""
    adaptive = Run.objects.filter(pk=run_id, status=RunStatus.RUNNING, target_half_width__isnull=False, shifts=None)
    return adaptive.filter(Exists(_results_in(WAITING))).exists()


WAITING = (ResultState.PENDING, ResultState.ANSWERED)


def _results_in(states: tuple[ResultState, ...]) -> QuerySet[Result]:
    """Of the run of the query around it."""
    return Result.objects.filter(run=OuterRef("pk"), state__in=states).order_by()


def _unsettled() -> list[int]:
    """Runs that nobody works on: stopped ones not settled yet, and running ones of which nothing is left."""
    alone = Run.objects.filter(shifts=None)
    to_do = Exists(_results_in(TO_DO))
    unsettled = Q(to_do) | Q(summarised_at=None)
    stopped = alone.filter(unsettled, status__in=(RunStatus.FAILED, RunStatus.CANCELLED))
    finished = alone.filter(~to_do, status=RunStatus.RUNNING, total__gt=0)
    return [*stopped.values_list("pk", flat=True), *finished.values_list("pk", flat=True)]


def _prepare(run: Run) -> bool:
    shift = patiently(lambda: shifts.open_shift(run.pk, preparing=True), f"run {run.pk}")
    if shift is None:
        return False
    try:
        return prepare_run(run, lambda: not STOPPING.is_set() and shifts.beat(shift) and _is_preparing(run.pk))
    except DATABASE_AWAY:
        raise
    except Exception:
        logger.exception("run %s could not be prepared", run.pk)
        transitions.fail(run.pk, "Preparing the run failed; the worker's log has the details.")
        raise
    finally:
        shifts.leave(shift)
        patiently(lambda: shifts.close_shift(shift.pk), f"run {run.pk}")


def _is_preparing(run_id: int) -> bool:
    return Run.objects.filter(pk=run_id, status=RunStatus.PREPARING).exists()


def _work(run_id: int) -> bool:
    """Work one shift on a run, if it needs one. Returns whether a worker should come again."""
    shift = patiently(lambda: shifts.open_shift(run_id), f"run {run_id}")
    if shift is None:
        return False
    try:
        clerk = _clerk_for(shift)
        if clerk is None:
            return False
        with span("shift", codeforge__run=run_id, codeforge__lanes=shift.lanes):
            clerk.work()
    except DATABASE_AWAY:
        raise  # the database was away for longer than anyone waits for it: no fault of the run, and a sweep resumes it
    except Exception:
        logger.exception("run %s: a shift ended with an error", run_id)
        transitions.fail(run_id, "A worker met an unexpected error; its log has the details. Resume to go on.")
        raise
    finally:
        shifts.leave(shift)
        patiently(lambda: shifts.close_shift(shift.pk), f"run {run_id}")
    return patiently(lambda: _wants_more(run_id, clerk), f"run {run_id}")


def _clerk_for(shift: Shift) -> Clerk | None:
    """The clerk; ``None`` where the run's model or judge cannot be reached as configured, which fails the run."""
    run = Run.objects.select_related("dataset_version").get(pk=shift.run_id)
    try:
        return Clerk(run, shift)
    except ValueError as error:
        transitions.fail(run.pk, str(error))
        return None


def _wants_more(run_id: int, clerk: Clerk) -> bool:
    """Whether something waits that a further shift would take up.

    One that ended for want of budget leaves it to those still at work: the last of them pauses the run.
    """
    run = Run.objects.filter(Exists(_results_in(WAITING)), pk=run_id, status=RunStatus.RUNNING).first()
    return run is not None and not (clerk.out_of_budget and run.shifts.exists())


def shifts_wanted(run: Run) -> int:
    """How many shifts a run of that concurrency keeps busy."""
    return max(1, -(-run.concurrency // shifts.LANES_PER_SHIFT))
