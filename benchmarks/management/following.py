"""Follow a run from a terminal, and execute it here if no worker does."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable
from typing import TextIO

from django.db import connection

from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.engine.execution.executor import STOPPING
from benchmarks.engine.execution.sweeper import runs_without_worker
from benchmarks.models import LIVE, Run
from benchmarks.presentation.labels import run_status as status_label
from benchmarks.presentation.numbers import plural
from benchmarks.queries.runs import run_status

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.2
WAIT_FOR_WORKER_SECONDS = 3.0
"""How long a live run may be without a worker before it is executed here."""
BAR_WIDTH = 30

Say = Callable[[str], object]


class Progress:
    """One line that is overwritten on a terminal; nothing is written elsewhere."""

    def __init__(self, stream: TextIO, *, shown: bool | None = None) -> None:
        self.stream = stream
        self.shown = stream.isatty() if shown is None else shown
        self._width = 0

    def show(self, done: int, total: int, words: str) -> None:
        if not self.shown:
            return
        filled = BAR_WIDTH * done // total if total else 0
        line = f"[{'#' * filled}{'.' * (BAR_WIDTH - filled)}] {done}/{total or '?'} {words}"
        self.stream.write("\r" + line.ljust(self._width))
        self.stream.flush()
        self._width = len(line)

    def end(self) -> None:
        """Clear the line, if there is one."""
        if self._width:
            self.stream.write("\r" + " " * self._width + "\r")
            self.stream.flush()
            self._width = 0


def bar(label: str) -> Callable[[int, int], None]:
    """A function that shows how much is done, of how much, on the terminal."""
    progress = Progress(sys.stderr)

    def show(done: int, total: int) -> None:
        progress.show(done, total, label)
        if done >= total:
            progress.end()

    return show


def follow(run_id: int, progress: Progress, say: Say, *, work_here: bool = True) -> Run:
    """Wait until the run is no longer live; returns it as it is then.

    If no worker has a lease on it for some seconds, this process executes it. ``KeyboardInterrupt`` passes through
    after the rest of the run was given back; stored answers are kept.
    """
    local = _LocalWorker(run_id)
    without_worker_since = time.monotonic()
    try:
        while True:
            run = run_status(run_id)
            if run.status not in LIVE and not local.working:
                return run
            errors = f", {plural(run.errors, 'error')}" if run.errors else ""
            progress.show(run.done, run.total, status_label(run.status) + errors)
            now = time.monotonic()
            if local.working or run.leases.exists():
                without_worker_since = now
            elif (
                work_here and now - without_worker_since >= WAIT_FOR_WORKER_SECONDS and run_id in runs_without_worker()
            ):
                progress.end()
                say(f"No worker picked up run {run_id}, so this command executes it.")
                local.start()
            time.sleep(POLL_SECONDS)
    finally:
        progress.end()
        local.stop()


class _LocalWorker:
    """Executes a run on a thread of this process, as a worker's job would."""

    def __init__(self, run_id: int) -> None:
        self.run_id = run_id
        self._thread: threading.Thread | None = None

    @property
    def working(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        self._thread = threading.Thread(target=self._work, name="local-worker")
        self._thread.start()

    def stop(self) -> None:
        """Send no more requests, wait for those in flight, and give back the rest."""
        if self._thread is None:
            return
        if self._thread.is_alive():
            STOPPING.set()
        self._thread.join()
        STOPPING.clear()

    def _work(self) -> None:
        try:
            while work_on_run_once(self.run_id):
                pass
        except Exception:
            # dispatch has logged the error with its traceback and failed the run
            logger.debug("run %s: executing it here ended with an error", self.run_id)
        finally:
            connection.close()  # each thread has its own connection, which nobody else closes
