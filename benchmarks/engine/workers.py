"""The list of worker processes, as they report themselves, busy or idle."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from benchmarks.models import Lease, Worker

HEARTBEAT_SECONDS = 10.0
ALIVE_FOR = timedelta(seconds=45)
"""A worker that was silent for longer is considered gone."""
FORGOTTEN_AFTER = timedelta(days=1)


def report(name: str, threads: int) -> None:
    """Report a worker. Its first report deletes workers that have been gone for a day."""
    now = timezone.now()
    if Worker.objects.filter(name=name).update(heartbeat_at=now):
        return
    Worker.objects.filter(heartbeat_at__lt=now - FORGOTTEN_AFTER).delete()
    Worker.objects.get_or_create(name=name, defaults={"threads": threads, "started_at": now, "heartbeat_at": now})


def depart(name: str) -> None:
    """Remove a worker that shut down."""
    Worker.objects.filter(name=name).delete()


def busy_runs() -> list[int] | None:
    """The runs that workers have now; ``None`` if no worker is alive."""
    if not Worker.objects.filter(heartbeat_at__gt=timezone.now() - ALIVE_FOR).exists():
        return None
    return sorted(set(Lease.objects.filter(run__isnull=False).values_list("run", flat=True)))


def alive_on(host: str) -> bool:
    """Whether a worker on this host is alive."""
    here = Q(name__startswith=f"{host}:", heartbeat_at__gt=timezone.now() - ALIVE_FOR)
    return Worker.objects.filter(here).exists()
