"""The metrics that forms select for a dataset."""

from __future__ import annotations

from django.conf import settings

from benchmarks.engine.execution.scoring import usable_metrics
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.models import Dataset

_BY_FIELD = {
    "tests": ("code_tests",),
    "schema": ("json_match", "json_schema"),
    "expected_tools": ("tool_calls",),
    "pattern": ("regex",),
}
"""Field of a task → the metrics that are made for it."""
_BY_TEXT = {"tolerance": "numeric", "choices": "multiple_choice", "expected_output": "exact_match"}
"""The same for tasks that have nothing but expected texts."""


def preset_metrics(dataset: Dataset) -> list[str]:
    """Metrics that fit the current version and work on this machine, in the order of the registry; maybe none."""
    if dataset.current_version is None:
        return []
    if dataset.kind == Dataset.Kind.CANVAS:
        return ["task_score"]
    fields, usable = dataset.current_version.facets.get("fields", {}), usable_metrics()
    fitting = {name for field, names in _BY_FIELD.items() if fields.get(field) for name in names}
    fitting = fitting or {name for field, name in _BY_TEXT.items() if fields.get(field)}
    possible = {name for name in fitting if not usable[name].unavailable()}
    if not possible and fields.get("expected_output") and settings.CODEFORGE.judge.model:
        return ["correctness"]
    return [name for name in REGISTERED_METRICS if name in possible]
