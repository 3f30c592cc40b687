"""The worker's own entrance: what it does besides the jobs it is sent.

It sweeps, finds datasets, starts what is scheduled, sends messages to other systems, prunes old texts, and hands over
at its end.
"""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from celery import bootsteps
from django.conf import settings
from django.db import close_old_connections, connections

from benchmarks.engine.execution.executor import STOPPING
from benchmarks.engine.execution.sql import analyze_changed_tables
from benchmarks.engine.webhooks.delivery import send_due
from benchmarks.jobs import sweep
from benchmarks.queries import schedules as schedule_reads
from benchmarks.services.datasets.files import sync_datasets
from benchmarks.services.errors import NotPossible
from benchmarks.services.operations.retention import prune_texts
from benchmarks.services.schedules import control

logger = logging.getLogger(__name__)

PRUNE_SECONDS = 3_600.0

POST_SECONDS = 2.0
SAMPLE_SECONDS = 5.0


def find_datasets() -> None:
    """Take over new and changed dataset files, so that no restart is needed."""
    close_old_connections()
    try:
        sync_datasets(settings.DATASETS_DIR)
    except NotPossible as refusal:
        logger.warning("datasets cannot be looked for: %s", refusal.message)


def prune_old_texts() -> None:
    """Hold to ``retention.texts_days``, where it is configured."""
    close_old_connections()
    if days := settings.CODEFORGE.retention.texts_days:
        pruned = prune_texts(timedelta(days=days), stopping=STOPPING.is_set)
        if pruned.runs:
            logger.info("pruned the texts of %s results in %s runs", pruned.results, pruned.runs)


def follow_schedules() -> None:
    """Start the runs that are due, and hold those that completed against earlier ones."""
    close_old_connections()
    control.start_due()
    for turn in schedule_reads.turns_to_compare():
        try:
            earlier = schedule_reads.earlier_runs(turn)
            notices = schedule_reads.drops(turn, earlier)
            control.keep_findings(turn, earlier[0] if earlier else None, notices)
        except Exception:  # one run must not keep the others from being compared
            logger.exception("run %s could not be compared with earlier ones", turn.run_id)


class Rounds(threading.Thread):
    """Does chores, each as often as it wants, on a thread of its own.

    As jobs they would wait for a free thread of the pool, which busy runs may not leave for hours, and pile up in the
    broker meanwhile; and a broker that is away would end the very search for what it lost. Chores that take long or
    wait for others have threads apart.
    """

    def __init__(self, chores: list[tuple[Callable[[], object], float]]) -> None:
        """``chores`` with the seconds between two of a kind; the first ones are done at once, in order."""
        super().__init__(name="rounds", daemon=True)
        self._chores = chores
        self._over = threading.Event()

    def run(self) -> None:
        due = [time.monotonic()] * len(self._chores)
        while not self._over.wait(max(min(due) - time.monotonic(), 0.0)):
            turn = due.index(min(due))
            chore, seconds = self._chores[turn]
            try:
                chore()
            except Exception:  # the database or the broker may be away; the next round may find them
                logger.exception("a chore of the worker failed and will be tried again")
            due[turn] = time.monotonic() + seconds
        connections.close_all()

    def end(self) -> None:
        self._over.set()


class EngineStep(bootsteps.StartStopStep):
    """Begins the worker's rounds at its start; at its end tells shifts to hand over.

    It starts after the pool and so stops before it: the pool waits for its jobs, which have heard by then.
    """

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self.rounds: list[Rounds] = []

    def start(self, parent: Any) -> None:
        STOPPING.clear()
        # What is loaded by now stays. Left to the collector, a walk over it holds all threads for a tenth of a second.
        gc.freeze()
        self.rounds = [
            Rounds([(sweep, settings.SWEEP_SECONDS), (find_datasets, settings.FIND_DATASETS_SECONDS)]),
            Rounds([(follow_schedules, settings.SWEEP_SECONDS)]),
            Rounds([(send_due, POST_SECONDS)]),
            Rounds([(analyze_changed_tables, SAMPLE_SECONDS), (prune_old_texts, PRUNE_SECONDS)]),
        ]
        for rounds in self.rounds:
            rounds.start()

    def stop(self, parent: Any) -> None:
        STOPPING.set()
        for rounds in self.rounds:
            rounds.end()
