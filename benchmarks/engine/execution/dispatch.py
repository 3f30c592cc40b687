"""Decide who works on which run: leases with slots, and what a worker does with a run that a job or a sweep names."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import ceil

from django.db import transaction
from django.db.models import Exists, QuerySet, Sum

from benchmarks.engine import lease as leases
from benchmarks.engine.db_retry import DATABASE_UNAVAILABLE, retry_db
from benchmarks.engine.execution import lifecycle
from benchmarks.engine.execution.executor import STOPPING, RunExecutor
from benchmarks.engine.execution.finishing import close_if_over, results_in
from benchmarks.engine.execution.preparing import prepare_run
from benchmarks.engine.execution.result_store import give_back_claims
from benchmarks.models import WAITING, Lease, Run, RunStatus
from benchmarks.tracing import span

logger = logging.getLogger(__name__)

SLOTS_PER_LEASE = 128
"""Requests that one worker thread keeps in flight. A run of higher concurrency is shared by several."""


def work_on_run_once(run_id: int, enqueue: Callable[[int], object] = lambda run_id: None) -> bool:
    """Prepare a run if it is queued, work on it under one lease, and finish it if nothing is left.

    Calls ``enqueue`` for each further worker that a run just prepared can use. Returns whether a worker should come
    again.
    """
    what = f"run {run_id}"
    with span("run", codeforge__run=run_id):
        run = Run.objects.select_related("dataset_version").filter(pk=run_id).first()
        if run is None or STOPPING.is_set():
            return False
        preparing = run.status in (RunStatus.QUEUED, RunStatus.PREPARING)
        lease = retry_db(lambda: lease_run(run_id, preparing=preparing), what)
        executor = None
        if lease is not None:
            with leases.held(lease, give_back_claims):
                if not preparing or _prepare(run, lease, enqueue):
                    executor = _execute(run_id, lease)
        again = executor is not None and _wants_more(executor)
        # Only after the lease is released: whoever finds no lease left finishes the run. One that was stopped while it
        # was prepared is settled here, too, or nobody would before the next sweep.
        over = retry_db(lambda: close_if_over(run_id), what)
        # Instead of being over, an adaptive run may have got more results, which nobody works on yet.
        extended = _waiting(run_id).filter(target_half_width__isnull=False, leases=None)
        return again or (not over and retry_db(extended.exists, what))


def lease_run(run_id: int, *, preparing: bool = False) -> Lease | None:
    """Acquire a lease on a run; ``None`` if it needs no (further) worker: wrong status, or all its slots are taken.

    Only one worker may prepare, so that results are counted and the judge is tried once; it then works on the run.
    """
    allowed = (RunStatus.QUEUED, RunStatus.PREPARING) if preparing else (RunStatus.RUNNING,)
    lease = None
    try:
        with transaction.atomic():
            # The lock makes workers that come at the same time add up their slots one after the other.
            run = Run.objects.select_for_update().filter(pk=run_id, status__in=allowed).first()
            if run is None or (preparing and run.leases.exists()):
                return None
            taken = run.leases.aggregate(slots=Sum("slots", default=0))["slots"]
            slots = min(SLOTS_PER_LEASE, run.concurrency - taken)
            if slots < 1:
                return None
            lease = leases.acquire(f"run {run_id}", run=run, slots=slots)
    except DATABASE_UNAVAILABLE:
        if lease is not None:
            leases.leave(lease)  # it may have been committed: then nobody works under it, and a sweep releases it
        raise
    return lease


def leases_wanted(run: Run) -> int:
    """How many leases use all slots of a run."""
    return max(1, leases_for(run.concurrency))


def leases_for(slots: int) -> int:
    """How many leases use so many slots."""
    return max(0, ceil(slots / SLOTS_PER_LEASE))


def _prepare(run: Run, lease: Lease, enqueue: Callable[[int], object]) -> bool:
    """Create the run's results, and call for the other workers that it can use; False if it was stopped meanwhile."""

    def may_continue() -> bool:
        preparing = Run.objects.filter(pk=run.pk, status=RunStatus.PREPARING)
        return not STOPPING.is_set() and leases.heartbeat(lease) and preparing.exists()

    with _failing_on_errors(lease, "The run could not be prepared. For details, see the worker log."):
        if not prepare_run(run, may_continue, lease):
            return False
    for _ in range(1, leases_wanted(run)):  # this worker has the first lease
        enqueue(run.pk)
    return True


@contextmanager
def _failing_on_errors(lease: Lease, reason: str) -> Iterator[None]:
    """Fail the lease's run on an unexpected error of the block, if the lease is still held; the error is raised on."""
    try:
        yield
    except DATABASE_UNAVAILABLE:
        raise  # it stayed away longer than anyone waits for it; not the run's fault, and a sweep resumes it
    except Exception:
        logger.exception("work on %s ended with an error", lease.subject)
        if lease.run_id is not None:
            lifecycle.fail(lease.run_id, reason, lease)
        raise


def _execute(run_id: int, lease: Lease) -> RunExecutor | None:
    """Work on a run under a lease; ``None`` if that fails at once."""
    unexpected = "An unexpected error stopped the worker. For details, see the worker log. To continue, resume the run."
    with _failing_on_errors(lease, unexpected):
        run = Run.objects.select_related("dataset_version", "experiment").get(pk=run_id)
        try:
            executor = RunExecutor(run, lease)
        except ValueError as error:  # its provider was removed from the configuration
            lifecycle.fail(run_id, str(error))
            return None
        with span("lease", codeforge__run=run_id, codeforge__slots=lease.slots):
            executor.work()
    return executor


def _wants_more(executor: RunExecutor) -> bool:
    """Whether a worker should come again, now that the lease is released."""
    run = executor.run
    if executor.out_of_budget and run.experiment_id is not None:
        return False  # the other runs of the experiment may free reservations; a sweep comes again until they are done
    # An executor that ran out of budget leaves what waits to those still at work: the last of them pauses the run.
    more = _waiting(run.pk).filter(leases=None) if executor.out_of_budget else _waiting(run.pk)
    return retry_db(more.exists, f"run {run.pk}")


def _waiting(run_id: int) -> QuerySet[Run]:
    """The run, if it is running and has results to claim."""
    return Run.objects.filter(Exists(results_in(WAITING)), pk=run_id, status=RunStatus.RUNNING)
