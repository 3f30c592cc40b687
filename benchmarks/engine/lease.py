"""The lease: a worker's hold on a run, or on any other piece of long work, with a heartbeat.

Whoever works for longer than a transaction holds a lease and renews it. A lease expires when its worker is gone: one of
this process as soon as its job is over, one of another process on this host as soon as that process is gone or has been
stopped for a while, and one of another host after ``LEASE_SECONDS`` without a heartbeat. Expired leases are released by
the sweep, or by the next worker that wants the same subject.

    with lease.exclusive("retention") as held:
        if held is not None:                       # None: another worker holds it
            while more_to_do() and lease.heartbeat(held):
                do_a_little()
"""

from __future__ import annotations

import os
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial

from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from benchmarks.engine import processes
from benchmarks.engine.db_retry import retry_db, try_db
from benchmarks.engine.sql import lock
from benchmarks.models import Lease, Run

HEARTBEAT_SECONDS = 2.0
"""How often a holder renews its lease at least. The sweep looks only at leases that are silent for twice as long."""
MAX_WAIT_SHOWN_SECONDS = 366 * 86_400.0
"""No endpoint's number of seconds leads to a date that cannot be stored."""
LEASE_SECONDS = 75.0
"""How long a lease of another host lives without a heartbeat: longer than a database restart of a minute, so that an
outage costs no living worker its claims. With the time between two sweeps, a frozen worker's run continues within 90 s.
"""

GiveBack = Callable[[Lease], None]
"""Makes available again what the holder of a lease claimed; runs in the transaction that deletes the lease."""

_HOST = socket.gethostname()
_TOKEN = uuid.uuid4().hex[:12]
_HELD_HERE: set[uuid.UUID] = set()
"""Leases that jobs of this process hold now."""


def worker_name() -> str:
    """Identify this process: host, process ID, and a token that a later process with the same ID does not have."""
    return f"{_HOST}:{os.getpid()}:{_TOKEN}"


def acquire(subject: str, *, run: Run | None = None, slots: int = 0) -> Lease | None:
    """Acquire a lease. Without a run it is exclusive: ``None`` while a living worker holds the subject.

    A run may have several leases. Their number and slots are up to the caller, who locks the run.
    """
    if run is None and (holder := Lease.objects.filter(run=None, subject=subject).first()):
        if not _is_expired(holder):
            return None
        release(holder)  # an exclusive lease claims no rows, so there is nothing to give back
    try:
        with transaction.atomic():
            lease = Lease.objects.create(
                run=run, subject=subject, worker=worker_name(), slots=slots, heartbeat_at=timezone.now()
            )
    except IntegrityError:  # another worker acquired the subject since the check above
        return None
    _HELD_HERE.add(lease.pk)
    return lease


def heartbeat(lease: Lease, wait_seconds: float = 0.0) -> bool:
    """Renew a lease. False if it was released meanwhile: what it claimed belongs to others now.

    ``wait_seconds``: how long the endpoint of a run asks to wait, which readers of the run are told.
    """
    now = timezone.now()
    waits_until = now + timedelta(seconds=min(wait_seconds, MAX_WAIT_SHOWN_SECONDS)) if wait_seconds else None
    return bool(Lease.objects.filter(pk=lease.pk).update(heartbeat_at=now, waits_until=waits_until))


def release(lease: Lease, give_back: GiveBack | None = None, *, skip_locked: bool = False) -> None:
    """Delete a lease and give back what its holder claimed and did not finish. Does nothing the second time.

    With ``skip_locked`` it also does nothing while another transaction has the run locked.
    """
    with transaction.atomic():
        if lease.run_id is not None:
            # Releases of one run come one after the other, so exactly one of them sees that it is the last.
            locked = lock(Run.objects.filter(pk=lease.run_id), skip_locked=skip_locked)
            if skip_locked and not locked:
                return
        # Deleted before anything is given back: a claim locks the lease's row, so it either commits first and is
        # given back below, or finds no lease and claims nothing.
        deleted, _ = Lease.objects.filter(pk=lease.pk).delete()
        if deleted and give_back is not None:
            give_back(lease)


def leave(lease: Lease) -> None:
    """Note that the job of a lease of this process is over. If it is not released, the next sweep does that."""
    _HELD_HERE.discard(lease.pk)


@contextmanager
def held(lease: Lease, give_back: GiveBack | None = None) -> Iterator[Lease]:
    """Release the lease at the end of the block, however it ends."""
    try:
        yield lease
    finally:
        # First of all: if the database stays unavailable, the lease counts as expired although this process lives on.
        leave(lease)
        retry_db(lambda: release(lease, give_back), f"lease on {lease.subject}")


@contextmanager
def exclusive(subject: str) -> Iterator[Lease | None]:
    """Hold the only lease on a subject for the block; ``None`` while another worker holds it."""
    lease = acquire(subject)
    if lease is None:
        yield None
        return
    with held(lease):
        yield lease


@contextmanager
def kept_alive(lease: Lease) -> Iterator[None]:
    """Renew the lease from a thread of its own during the block, whose work leaves no place for that."""
    ended = threading.Event()

    def renew() -> None:
        while not ended.wait(HEARTBEAT_SECONDS):
            try_db(partial(heartbeat, lease), f"lease on {lease.subject}")
        connection.close()

    thread = threading.Thread(target=renew, name=f"lease on {lease.subject}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def release_expired(give_back: GiveBack | None = None) -> int:
    """Release every lease whose worker is gone; return how many those are.

    A frozen worker may still hold locks on its run. Such a lease is left to a later sweep and delays no other.
    """
    now, twice = timezone.now(), timedelta(seconds=2 * HEARTBEAT_SECONDS)
    # A heartbeat in the future was written before the clock was set back.
    quiet = Lease.objects.exclude(heartbeat_at__range=(now - twice, now + twice))
    expired = [lease for lease in quiet if _is_expired(lease)]
    for lease in expired:
        try_db(partial(release, lease, give_back, skip_locked=True), f"lease on {lease.subject}")
    return len(expired)


def is_held(lease: Lease) -> bool:
    """Whether the lease on a run is still there; call it in a transaction, until whose end nobody releases it."""
    # The run before the lease, in the order in which a release locks them.
    lock(Run.objects.filter(leases=lease.pk), of=("self",))
    return Lease.objects.filter(pk=lease.pk).exists()


def _is_expired(lease: Lease) -> bool:
    host, pid, token = lease.worker.rsplit(":", 2)
    silent = abs((timezone.now() - lease.heartbeat_at).total_seconds())
    if host == _HOST and int(pid) == os.getpid():
        return token != _TOKEN or lease.pk not in _HELD_HERE
    if host == _HOST and not processes.exists(int(pid)):
        return True
    if host == _HOST and silent > processes.STOPPED_SECONDS and processes.is_stopped(int(pid)):
        return True
    return silent > LEASE_SECONDS
