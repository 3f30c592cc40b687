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

from benchmarks.models import Result, ResultState, Run, RunStatus, Shift

BEAT_SECONDS = 2.0
LEASE_SECONDS = 90.0
LANES_PER_SHIFT = 128

_HOST = socket.gethostname()
_TOKEN = uuid.uuid4().hex[:12]
_OPEN_HERE: set[uuid.UUID] = set()
"""The shifts that jobs of this process are working right now."""


def worker_name() -> str:
    """This process: host, process id, and a token that a later process with the same id will not have."""
    return f"{_HOST}:{os.getpid()}:{_TOKEN}"


def open_shift(run_id: int, *, preparing: bool = False) -> Shift | None:
    """Begin to work on a run; ``None`` where it needs nobody (more): wrong status, or all its lanes are taken."""
    wanted = (RunStatus.QUEUED, RunStatus.PREPARING) if preparing else (RunStatus.RUNNING,)
    with transaction.atomic():
        run = Run.objects.select_for_update().filter(pk=run_id, status__in=wanted).first()
        if run is None:
            return None
        shifts = run.shifts.all()
        if preparing:
            lanes, free = 0, not shifts.exists()
        else:
            taken = shifts.aggregate(lanes=Sum("lanes"))["lanes"] or 0
            lanes = min(LANES_PER_SHIFT, run.concurrency - taken)
            free = lanes > 0
        if not free:
            return None
        shift = Shift.objects.create(run=run, worker=worker_name(), lanes=lanes, beat_at=timezone.now())
        _OPEN_HERE.add(shift.pk)
        return shift


def leave(shift: Shift) -> None:
    """The job is over. A shift that it could not close is dead from now on, and the next sweep closes it."""
    _OPEN_HERE.discard(shift.pk)


def beat(shift: Shift) -> bool:
    """Say that the shift lives. False where it was taken for dead: its claims belong to others now."""
    return bool(Shift.objects.filter(pk=shift.pk).update(beat_at=timezone.now()))


def close_shift(shift_id: uuid.UUID) -> None:
    """End a shift, giving back what it claimed and did not finish."""
    with transaction.atomic():
        run = Run.objects.select_for_update().filter(shifts=shift_id).first()
        if run is None:
            return
        Shift.objects.filter(pk=shift_id).delete()  # first: whatever it is claiming just now is to be seen below
        Result.objects.filter(run=run, claimed_by=shift_id, state=ResultState.CLAIMED).update(
            state=ResultState.PENDING, claimed_by=None
        )
        Result.objects.filter(run=run, claimed_by=shift_id, state=ResultState.JUDGING).update(
            state=ResultState.ANSWERED, claimed_by=None
        )
        if not run.shifts.exists():
            Run.objects.filter(pk=run.pk).update(reserved_usd=0.0)


def shifts_missing(run: Run) -> int:
    """How many shifts more would keep all the lanes of a run busy."""
    taken = run.shifts.aggregate(lanes=Sum("lanes"))["lanes"] or 0
    return max(0, -(-(run.concurrency - taken) // LANES_PER_SHIFT))


def end_dead_shifts() -> int:
    """Close every shift whose worker is gone; returns how many."""
    stale = Shift.objects.filter(beat_at__lt=timezone.now() - timedelta(seconds=2 * BEAT_SECONDS))
    dead = [shift.pk for shift in stale if _is_dead(shift)]
    for shift_id in dead:
        close_shift(shift_id)
    return len(dead)


def _is_dead(shift: Shift) -> bool:
    silent = (timezone.now() - shift.beat_at).total_seconds()
    host, pid, token = shift.worker.rsplit(":", 2)
    if host == _HOST and int(pid) == os.getpid():
        return token != _TOKEN or shift.pk not in _OPEN_HERE
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
