"""Following a run from a terminal, and working on it here where no worker does."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TextIO

from django.db import connection

from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.engine.execution.executor import STOPPING
from benchmarks.engine.execution.sweeper import runs_without_worker
from benchmarks.models import LIVE, Run
from benchmarks.queries.runs import run_status

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.2
PATIENCE_SECONDS = 3.0
"""How long a live run may be without a worker before it is worked on here."""
BAR_WIDTH = 30

Say = Callable[[str], object]


class Progress:
    """One line that is written over again and again on a terminal, and nothing anywhere else."""

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
        """Leave the line, if there is one."""
        if self._width:
            self.stream.write("\r" + " " * self._width + "\r")
            self.stream.flush()
            self._width = 0


def follow(run_id: int, progress: Progress, say: Say, *, work_here: bool = True) -> Run:
    """Wait until the run is not live any more; returns it as it is then.

    Where no worker is on it for some seconds, it is worked on in this process. ``KeyboardInterrupt`` passes through
    after that work was handed over; what was answered is kept.
    """
    helper = _Helper(run_id)
    unattended_since = time.monotonic()
    try:
        while True:
            run = run_status(run_id)
            if run.status not in LIVE and not helper.working:
                return run
            progress.show(run.done, run.total, _words(run))
            now = time.monotonic()
            if helper.working or run.leases.exists():
                unattended_since = now
            elif work_here and now - unattended_since >= PATIENCE_SECONDS and run_id in runs_without_worker():
                progress.end()
                say(f"No worker has taken up run {run_id}, so this command works on it itself.")
                helper.begin()
            time.sleep(LOOK_SECONDS)
    finally:
        progress.end()
        helper.hand_over()


def _words(run: Run) -> str:
    return f"{run.get_status_display()}, {run.errors} with errors" if run.errors else str(run.get_status_display())


class _Helper:
    """Works on a run on a thread of this process, as a worker's job would."""

    def __init__(self, run_id: int) -> None:
        self.run_id = run_id
        self._thread: threading.Thread | None = None

    @property
    def working(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def begin(self) -> None:
        self._thread = threading.Thread(target=self._work, name="run-here")
        self._thread.start()

    def hand_over(self) -> None:
        """Send nothing more, wait for what is in flight, and give the rest back."""
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
            logger.debug("run %s: working on it here ended with an error", self.run_id)  # attend told it in full
        finally:
            connection.close()
