"""Decide which canvases an adaptive run adds: those with the widest interval, until all meet the target or
the maximum is reached.

``Run.adaptive`` stores what was used and changes in one transaction with the results. The decision depends only on
stored results, so any worker can make it, and repeating it after a crash gives the same canvases.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Greatest

from benchmarks.engine.canvas_sets.generation import GenerationFailed, grow
from benchmarks.engine.canvas_sets.rows import added_canvases
from benchmarks.engine.execution import lifecycle
from benchmarks.engine.sql import insert_results
from benchmarks.engine.summary.adaptive import asked_of, batch_of, look, strata_of
from benchmarks.models import Run, RunStatus
from benchmarks.providers.clean_text import full_sentence
from tasks_app.models import CanvasSet

logger = logging.getLogger(__name__)


def first_canvases(run: Run) -> dict[str, int]:
    """Number of shapes → canvases that an adaptive run starts with, or has used if it has started."""
    used = asked_of(run)
    if any(used.values()):
        return used
    strata = strata_of(run)
    share = (run.max_canvases or 0) // len(strata)
    return {stratum: min(batch_of(run), share) for stratum in strata}


def on_canvases(canvases: Mapping[str, int], after: Mapping[str, int] | None = None) -> Q:
    """Tasks on the first ``canvases`` of each number of shapes, without the first ``after``."""
    chosen = Q(pk__in=())
    for stratum, number in canvases.items():
        begin = after.get(stratum, 0) if after else 0
        chosen |= Q(n_shapes=int(stratum), question__canvas__number__gte=begin, question__canvas__number__lt=number)
    return chosen


def generate_needed(run: Run) -> None:
    """Generate the canvases that a run needs before it is prepared."""
    canvas_set = run.dataset.canvas_set
    if canvas_set is None:
        return
    if run.target_half_width is not None:
        canvases = first_canvases(run)
        _grow(canvas_set, canvases)
        Run.objects.filter(pk=run.pk, total=0).update(adaptive={"asked": canvases})
        run.adaptive = {"asked": canvases}
    elif run.fresh_of_id is not None:
        grow(canvas_set.pk)


def extend(run_id: int) -> bool:
    """Add canvases to an adaptive run with nothing left to do. False if it meets its target, or is not adaptive."""
    while True:
        run = Run.objects.select_related("dataset__canvas_set", "dataset_version").get(pk=run_id)
        if run.target_half_width is None or run.status != RunStatus.RUNNING or run.dataset.canvas_set is None:
            return False
        add = look(run).add
        if not add:
            return False
        used = asked_of(run)
        canvases = {stratum: number + add.get(stratum, 0) for stratum, number in used.items()}
        try:
            _grow(run.dataset.canvas_set, canvases)
        except GenerationFailed as failure:
            logger.exception("run %s: no more canvases can be generated", run_id)
            lifecycle.fail(run_id, f"{full_sentence(failure)} Fix the task class, then resume the run.")
            return False
        if _insert(run, used, canvases):
            return True
        # The new canvases have no task of the run's classes: decide again, with them counted as used.


def _insert(run: Run, used: Mapping[str, int], canvases: Mapping[str, int]) -> bool:
    """Insert the results of new canvases, and store that they are used. False if they have no task."""
    tasks = run.dataset_version.tasks.filter(on_canvases(canvases, used)).order_by("position")
    if run.task_classes:
        tasks = tasks.filter(group__in=run.task_classes)
    with transaction.atomic():
        locked = Run.objects.select_for_update().filter(pk=run.pk, status=RunStatus.RUNNING).first()
        # Two workers that decide at once decide alike; the second finds the run changed and adds nothing.
        if locked is None or asked_of(locked) != used:
            return True
        for repeat in range(1, run.repeats + 1):
            insert_results(run, tasks, locked.total // run.repeats, repeat)
        changed = {"adaptive": {"asked": dict(canvases)}, "added_canvases": added_canvases(run)}
        Run.objects.filter(pk=run.pk).update(**changed)
        return Run.objects.filter(pk=run.pk, total__gt=locked.total).exists()


def _grow(canvas_set: CanvasSet, canvases: Mapping[str, int]) -> None:
    """Generate the set until it has ``canvases`` of each number of shapes. The numbers alternate in it."""
    period = canvas_set.shapes_high - canvas_set.shapes_low + 1
    # The n-th canvas of a number of shapes stands n - 1 periods after the first one of that number.
    places = [
        (number - 1) * period + int(stratum) - canvas_set.shapes_low + 1
        for stratum, number in canvases.items()
        if number
    ]
    needed = max(places, default=0)
    # Also clears an error of an earlier attempt, which a resumed run tries again.
    lacking = CanvasSet.objects.filter(pk=canvas_set.pk, count__lt=needed)
    lacking.update(wanted=Greatest(F("wanted"), needed), error_message="")
    grow(canvas_set.pk)
