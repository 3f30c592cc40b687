"""Find runs that nobody works on: their worker died, or the message that names them was lost or not sent yet."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from django.db.models import Exists, Q, Sum
from django.utils import timezone

from benchmarks.engine import lease as leases
from benchmarks.engine.db_retry import try_db
from benchmarks.engine.execution.dispatch import leases_for
from benchmarks.engine.execution.finishing import close_if_over, results_in
from benchmarks.engine.execution.result_store import give_back_claims
from benchmarks.models import COMPLETED, STOPPED, TO_DO, WAITING, Run, RunStatus

ENQUEUE_AGAIN_AFTER = timedelta(seconds=3)
"""How long a new run waits for its own message before the sweep enqueues it."""


def runs_without_worker() -> list[int]:
    """Release expired leases, finish runs that are over, and return the runs to enqueue, once for each worker missing.

    Every worker may sweep at the same time: each step is a conditional change, and a run enqueued twice is worked on
    once.
    """
    leases.release_expired(give_back_claims)
    for run_id in _unfinished():
        try_db(partial(close_if_over, run_id), f"run {run_id}")
    now = timezone.now()
    # A run of the future was started before the clock was set back.
    new = Q(status=RunStatus.QUEUED, created_at__range=(now - ENQUEUE_AGAIN_AFTER, now + ENQUEUE_AGAIN_AFTER))
    unprepared = Run.objects.filter(status__in=(RunStatus.QUEUED, RunStatus.PREPARING), leases=None).exclude(new)
    running = Run.objects.filter(Exists(results_in(WAITING)), status=RunStatus.RUNNING).order_by()
    slots = running.values_list("pk", "concurrency").annotate(taken=Sum("leases__slots", default=0))
    missing = [pk for pk, wanted, taken in slots for _ in range(leases_for(wanted - taken))]
    return sorted([*unprepared.values_list("id", flat=True), *missing])


def _unfinished() -> list[int]:
    """Runs that a worker left between two steps: stopped but not settled, or running with nothing left to do; and
    paused runs without their numbers so far, and completed ones of which a migration changed the rows."""
    alone = Run.objects.filter(leases=None)
    to_do = Exists(results_in(TO_DO))
    stopped = (to_do | Q(summarized_at=None)) & Q(status__in=STOPPED)
    complete = ~to_do & Q(status=RunStatus.RUNNING, total__gt=0)
    changed = Q(summarized_at=None, status__in=(*COMPLETED, RunStatus.PAUSED))
    return list(alone.filter(stopped | complete | changed).values_list("pk", flat=True))
