"""Attending to runs: one visit of a worker to a run, and the search for runs that want for workers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Sum
from django.utils import timezone

from benchmarks.engine import lease as leases
from benchmarks.engine.execution import lifecycle
from benchmarks.engine.execution.db_retry import DATABASE_UNAVAILABLE, retry_db
from benchmarks.engine.execution.executor import STOPPING, RunExecutor
from benchmarks.engine.execution.finishing import TO_DO, close_if_over
from benchmarks.engine.execution.preparing import prepare_run
from benchmarks.engine.execution.result_store import give_back_claims
from benchmarks.models import Lease, Result, ResultState, Run, RunStatus
from benchmarks.tracing import span

logger = logging.getLogger(__name__)

SLOTS_PER_LEASE = 128
"""Requests that one worker thread keeps in flight; a run of higher concurrency is shared by several."""
ENQUEUE_AGAIN_AFTER = timedelta(seconds=3)
"""How long a fresh run may wait for the message that announced it before the sweep rings for it again."""

Enqueue = Callable[[int], object]
"""Calls one more worker to a run."""


def work_on_run_once(run_id: int, enqueue: Enqueue = lambda run_id: None) -> list[int]:
    """Visit a run as ``_visit`` says, in a span of its own."""
    with span("run", codeforge__run=run_id):
        return _visit(run_id, enqueue)


def _visit(run_id: int, enqueue: Enqueue) -> list[int]:
    """Visit a run: prepare it where it is queued, work a shift on it, close it when nothing is left.

    ``ring`` is called for each further shift that a run just prepared can keep busy. Returns the id of the run where
    a worker should come again.
    """
    run = Run.objects.select_related("dataset_version").filter(pk=run_id).first()
    if run is None or STOPPING.is_set():
        return []
    if run.status in (RunStatus.QUEUED, RunStatus.PREPARING):
        if not _prepare(run):
            retry_db(lambda: close_if_over(run_id), f"run {run_id}")
            return []
        for _ in range(1, leases_wanted(run)):
            enqueue(run_id)
    again = _work(run_id)
    over = retry_db(lambda: close_if_over(run_id), f"run {run_id}")
    return [run_id] if again or (not over and retry_db(lambda: _was_extended(run_id), f"run {run_id}")) else []


def runs_without_worker() -> list[int]:
    """End dead shifts, settle runs that are over, and return those that need workers, once for each worker."""
    leases.release_expired(give_back_claims)
    for run_id in _unsettled():
        close_if_over(run_id)
    fresh = Q(status=RunStatus.QUEUED, created_at__gt=timezone.now() - ENQUEUE_AGAIN_AFTER)
    unprepared = Run.objects.filter(status__in=(RunStatus.QUEUED, RunStatus.PREPARING), leases=None).exclude(fresh)
    running = Run.objects.filter(Exists(_results_in(WAITING)), status=RunStatus.RUNNING)
    return sorted(
        [
            *unprepared.values_list("id", flat=True),
            *(run.pk for run in running for _ in range(leases_missing(run))),
        ]
    )


def _was_extended(run_id: int) -> bool:
    """Whether an adaptive run got more to do, and nobody is at it."""
    adaptive = Run.objects.filter(pk=run_id, status=RunStatus.RUNNING, target_half_width__isnull=False, leases=None)
    return adaptive.filter(Exists(_results_in(WAITING))).exists()


WAITING = (ResultState.PENDING, ResultState.ANSWERED)


def _results_in(states: tuple[ResultState, ...]) -> QuerySet[Result]:
    """Of the run of the query around it."""
    return Result.objects.filter(run=OuterRef("pk"), state__in=states).order_by()


def _unsettled() -> list[int]:
    """Runs that nobody works on: stopped ones not settled yet, and running ones of which nothing is left."""
    alone = Run.objects.filter(leases=None)
    to_do = Exists(_results_in(TO_DO))
    unsettled = Q(to_do) | Q(summarized_at=None)
    stopped = alone.filter(unsettled, status__in=(RunStatus.FAILED, RunStatus.CANCELLED))
    finished = alone.filter(~to_do, status=RunStatus.RUNNING, total__gt=0)
    return [*stopped.values_list("pk", flat=True), *finished.values_list("pk", flat=True)]


def _prepare(run: Run) -> bool:
    lease = retry_db(lambda: lease_run(run.pk, preparing=True), f"run {run.pk}")
    if lease is None:
        return False
    try:
        with leases.held(lease, give_back_claims):
            return prepare_run(run, lambda: not STOPPING.is_set() and leases.heartbeat(lease) and _is_preparing(run.pk))
    except DATABASE_UNAVAILABLE:
        raise
    except Exception:
        logger.exception("run %s could not be prepared", run.pk)
        lifecycle.fail(run.pk, "Preparing the run failed; the worker's log has the details.")
        raise


def _is_preparing(run_id: int) -> bool:
    return Run.objects.filter(pk=run_id, status=RunStatus.PREPARING).exists()


def _work(run_id: int) -> bool:
    """Work one shift on a run, if it needs one. Returns whether a worker should come again."""
    lease = retry_db(lambda: lease_run(run_id), f"run {run_id}")
    if lease is None:
        return False
    try:
        with leases.held(lease, give_back_claims):
            executor = _executor_for(run_id, lease)
            if executor is None:
                return False
            with span("lease", codeforge__run=run_id, codeforge__slots=lease.slots):
                executor.work()
    except DATABASE_UNAVAILABLE:
        raise  # the database was away for longer than anyone waits for it: no fault of the run, and a sweep resumes it
    except Exception:
        logger.exception("run %s: a shift ended with an error", run_id)
        lifecycle.fail(run_id, "A worker met an unexpected error; its log has the details. Resume to go on.")
        raise
    return retry_db(lambda: _wants_more(run_id, executor), f"run {run_id}")


def _executor_for(run_id: int, lease: Lease) -> RunExecutor | None:
    """The executor; ``None`` where the run's model or judge cannot be reached as configured, which fails the run."""
    run = Run.objects.select_related("dataset_version").get(pk=run_id)
    try:
        return RunExecutor(run, lease)
    except ValueError as error:
        lifecycle.fail(run.pk, str(error))
        return None


def _wants_more(run_id: int, executor: RunExecutor) -> bool:
    """Whether something waits that a further shift would take up.

    One that ended for want of budget leaves it to those still at work: the last of them pauses the run.
    """
    run = Run.objects.filter(Exists(_results_in(WAITING)), pk=run_id, status=RunStatus.RUNNING).first()
    return run is not None and not (executor.out_of_budget and run.leases.exists())


def lease_run(run_id: int, *, preparing: bool = False) -> Lease | None:
    """Acquire a lease on a run; ``None`` if it needs no (further) worker: wrong status, or all its slots are taken."""
    wanted = (RunStatus.QUEUED, RunStatus.PREPARING) if preparing else (RunStatus.RUNNING,)
    with transaction.atomic():
        # The lock makes workers that come at once add up their slots one after the other.
        run = Run.objects.select_for_update().filter(pk=run_id, status__in=wanted).first()
        if run is None:
            return None
        slots = 0 if preparing else min(SLOTS_PER_LEASE, run.concurrency - _slots_taken(run))
        if slots < 1 and (not preparing or run.leases.exists()):
            return None
        return leases.acquire(f"run {run_id}", run=run, slots=slots)


def leases_missing(run: Run) -> int:
    """How many more leases would use all the slots of a run."""
    return max(0, -(-(run.concurrency - _slots_taken(run)) // SLOTS_PER_LEASE))


def _slots_taken(run: Run) -> int:
    return run.leases.aggregate(slots=Sum("slots"))["slots"] or 0


def leases_wanted(run: Run) -> int:
    """How many shifts a run of that concurrency keeps busy."""
    return max(1, -(-run.concurrency // SLOTS_PER_LEASE))
