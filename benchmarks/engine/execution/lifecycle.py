"""Every change of a run's status: one conditional UPDATE each, so that of two that race exactly one happens."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from benchmarks.engine import lease as leases
from benchmarks.engine.webhooks.outbox import enqueue_status
from benchmarks.models import ACTIVE, COMPLETED, LIVE, TERMINAL, Lease, Run, RunStatus

ALLOWED: dict[RunStatus, frozenset[RunStatus]] = {
    RunStatus.QUEUED: frozenset({RunStatus.PAUSED, RunStatus.FAILED, RunStatus.CANCELLED}),
    RunStatus.PREPARING: frozenset({RunStatus.QUEUED}),
    RunStatus.RUNNING: TERMINAL | {RunStatus.PREPARING, RunStatus.PAUSED},
    RunStatus.PAUSED: LIVE,
    **dict.fromkeys(COMPLETED, frozenset({RunStatus.RUNNING})),
    RunStatus.FAILED: LIVE,
    RunStatus.CANCELLED: LIVE | {RunStatus.PAUSED},
}
"""Status → the statuses that a run may have right before."""


def move(
    run_id: int,
    to: RunStatus,
    *,
    only_from: Iterable[RunStatus] | None = None,
    lease: Lease | None = None,
    **fields: Any,
) -> bool:
    """Change the run's status to ``to``, with ``fields``. False if its present status does not allow that.

    With a lease, only while it is held: a worker that was frozen until others took over changes nothing any more.
    """
    origins = ALLOWED[to] if only_from is None else ALLOWED[to] & frozenset(only_from)
    with transaction.atomic():
        if lease is not None and not leases.is_held(lease):
            return False
        moved = bool(Run.objects.filter(pk=run_id, status__in=origins).update(status=to, **fields))
        if moved:
            _count_active_time(run_id, to)
            # In the same transaction, so that a webhook is delivered exactly if the status changed.
            enqueue_status(run_id, to, fields.get("completed_at"))
    return moved


def _count_active_time(run_id: int, to: RunStatus) -> None:
    """Start the clock of a run that becomes active, or stop it; in the transaction of the change of status."""
    run, now = Run.objects.filter(pk=run_id), timezone.now()
    since = run.values_list("active_since", flat=True).get()
    if to in ACTIVE and since is None:
        run.update(active_since=now)
    elif to not in ACTIVE and since is not None:
        active = max((now - since).total_seconds(), 0.0)
        run.update(active_seconds=F("active_seconds") + active, active_since=None)


def begin_preparing(run_id: int) -> bool:
    return move(run_id, RunStatus.PREPARING, started_at=timezone.now())


def begin_running(run_id: int, lease: Lease | None = None) -> bool:
    return move(run_id, RunStatus.RUNNING, only_from=(RunStatus.PREPARING,), lease=lease)


def complete(run_id: int, *, with_errors: bool) -> bool:
    to = RunStatus.COMPLETED_WITH_ERRORS if with_errors else RunStatus.COMPLETED
    return move(run_id, to, completed_at=timezone.now())


def fail(run_id: int, reason: str, lease: Lease | None = None, *, summarized_at: datetime | None = None) -> bool:
    """``summarized_at`` is when its last numbers were computed; without it, they are computed again."""
    fields: dict[str, Any] = {"error_message": reason, "completed_at": timezone.now(), "summarized_at": summarized_at}
    return move(run_id, RunStatus.FAILED, lease=lease, **fields)


def cancel(run_id: int, reason: str = "", *, summarized_at: datetime | None = None) -> bool:
    """``summarized_at`` as in ``fail``."""
    fields: dict[str, Any] = {"error_message": reason, "completed_at": timezone.now(), "summarized_at": summarized_at}
    return move(run_id, RunStatus.CANCELLED, **fields)


def pause(run_id: int, reason: str, lease: Lease | None = None) -> bool:
    return move(run_id, RunStatus.PAUSED, lease=lease, error_message=reason, summarized_at=None)


def reopen(run_id: int, only_from: Iterable[RunStatus]) -> bool:
    """Back to running from an end or a pause. Only the services that say what is sent or judged again call this."""
    return move(run_id, RunStatus.RUNNING, only_from=only_from, error_message="", completed_at=None)


def requeue(run_id: int) -> bool:
    """Back to the queue: a run that ended or paused before it was prepared."""
    return move(run_id, RunStatus.QUEUED, error_message="", completed_at=None)
