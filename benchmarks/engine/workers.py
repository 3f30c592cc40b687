"""Workers saying that they are there, busy or not."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from benchmarks.models import Worker

HEARTBEAT_SECONDS = 10.0
ALIVE_FOR = timedelta(seconds=45)
"""A worker that has been silent for longer is taken for gone."""

FORGOTTEN_AFTER = timedelta(days=1)


def report(name: str, threads: int) -> None:
    """A worker says that it is there. At its first word those that are gone for a day are forgotten."""
    now = timezone.now()
    if Worker.objects.filter(name=name).update(heartbeat_at=now):
        return
    Worker.objects.filter(heartbeat_at__lt=now - FORGOTTEN_AFTER).delete()
    Worker.objects.get_or_create(name=name, defaults={"threads": threads, "started_at": now, "heartbeat_at": now})


def depart(name: str) -> None:
    """A worker has ended as it should."""
    Worker.objects.filter(name=name).delete()


def alive_on(host: str) -> bool:
    """Whether some worker of this host beats."""
    here = Q(name__startswith=f"{host}:", heartbeat_at__gt=timezone.now() - ALIVE_FOR)
    return Worker.objects.filter(here).exists()
