"""Prepare a run: one pending result for each task and repeat, and a judge that was tried. Repeating changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from django.db import transaction
from django.db.models import QuerySet

from benchmarks.engine.canvas_sets.rows import added_canvases
from benchmarks.engine.configured import is_system
from benchmarks.engine.db_retry import retry_db
from benchmarks.engine.execution import lifecycle
from benchmarks.engine.execution.adaptive import first_canvases, generate_needed, on_canvases
from benchmarks.engine.execution.budget import price_of
from benchmarks.engine.execution.finishing import reset_cancelled
from benchmarks.engine.execution.judge_trial import judge_is_usable
from benchmarks.engine.execution.stored_answers import batches_of_answers
from benchmarks.engine.sql import among, insert_results, note_prepared
from benchmarks.metrics.panel import judges_named
from benchmarks.models import Lease, Run, Task

BATCH = 20_000
"""Tasks per transaction: enough to be quick, few enough that other writers need not wait long."""


def prepare_run(run: Run, may_continue: Callable[[], bool] = lambda: True, lease: Lease | None = None) -> bool:
    """Create the run's results and set it running. False if it was stopped or is prepared by another.

    ``may_continue`` is called between batches. If it returns False, the rest is left to a later preparation, which
    keeps the results that are there. ``lease``: what only a worker that holds it may write.
    """
    what = f"preparing run {run.pk}"
    goes_on = partial(retry_db, may_continue, what)
    # What this returns says nothing: a run whose worker died while it was preparing has the status already.
    retry_db(lambda: lifecycle.begin_preparing(run.pk), what)
    generate_needed(run)
    tasks = chosen_tasks(run)
    n_tasks = retry_db(tasks.count, what)
    if n_tasks == 0:
        reason = "No task in the dataset matches the selected options. Change the task classes or the limit."
        return not lifecycle.fail(run.pk, reason)
    tasks = tasks[:n_tasks]  # a canvas set may grow meanwhile, and every repeat has the same tasks
    total = n_tasks * run.repeats
    retry_db(lambda: _note_unpaid(run), what)
    for insert in batches_of_answers(run) if run.rescored_from else _batches(run, tasks, n_tasks):
        retry_db(insert, what)
        if not goes_on():
            return False
    if run.rescored_from and retry_db(run.results.count, what) < total:
        reason = f"Run {run.rescored_from}, whose answers were to be scored, was deleted or changed."
        return not lifecycle.fail(run.pk, reason)
    note_prepared(total)
    if not judge_is_usable(run, tasks, goes_on, lease):
        return False
    return retry_db(lambda: _begin_running(run, lease), what)


def _batches(run: Run, tasks: QuerySet[Task], n_tasks: int) -> Iterator[Callable[[], None]]:
    for begin in range(0, n_tasks, BATCH):
        for repeat in range(1, run.repeats + 1):
            yield partial(insert_results, run, tasks[begin : begin + BATCH], begin, repeat)


def _note_unpaid(run: Run) -> None:
    """A run that begins to have results has cost nothing yet, whatever its prices are."""
    if Run.objects.filter(pk=run.pk, total=0).update(cost_usd=0.0, judge_cost_usd=0.0):
        run.cost_usd = run.judge_cost_usd = 0.0


def _begin_running(run: Run, lease: Lease | None) -> bool:
    # A system may say itself what an answer cost; the first that does not makes the run's cost unknown.
    may_be_known = run.rescored_from or price_of(run.model).known or is_system(run.model)
    unknown = [] if may_be_known else ["cost_usd"]
    unknown += [] if all(price_of(judge).known for judge in judges_named(run.judge_model)) else ["judge_cost_usd"]
    with transaction.atomic():
        if not lifecycle.begin_running(run.pk, lease):
            return False
        # The run may have been canceled while it was prepared, and resumed: its canceled results are pending again.
        reset_cancelled(run)
        Run.objects.filter(pk=run.pk, is_prepared=False).update(
            is_prepared=True, added_canvases=added_canvases(run), **dict.fromkeys(unknown)
        )
    return True


def chosen_tasks(run: Run) -> QuerySet[Task]:
    """The tasks of the run's version that it asks, in order."""
    tasks = run.dataset_version.tasks.order_by("position")
    if run.task_classes:
        tasks = tasks.filter(group__in=run.task_classes)
    if run.split:
        tasks = tasks.filter(split=run.split)
    if run.only_task:
        tasks = tasks.filter(task_id=run.only_task)
    if run.target_half_width is not None:
        tasks = tasks.filter(on_canvases(first_canvases(run)))
    if run.subset_design:
        design = run.subset_design
        drawn = [design["tasks"][place] for stratum in design["strata"] for place in stratum["drawn"]]
        return tasks.filter(pk__in=among(drawn))
    if run.subset:  # a plan; the draw has the same size
        return tasks[: run.subset]
    return tasks[: run.limit] if run.limit else tasks
