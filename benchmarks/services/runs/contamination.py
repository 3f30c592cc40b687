"""Check whether a model knows a published canvas set: run the same questions on canvases that nobody has seen."""

from __future__ import annotations

import secrets

from django.db.models import Count

from benchmarks.models import Run, RunStatus
from benchmarks.run_parameters import ADAPTIVE
from benchmarks.services.access import Caller
from benchmarks.services.canvas_sets.control import (
    LARGEST_SEED,
    delete_canvas_set,
    generate_canvas_set,
    request_canvas_set,
)
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.runs.control import require
from benchmarks.services.runs.start import request_of, start_run
from tasks_app.models import CanvasSet

GENERATED_AT_ONCE = 100
"""Canvases generated before the run is accepted; a job generates the others before the run begins."""


def check_contamination(run: Run, user: Caller = None) -> Run:
    """Generate a set like the run's with a new secret seed, and start the same run on it; returns that run.

    It has as many canvases as the run used, with the same numbers of shapes and tracking steps. Raises ``NotPossible``
    for a run that cannot be compared, ``InvalidRequest`` if the run can no longer be started.
    """
    require(run, "check")
    if check := run.fresh_runs.exclude(status__in=(RunStatus.FAILED, RunStatus.CANCELLED)).first():
        raise NotPossible(f"Run {check.pk} already checks this run. To check again, delete run {check.pk}.")
    canvas_set = run.dataset.canvas_set
    assert canvas_set is not None, "only runs on canvas sets have a representation"
    kind = {
        "shapes": f"{canvas_set.shapes_low}-{canvas_set.shapes_high}",
        "seed": secrets.randbelow(LARGEST_SEED),
        "tracking_steps": canvas_set.tracking_steps,
        "name": f"Fresh canvases for run {run.pk}, {secrets.token_hex(3)}",
    }
    strata = canvas_set.shapes_high - canvas_set.shapes_low + 1
    count = _canvases_per_stratum(run) * strata
    fresh = generate_canvas_set({**kind, "count": min(count, max(GENERATED_AT_ONCE, strata))}, user)
    CanvasSet.objects.filter(pk=fresh.pk).update(initial_count=count)  # the others belong to its first version
    request = {name: value for name, value in request_of(run).items() if name not in (*ADAPTIVE, "limit", "subset")}
    try:
        fresh_run = start_run({**request, "dataset": fresh.slug}, user, parent=run, fresh_of=run)
    except InvalidRequest:
        delete_canvas_set(fresh)
        raise
    request_canvas_set({**kind, "count": count}, user)
    return fresh_run


def _canvases_per_stratum(run: Run) -> int:
    """The most canvases that the run used of any number of shapes."""
    canvas = "task__question__canvas"
    by_shapes = run.results.order_by().values(f"{canvas}__n_shapes").annotate(n=Count(canvas, distinct=True))
    return max(by_shapes.values_list("n", flat=True), default=1)
