"""Adaptive runs: canvases are added where the interval is widest, until all are narrow enough or the cap is reached.

What was asked about stands in ``Run.adaptive`` and moves with the results in one transaction, so the decision can be
made by whoever finds nothing left to do, and made again after a crash: the same results lead to the same decision.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from django.db import transaction
from django.db.models import Q

from benchmarks.engine.canvas_sets.generation import DrawingFailed, grow
from benchmarks.engine.execution import lifecycle
from benchmarks.engine.execution.sql import insert_results
from benchmarks.engine.summary.adaptive import asked_of, batch_of, look, strata_of
from benchmarks.models import Run, RunStatus
from tasks_app.models import CanvasSet

logger = logging.getLogger(__name__)


def first_canvases(run: Run) -> dict[str, int]:
    """How many canvases of each number of shapes an adaptive run begins with, where it has not begun yet."""
    begun = asked_of(run)
    if any(begun.values()):
        return begun
    strata = strata_of(run)
    share = (run.max_canvases or 0) // len(strata)
    return {stratum: min(batch_of(run), share) for stratum in strata}


def on_canvases(asked: Mapping[str, int], after: Mapping[str, int] | None = None) -> Q:
    """Tasks about the first so many canvases of each number of shapes, but for those ``after`` so many."""
    chosen = Q(pk__in=())
    for stratum, number in asked.items():
        begin = after.get(stratum, 0) if after else 0
        chosen |= Q(n_shapes=int(stratum), question__canvas__number__gte=begin, question__canvas__number__lt=number)
    return chosen


def draw_what_is_needed(run: Run) -> None:
    """Have the run's canvases there before it is prepared, where it is to ask about more than were drawn."""
    canvas_set = run.dataset.canvas_set
    if canvas_set is None:
        return
    if run.target_half_width is not None:
        asked = first_canvases(run)
        _draw(canvas_set, asked)
        Run.objects.filter(pk=run.pk, total=0).update(adaptive={"asked": asked})
        run.adaptive = {"asked": asked}
    elif run.fresh_of_id is not None:
        grow(canvas_set.pk)


def extend(run_id: int) -> bool:
    """Add canvases to an adaptive run that has nothing left to do. False where it has seen enough, or is not one.

    Two workers that decide at once decide alike; the second finds the run changed and adds nothing.
    """
    while True:
        run = Run.objects.select_related("dataset__canvas_set", "dataset_version").get(pk=run_id)
        if run.target_half_width is None or run.status != RunStatus.RUNNING or run.dataset.canvas_set is None:
            return False
        add = look(run).add
        if not add:
            return False
        before = asked_of(run)
        asked = {stratum: number + add.get(stratum, 0) for stratum, number in before.items()}
        try:
            _draw(run.dataset.canvas_set, asked)
        except DrawingFailed as failure:
            logger.exception("run %s: no more canvases can be drawn", run_id)
            lifecycle.fail(run_id, f"{failure}. Mend the task class and resume.")
            return False
        if _insert(run, before, asked):
            return True


def _insert(run: Run, before: Mapping[str, int], asked: Mapping[str, int]) -> bool:
    """Store the new canvases' results with what is asked now. False where they bring no task, and more are needed."""
    tasks = run.dataset_version.tasks.filter(on_canvases(asked, before)).order_by("position")
    if run.task_classes:
        tasks = tasks.filter(group__in=run.task_classes)
    with transaction.atomic():
        locked = Run.objects.select_for_update().filter(pk=run.pk, status=RunStatus.RUNNING).first()
        if locked is None or asked_of(locked) != before:
            return True
        for repeat in range(1, run.repeats + 1):
            insert_results(run, tasks, locked.total // run.repeats, repeat)
        total = locked.results.count()
        Run.objects.filter(pk=run.pk).update(adaptive={"asked": dict(asked)}, total=total)
    return total > locked.total


def _draw(canvas_set: CanvasSet, asked: Mapping[str, int]) -> None:
    """Let the set grow until it has so many canvases of each number of shapes; numbers of shapes take turns in it."""
    turns = canvas_set.shapes_high - canvas_set.shapes_low + 1
    needed = max(
        (
            (number - 1) * turns + int(stratum) - canvas_set.shapes_low + 1
            for stratum, number in asked.items()
            if number
        ),
        default=0,
    )
    CanvasSet.objects.filter(pk=canvas_set.pk, wanted__lt=needed).update(wanted=needed, error_message="")
    grow(canvas_set.pk)
