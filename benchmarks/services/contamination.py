"""Check whether a model knows published tasks: run others of the same kind, from a seed that nobody has seen."""

from __future__ import annotations

import secrets

from django.db.models import Count

from benchmarks.dataset_format.validation import validate_dataset_fields
from benchmarks.generators.registry import LARGEST_SEED as LARGEST_GENERATOR_SEED
from benchmarks.models import STOPPED, Dataset, DatasetVersion, Run
from benchmarks.run_parameters import ADAPTIVE
from benchmarks.services.access import Caller
from benchmarks.services.canvas_sets.control import (
    LARGEST_SEED,
    delete_canvas_set,
    generate_canvas_set,
    request_canvas_set,
)
from benchmarks.services.datasets.editing import delete_dataset, upload_dataset
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.runs.control import require
from benchmarks.services.runs.start import request_of, start_run
from tasks_app.models import CanvasSet

GENERATED_AT_ONCE = 100
"""Canvases generated before the run is accepted; a job generates the others before the run begins."""


def check_contamination(run: Run, user: Caller = None) -> Run:
    """Generate tasks like the run's from a new secret seed, and start the same run on them; returns that run.

    A canvas set has as many canvases as the run used, with the same numbers of shapes and tracking steps; a generated
    dataset as many tasks of each kind and level. Raises ``NotPossible`` for a run that cannot be compared,
    ``InvalidRequest`` if the run can no longer be started.
    """
    require(run, "check")
    if check := run.fresh_runs.exclude(status__in=STOPPED).first():
        raise NotPossible(f"Run {check.pk} already checks this run. To check again, delete run {check.pk}.")
    return _on_fresh_canvases(run, user) if run.representation else _on_fresh_tasks(run, user)


def _on_fresh_tasks(run: Run, user: Caller) -> Run:
    version = run.dataset_version
    token = secrets.token_hex(3)
    values = {
        "name": f"Fresh tasks for run {run.pk}, {token}",
        "description": f"Tasks like those of {version.name}, version {version.label}.",
        "metrics": version.metrics,
        "rubrics": version.rubrics,
        "generator": {**version.facets["generator"], "seed": secrets.randbelow(LARGEST_GENERATOR_SEED)},
    }
    spec, problems = validate_dataset_fields(values)
    if spec is None:
        raise InvalidRequest(problems)
    fresh = upload_dataset(f"fresh-{run.pk}-{token}", spec, user, DatasetVersion.Origin.GENERATED).dataset
    request = {name: value for name, value in request_of(run).items() if name not in (*ADAPTIVE, "subset")}
    try:
        return start_run({**request, "dataset": fresh.slug}, user, parent=run, fresh_of=run)
    except InvalidRequest:
        delete_dataset(Dataset.objects.get(pk=fresh.pk), user)
        raise


def _on_fresh_canvases(run: Run, user: Caller) -> Run:
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
