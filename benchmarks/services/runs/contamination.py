"""Checking whether a model knows a published canvas set: the same is asked about canvases that nobody has seen."""

from __future__ import annotations

import secrets
from typing import Any

from benchmarks.models import COMPLETED, Run, RunStatus
from benchmarks.run_parameters import ADAPTIVE
from benchmarks.services.access import Caller
from benchmarks.services.canvas_sets.control import delete_canvas_set, generate_canvas_set, request_canvas_set
from benchmarks.services.canvas_sets.request import LARGEST_SEED
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.runs.start import request_of, start_run
from tasks_app.models import CanvasSet

DRAWN_AT_ONCE = 100
"""Canvases drawn before the run is accepted; a job draws the rest before the run begins."""


def check_contamination(run: Run, user: Caller = None) -> Run:
    """Draw a set like the run's with a new secret seed, and start the same run on it; returns that run.

    It has as many canvases as the run asked about, over the same numbers of shapes and with as many tracking steps.
    Raises ``NotPossible`` for a run that there is nothing to hold against, ``InvalidRequest`` where it can no longer
    be started.
    """
    canvas_set = _published_set(run)
    asked = {
        "shapes": f"{canvas_set.shapes_low}-{canvas_set.shapes_high}",
        "seed": secrets.randbelow(LARGEST_SEED),
        "tracking_steps": canvas_set.tracking_steps,
        "name": f"Fresh canvases for run {run.pk}, {secrets.token_hex(3)}",
    }
    count = _canvases_needed(run, canvas_set)
    fresh = generate_canvas_set({**asked, "count": min(count, max(DRAWN_AT_ONCE, _turns(canvas_set)))}, user)
    try:
        started = start_run(_same_request(run, fresh), user, parent=run, fresh_of=run)
    except InvalidRequest:
        delete_canvas_set(fresh)
        raise
    request_canvas_set({**asked, "count": count}, user)
    return started


def _published_set(run: Run) -> CanvasSet:
    canvas_set = run.dataset.canvas_set
    if canvas_set is None:
        raise NotPossible("Only a run on a canvas set can be checked: nothing else can be drawn afresh.")
    if run.status not in COMPLETED:
        raise NotPossible(f"Run {run.pk} is {run.get_status_display()}; check it once it has completed.")
    if run.fresh_of_id is not None:
        raise NotPossible(f"Run {run.pk} is itself on fresh canvases, to be held against run {run.fresh_of_id}.")
    if open_check := run.fresh_runs.exclude(status__in=(RunStatus.FAILED, RunStatus.CANCELLED)).first():
        raise NotPossible(f"Run {open_check.pk} checks it already. Delete that run to check anew.")
    return canvas_set


def _canvases_needed(run: Run, canvas_set: CanvasSet) -> int:
    """As many canvases of each number of shapes as the run asked about of any."""
    canvas = "task__question__canvas"
    asked = run.results.order_by().values_list(f"{canvas}__n_shapes", canvas).distinct()
    by_shapes: dict[int, int] = {}
    for n_shapes, _ in asked.iterator(chunk_size=5_000):
        by_shapes[n_shapes] = by_shapes.get(n_shapes, 0) + 1
    return max(by_shapes.values(), default=1) * _turns(canvas_set)


def _turns(canvas_set: CanvasSet) -> int:
    return canvas_set.shapes_high - canvas_set.shapes_low + 1


def _same_request(run: Run, fresh: CanvasSet) -> dict[str, Any]:
    left_out = (*ADAPTIVE, "limit")
    request = {name: value for name, value in request_of(run).items() if name not in left_out}
    return {**request, "dataset": fresh.slug}
