"""Try what is about to start: a few tasks of the first dataset, asked as the runs would ask them."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from benchmarks.models import Run, RunKind
from benchmarks.run_parameters import ADAPTIVE
from benchmarks.services.access import Caller
from benchmarks.services.experiments.requests import PlannedRun
from benchmarks.services.runs.start import queue_run, run_of

TASKS = 3
MOST_RUNS = 6
TAG = "trial"
_NONE = (*ADAPTIVE, "subset", "budget_usd")


def start_trial(planned: Sequence[PlannedRun], user: Caller = None) -> list[Run]:
    """Queue a run of ``TASKS`` tasks for each candidate on the first dataset, at most ``MOST_RUNS``, tagged ``TAG``.

    Lists, counts and rankings leave them out. Raises ``InvalidRequest`` if a key is missing.
    """
    first = [each for each in planned if each.request["dataset"] == planned[0].request["dataset"]]
    given = {**dict.fromkeys(_NONE), "limit": TASKS, "repeats": 1, "tags": [TAG], "name": f"Trial of {TASKS} tasks"}
    runs = [run_of({**each.request, **given}) for each in first[:MOST_RUNS]]
    with transaction.atomic():
        for each, run in zip(first, runs, strict=False):
            run.variant, run.kind = each.variant, RunKind.TRIAL
            queue_run(run, user)
    return runs
