"""Shifts: who works on a run, with how many lanes, and what happens to the claims of one that died.

A result is claimed for a shift and finished by its shift only. A shift beats while it lives; when it stops, its claims
are given back. A shift of this process is dead as soon as its job is over; that of another process on this machine as
soon as the process is gone; one elsewhere only by its silence, which may last longer than a database that is away for
a minute.
"""

from __future__ import annotations

import os
import socket
import uuid
from datetime import timedelta

from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from benchmarks.models import Result, ResultState, Run, RunLease, RunStatus

HEARTBEAT_SECONDS = 2.0
LEASE_SECONDS = 90.0
SLOTS_PER_LEASE = 128

_HOST = socket.gethostname()
_TOKEN = uuid.uuid4().hex[:12]
_OPEN_HERE: set[uuid.UUID] = set()
"""The shifts that jobs of this process are working right now."""


def worker_name() -> str:
    """This process: host, process id, and a token that a later process with the same id will not have."""
    return f"{_HOST}:{os.getpid()}:{_TOKEN}"


def acquire_lease(run_id: int, *, preparing: bool = False) -> RunLease | None:
    """Begin to work on a run; ``None`` where it needs nobody (more): wrong status, or all its lanes are taken."""
    wanted = (RunStatus.QUEUED, RunStatus.PREPARING) if preparing else (RunStatus.RUNNING,)
    with transaction.atomic():
        run = Run.objects.select_for_update().filter(pk=run_id, status__in=wanted).first()
        if run is None:
            return None
        leases = run.leases.all()
        if preparing:
            slots, free = 0, not leases.exists()
        else:
            taken = leases.aggregate(slots=Sum("slots"))["slots"] or 0
            slots = min(SLOTS_PER_LEASE, run.concurrency - taken)
            free = slots > 0
        if not free:
            return None
        lease = RunLease.objects.create(run=run, worker=worker_name(), slots=slots, heartbeat_at=timezone.now())
        _OPEN_HERE.add(lease.pk)
        return lease


def leave(lease: RunLease) -> None:
    """The job is over. A shift that it could not close is dead from now on, and the next sweep closes it."""
    _OPEN_HERE.discard(lease.pk)


def beat(lease: RunLease) -> bool:
    """Say that the shift lives. False where it was taken for dead: its claims belong to others now."""
    return bool(RunLease.objects.filter(pk=lease.pk).update(heartbeat_at=timezone.now()))


def release_lease(lease_id: uuid.UUID) -> None:
    """End a shift, giving back what it claimed and did not finish."""
    with transaction.atomic():
        run = Run.objects.select_for_update().filter(leases=lease_id).first()
        if run is None:
            return
        RunLease.objects.filter(pk=lease_id).delete()  # first: whatever it is claiming just now is to be seen below
        Result.objects.filter(run=run, claimed_by=lease_id, state=ResultState.CLAIMED).update(
            state=ResultState.PENDING, claimed_by=None
        )
        Result.objects.filter(run=run, claimed_by=lease_id, state=ResultState.JUDGING).update(
            state=ResultState.ANSWERED, claimed_by=None
        )
        if not run.leases.exists():
            Run.objects.filter(pk=run.pk).update(reserved_usd=0.0)


def leases_missing(run: Run) -> int:
    """How many shifts more would keep all the lanes of a run busy."""
    taken = run.leases.aggregate(slots=Sum("slots"))["slots"] or 0
    return max(0, -(-(run.concurrency - taken) // SLOTS_PER_LEASE))


def release_expired_leases() -> int:
    """Close every shift whose worker is gone; returns how many."""
    stale = RunLease.objects.filter(heartbeat_at__lt=timezone.now() - timedelta(seconds=2 * HEARTBEAT_SECONDS))
    dead = [lease.pk for lease in stale if _is_dead(lease)]
    for lease_id in dead:
        release_lease(lease_id)
    return len(dead)


def _is_dead(lease: RunLease) -> bool:
    silent = (timezone.now() - lease.heartbeat_at).total_seconds()
    host, pid, token = lease.worker.rsplit(":", 2)
    if host == _HOST and int(pid) == os.getpid():
        return token != _TOKEN or lease.pk not in _OPEN_HERE
    if host == _HOST and not _process_lives(int(pid)):
        return True
    return silent > LEASE_SECONDS


def _process_lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
