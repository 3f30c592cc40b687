"""The metrics that forms select for a dataset."""

from __future__ import annotations

from django.conf import settings

from benchmarks.engine.execution.scoring import usable_metrics
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.models import Dataset

_BY_FIELD = {
    "turns": ("turns",),
    "must_refuse": ("safe_refusal",),
    "tests": ("code_tests",),
    "schema": ("json_match", "json_schema"),
    "expected_tools": ("tool_calls",),
    "final_state": ("final_state",),
    "pattern": ("regex",),
    "constraints": ("constraints",),
    "rubric": ("rubric",),
}
"""Field of a task → the metrics that are made for it."""
_BY_TEXT = {"tolerance": "numeric", "choices": "multiple_choice", "expected_output": "exact_match"}
"""The same for tasks that have nothing but expected texts; after the others, where these leave out some tasks."""


def preset_metrics(dataset: Dataset) -> list[str]:
    """Metrics that the current version names, else those that fit it, if they work on this machine; maybe none.

    In the order in which they decide the outcome.
    """
    version = dataset.current_version
    if version is None:
        return []
    if dataset.kind == Dataset.Kind.CANVAS:
        return ["task_score"]
    fields, usable = version.facets.get("fields", {}), usable_metrics()
    if named := [name for name in version.metrics if name not in usable or not usable[name].unavailable()]:
        return named
    fitting = [
        name for name in REGISTERED_METRICS for field, names in _BY_FIELD.items() if fields.get(field) and name in names
    ]
    if max((fields.get(field, 0) for field in _BY_FIELD), default=0) < version.task_count:
        fitting += [name for field, name in _BY_TEXT.items() if fields.get(field)]
    possible = [name for name in fitting if not usable[name].unavailable()]
    if not possible and fields.get("expected_output") and settings.CODEFORGE.judge.model:
        return ["correctness"]
    return possible
