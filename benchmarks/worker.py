"""What a Celery worker does besides the jobs that it is sent: report its presence and do periodic work.

It sweeps, finds datasets, starts scheduled runs, delivers webhooks, writes backups and prunes old texts. When it shuts
down, it tells executors to hand over.
"""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from celery import bootsteps
from django.conf import settings
from django.db import close_old_connections, connection, connections

from benchmarks import worker_metrics
from benchmarks.engine import lease, workers
from benchmarks.engine.execution.executor import STOPPING
from benchmarks.engine.lease import worker_name
from benchmarks.engine.processes import WriterWatch
from benchmarks.engine.sql import analyze_changed_tables
from benchmarks.engine.webhooks.delivery import send_due
from benchmarks.jobs import sweep
from benchmarks.models import ScheduledRun
from benchmarks.queries import schedules as schedule_reads
from benchmarks.queries.gates import reference_run
from benchmarks.services.datasets.files import sync_datasets
from benchmarks.services.errors import NotPossible
from benchmarks.services.gates import check_scheduled, series_of
from benchmarks.services.operations.retention import prune_texts
from benchmarks.services.operations.scheduled_backups import back_up_if_due
from benchmarks.services.schedules import start_due, store_score_drops

logger = logging.getLogger(__name__)

PRUNE_SECONDS = 3_600.0
BACKUP_SECONDS = 60.0
DELIVERY_SECONDS = 2.0
ANALYZE_SECONDS = 5.0
WATCH_SECONDS = 2.0
GARBAGE = (10_000, 20, 20)
"""When to look for garbage. Answers on their way are many objects and no garbage; Python's 700 take a tenth of a run's
time."""


def find_datasets() -> None:
    """Import new and changed dataset files, so that no restart is needed."""
    try:
        sync_datasets(settings.DATASETS_DIR)
    except NotPossible as refusal:
        logger.warning("dataset files cannot be read: %s", refusal.message)


def prune_old_texts() -> None:
    """Delete texts that are older than ``retention.texts_days``, if it is configured."""
    days = settings.CODEFORGE.retention.texts_days
    if days is None:
        return
    try:
        pruned = prune_texts(timedelta(days=days), stopping=STOPPING.is_set)
    except NotPossible:  # another worker is pruning
        return
    if pruned.runs:
        logger.info("pruned the texts of %s results in %s runs", pruned.results, pruned.runs)


def back_up() -> None:
    """Write a backup if one is due by ``backups`` of ``codeforge.yaml``."""
    asked = settings.CODEFORGE.backups
    if not asked.folder:
        return
    every = timedelta(hours=asked.every_hours)
    try:
        back_up_if_due(settings.BASE_DIR / asked.folder, every, asked.keep, encrypt=asked.encrypt)
    except NotPossible as refusal:
        logger.error("no backup was written: %s", refusal.message)


def follow_schedules() -> None:
    """Start the runs that are due, and compare those that completed with earlier ones."""
    start_due()
    waiting = schedule_reads.runs_to_compare()
    if not waiting:
        return
    # A comparison can take seconds, so one worker at a time does it. Another one takes over if that worker dies.
    with lease.exclusive("schedule comparisons") as held:
        for scheduled in waiting:
            if held is None or not lease.heartbeat(held):
                return
            try:
                compare_scheduled(scheduled)
            except Exception:  # one run must not keep the others from being compared
                logger.exception("run %s could not be compared with earlier ones", scheduled.run_id)


def compare_scheduled(scheduled: ScheduledRun) -> None:
    """By the margin of the schedule, or else for any significant drop."""
    if scheduled.schedule.margin is not None:
        series = series_of(scheduled.schedule)
        check_scheduled(scheduled, series, reference_run(scheduled, series))
        return
    earlier = schedule_reads.earlier_runs(scheduled)
    drops = schedule_reads.score_drops(scheduled, earlier)
    store_score_drops(scheduled, earlier[0] if earlier else None, drops)


class PeriodicThread(threading.Thread):
    """Calls functions on its own thread, each at its own interval, until it is stopped.

    As Celery jobs they would wait for a free thread of the pool, which busy runs may not leave for hours, and pile up
    in the broker meanwhile; and an unavailable broker would end the very search for what it lost.
    """

    def __init__(self, calls: list[tuple[Callable[[], object], float]], at_end: Callable[[], object] | None = None):
        """``calls`` with the seconds between two calls of each; the first calls are made at once, in order."""
        super().__init__(daemon=True)
        self._calls = calls
        self._at_end = at_end
        self._stopped = threading.Event()

    def run(self) -> None:
        due = [time.monotonic()] * len(self._calls)
        while not self._stopped.wait(max(min(due) - time.monotonic(), 0.0)):
            number = due.index(min(due))
            call, seconds = self._calls[number]
            self._try(call)
            due[number] = time.monotonic() + seconds
        if self._at_end:
            self._try(self._at_end)
        connections.close_all()

    def stop(self) -> None:
        self._stopped.set()

    @staticmethod
    def _try(call: Callable[[], object]) -> None:
        close_old_connections()  # one that broke while the thread slept would fail the call
        try:
            call()
        except Exception:  # the database or the broker may be unavailable; the next call may find it back
            logger.exception("periodic work of the worker failed and will be retried")


class EngineStep(bootsteps.StartStopStep):
    """Starts the worker's periodic threads, and at the worker's end stops them and its executors.

    It starts after the pool, and so stops before it: the pool waits for its jobs, which know by then.
    """

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self.threads: list[PeriodicThread] = []

    def start(self, parent: Any) -> None:
        STOPPING.clear()
        if settings.WORKER_METRICS:
            worker_metrics.serve(*settings.WORKER_METRICS)
        # What is loaded by now stays. Otherwise each collection walks over it and holds all threads for 0.1 s.
        gc.freeze()
        gc.set_threshold(*GARBAGE)
        # What takes long or waits for others has a thread of its own: a slow webhook must not delay a sweep, and a busy
        # worker must not look dead.
        self.threads = [
            presence_thread(parent.concurrency),
            PeriodicThread([(sweep, settings.SWEEP_SECONDS), (find_datasets, settings.FIND_DATASETS_SECONDS)]),
            PeriodicThread([(follow_schedules, settings.SWEEP_SECONDS)]),
            PeriodicThread([(send_due, DELIVERY_SECONDS)]),
            PeriodicThread([(back_up, BACKUP_SECONDS)]),
            PeriodicThread([(analyze_changed_tables, ANALYZE_SECONDS), (prune_old_texts, PRUNE_SECONDS)]),
        ]
        if connection.vendor == "sqlite":
            # Everything else may wait for the very lock that it watches.
            watch = WriterWatch(Path(connection.settings_dict["NAME"]))
            self.threads.append(PeriodicThread([(watch.look, WATCH_SECONDS)]))
        for thread in self.threads:
            thread.start()

    def stop(self, parent: Any) -> None:
        STOPPING.set()
        for thread in self.threads:
            thread.stop()
        self.threads[0].join(timeout=5)  # its last call removes the worker from the list


def presence_thread(threads: int, seconds: float = workers.HEARTBEAT_SECONDS) -> PeriodicThread:
    """Reports this worker until it is stopped, and then its departure."""
    name = worker_name()
    return PeriodicThread([(lambda: workers.report(name, threads), seconds)], at_end=partial(workers.depart, name))
