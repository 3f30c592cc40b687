"""``manage.py worker_health``: whether a worker of this host is alive, for its container's health check."""

from __future__ import annotations

import socket
from typing import Any

from django.core.management import BaseCommand, CommandError

from benchmarks.engine.workers import alive_on


class Command(BaseCommand):
    help = "Succeed if a worker on this host sent a heartbeat within the last 45 seconds."

    def handle(self, *args: Any, **options: Any) -> None:
        host = socket.gethostname()
        if not alive_on(host):
            raise CommandError(f"No worker on {host} sends a heartbeat. For the cause, see its log.")
        self.stdout.write(f"A worker on {host} is alive.")
