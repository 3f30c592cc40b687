"""Preparing a run: one pending result for each task and repeat. Doing it twice does nothing the second time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from django.db import transaction
from django.db.models import QuerySet

from benchmarks.engine.execution import lifecycle
from benchmarks.engine.execution.adaptive import draw_what_is_needed, first_canvases, on_canvases
from benchmarks.engine.execution.budget import price_of
from benchmarks.engine.execution.db_retry import retry_db
from benchmarks.engine.execution.finishing import cancelled_results
from benchmarks.engine.execution.sql import insert_results, note_prepared
from benchmarks.models import Run, Task

BATCH = 20_000
"""Tasks a transaction: enough to be quick, few enough that other writers need not wait long."""


def prepare_run(run: Run, goes_on: Callable[[], bool] = lambda: True) -> bool:
    """Make the run's results and set it running. False where it was cancelled or is prepared by another.

    ``goes_on`` is asked between batches: False leaves the rest to a later preparing, which finds what is there. That
    includes results of a run that was cancelled half-way and resumed: they are to be asked again.
    """
    what = f"preparing run {run.pk}"
    retry_db(lambda: lifecycle.begin_preparing(run.pk), what)
    draw_what_is_needed(run)
    tasks = chosen_tasks(run)
    n_tasks = retry_db(tasks.count, what)
    if n_tasks == 0:
        return not lifecycle.fail(run.pk, "There is nothing to ask: no task of the dataset fits the run's choice.")
    tasks = tasks[:n_tasks]  # a canvas set may grow meanwhile
    for begin in range(0, n_tasks, BATCH):
        for repeat in range(1, run.repeats + 1):
            retry_db(partial(insert_results, run, tasks[begin : begin + BATCH], begin, repeat), what)
            if not retry_db(goes_on, what):
                return False
    note_prepared(n_tasks * run.repeats)
    return retry_db(lambda: _begin_running(run, n_tasks * run.repeats), what)


def _begin_running(run: Run, total: int) -> bool:
    judge_known = not run.judge_model or price_of(run.judge_model).known
    with transaction.atomic():
        if not lifecycle.begin_running(run.pk):
            return False
        cancelled_results(run)
        Run.objects.filter(pk=run.pk, total=0).update(
            total=total,
            cost_usd=0.0 if price_of(run.model).known else None,
            judge_cost_usd=0.0 if judge_known else None,
        )
    return True


def chosen_tasks(run: Run) -> QuerySet[Task]:
    """The tasks of the run's version that it asks, in order."""
    tasks = run.dataset_version.tasks.order_by("position")
    if run.task_classes:
        tasks = tasks.filter(group__in=run.task_classes)
    if run.target_half_width is not None:
        tasks = tasks.filter(on_canvases(first_canvases(run)))
    return tasks[: run.limit] if run.limit else tasks
