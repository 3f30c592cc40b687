"""Experiments as pages show them: the form of a launch, the rows of the matrix, and what can be done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.models import LIVE, Run, RunStatus
from benchmarks.presentation.numbers import plural
from benchmarks.queries.experiments import Progress
from benchmarks.run_parameters import given_shown
from benchmarks.services.experiments.requests import COMMON


def ways_of_asking(request: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """What each variant of a launched experiment sets, and then what holds for all its runs: heading, and labels with
    values."""
    variants = [
        (variant["name"], given_shown({**variant, **variant.get("parameters", {})}))
        for variant in request.get("variants", ())
    ]
    # What scores them stands with the benchmarks.
    common = given_shown({name: request.get(name) for name in COMMON if name != "metrics"})
    return [*variants, *([("All runs", common)] if common else [])]


def offered(runs: Sequence[Run], progress: Progress, has_budget: bool) -> dict[str, str]:
    """Action → label of what can be done with the runs together."""
    statuses = set(progress.runs_by_status)
    stopped = {RunStatus.PAUSED, RunStatus.FAILED, RunStatus.CANCELLED}
    going = LIVE | {RunStatus.PAUSED}
    errors = sum(run.errors for run in runs if run.status not in going)
    possible = {
        "pause": ("Pause", bool(statuses & LIVE)),
        "resume": ("Resume", bool(statuses & stopped)),
        "cancel": ("Cancel", bool(statuses & going)),
        "retry": (f"Retry {plural(errors, 'error')}", bool(errors)),
        "budget": ("Raise budget", has_budget),
        "delete": ("Delete experiment", not statuses & going),
    }
    return {name: label for name, (label, is_possible) in possible.items() if is_possible}
