"""``manage.py worker_health``: whether a worker of this host is alive, for the health check of its container."""

from __future__ import annotations

import socket
from typing import Any

from django.core.management import BaseCommand, CommandError

from benchmarks.engine.workers import alive_on


class Command(BaseCommand):
    help = "Succeed where a worker on this host has reported itself within the last 45 seconds."

    def handle(self, *args: Any, **options: Any) -> None:
        host = socket.gethostname()
        if not alive_on(host):
            raise CommandError(f"No worker on {host} reports itself; its log says why.")
        self.stdout.write(f"A worker on {host} is alive.")
