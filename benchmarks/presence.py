"""The worker's step that reports its presence, on a thread of its own: a busy pool must not make it look dead."""

from __future__ import annotations

import logging
import threading
from typing import Any

from celery import bootsteps
from django.db import close_old_connections, connections

from benchmarks.engine import workers
from benchmarks.engine.lease import worker_name

logger = logging.getLogger(__name__)


class Heart(threading.Thread):
    """Beats until it is stopped. A database that is away costs beats, not the worker."""

    def __init__(self, threads: int, seconds: float = workers.HEARTBEAT_SECONDS) -> None:
        super().__init__(name="heart", daemon=True)
        self.threads = threads
        self.seconds = seconds
        self.stopping = threading.Event()

    def run(self) -> None:
        name = worker_name()
        try:
            while True:
                self._try(lambda: workers.report(name, self.threads))
                if self.stopping.wait(self.seconds):
                    break
            self._try(lambda: workers.depart(name))
        finally:
            connections.close_all()

    def _try(self, act: Any) -> None:
        close_old_connections()
        try:
            act()
        except Exception as error:  # whatever the database says, the next beat tries again
            logger.warning("the worker cannot report its presence: %s", type(error).__name__)


class PresenceStep(bootsteps.StartStopStep):
    """Keeps the heart beating from the worker's start to its end."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self.heart: Heart | None = None

    def start(self, parent: Any) -> None:
        self.heart = Heart(parent.concurrency)
        self.heart.start()

    def stop(self, parent: Any) -> None:
        if self.heart is not None:
            self.heart.stopping.set()
            self.heart.join(timeout=5)
