"""What the first start of an installation on one machine shows: runs of baselines on a coding dataset, and a small
canvas set with runs of baselines. None of them calls a provider."""

from __future__ import annotations

from typing import Any

from benchmarks.engine.canvas_sets.generation import audit_set
from benchmarks.engine.execution.scoring import usable_metrics
from benchmarks.models import EXAMPLE_SET, FIRST_START, AuditEntry, Dataset, Run
from benchmarks.services.canvas_sets.control import generate_canvas_set
from benchmarks.services.runs.start import start_run

DATASET = "basic-coding"
MODELS = ("baseline/reference", "baseline/random")
CANVASES = {"name": EXAMPLE_SET.replace("-", " ").capitalize(), "shapes": "7-9", "count": 24}
"""The request of the set: small enough to be generated and audited within the start, of sizes for all task classes."""
CANVAS_MODELS = ("baseline/solver", "baseline/random", "baseline/blind")
"""The last one is what galleries open on: its answers are neither all right nor arbitrary."""


def queue_first_runs() -> list[Run]:
    """Generate the set and queue the runs, each tagged ``FIRST_START``; none if a run was ever started or imported, so
    that what was deleted stays deleted. With datasets other than the shipped ones, the choice is the user's: none."""
    if Run.objects.exists() or AuditEntry.objects.filter(action="run.start").exists():
        return []
    if not Dataset.objects.filter(slug=DATASET, current_version__isnull=False).exists():
        return []
    metric = "exact_match" if usable_metrics()["code_tests"].unavailable() else "code_tests"
    queued = [_queue({"dataset": DATASET, "model": model, "metrics": [metric]}) for model in MODELS]
    canvas_set = generate_canvas_set(CANVASES)
    audit_set(canvas_set.pk)  # before the runs, whose numbers name what the audit finds
    return queued + [_queue({"dataset": canvas_set.slug, "model": model}) for model in CANVAS_MODELS]


def _queue(request: dict[str, Any]) -> Run:
    return start_run(request | {"tags": [FIRST_START]})
