"""Follow a run from a terminal, and execute it here if no worker does."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TextIO

from django.db import connection

from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.engine.execution.executor import STOPPING
from benchmarks.engine.execution.sweeper import runs_without_worker
from benchmarks.engine.workers import busy_runs
from benchmarks.models import LIVE, Run
from benchmarks.presentation.labels import run_status as status_label
from benchmarks.presentation.numbers import plural
from benchmarks.presentation.sentences import waiting
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
    without_worker_since = time.monotonic()
    with ThreadPoolExecutor(1, "local-worker") as local_worker:
        work: Future[None] | None = None
        try:
            while True:
                run = run_status(run_id)
                working = work is not None and not work.done()
                if run.status not in LIVE and not working:
                    return run
                errors = f", {plural(run.errors, 'error')}" if run.errors else ""
                said = "Judging" if run.is_judging else status_label(run.status)
                wait = waiting(run.waits_until, run.done, run.total)
                progress.show(run.done, run.total, f"{said}{errors} {wait}".rstrip())
                now = time.monotonic()
                if working or run.leases.exists():
                    without_worker_since = now
                waited = now - without_worker_since >= WAIT_FOR_WORKER_SECONDS
                if not working and waited and work_here and run_id in runs_without_worker():
                    busy = busy_runs()
                    if busy is not None and run_id in busy:
                        continue  # a worker took it in the meantime
                    progress.end()
                    say(f"{_why_here(busy)}, so this command executes run {run_id}.")
                    work = local_worker.submit(_work_on, run_id)
                time.sleep(POLL_SECONDS)
        finally:
            progress.end()
            if work is not None and not work.done():
                # Sends no more requests, waits for those in flight, and gives back the rest.
                STOPPING.set()
            local_worker.shutdown()
            STOPPING.clear()


def _why_here(busy: list[int] | None) -> str:
    """Why no worker has a run, by the runs that they have."""
    if busy is None:
        return "No worker is running"
    if not busy:
        return f"No worker picked the run up within {WAIT_FOR_WORKER_SECONDS:g} s"
    return f"All workers are busy with {'run' if len(busy) == 1 else 'runs'} {', '.join(map(str, busy))}"


def _work_on(run_id: int) -> None:
    """Execute a run on a thread of this process, as a worker's job would."""
    try:
        while work_on_run_once(run_id):
            pass
    except Exception:
        # dispatch has logged the error with its traceback and failed the run
        logger.debug("run %s: executing it here ended with an error", run_id)
    finally:
        connection.close()  # each thread has its own connection, which nobody else closes
