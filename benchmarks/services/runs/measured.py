"""What runs that asked the same have cost and taken: the estimate of a run includes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.metrics.registered_metrics import metric_named
from benchmarks.models import COMPLETED, OF_MODELS, Run
from benchmarks.providers.base import known_sum
from benchmarks.services.runs.start import run_of

MOST = 3
"""Of those runs, the latest count."""
_READ = ("metrics", "judge_model", "total", "cost_usd", "judge_cost_usd", "active_seconds")


@dataclass(frozen=True, slots=True)
class Measured:
    """The cost in US dollars, ``None`` if it is unknown, and the seconds of a run, with its judge, for as many results
    as are planned."""

    run: int
    cost: float | None
    seconds: float


def measured(request: Mapping[str, Any], results: int) -> list[Measured]:
    """Of the latest completed runs of the validated request's model that asked the same and were judged by the same."""
    run = run_of(request)
    run.note_asked()
    same = Run.objects.filter(
        OF_MODELS,
        dataset_version=run.dataset_version,
        model=run.model,
        question_key=run.question_key,
        use_cache=run.use_cache,
        status__in=COMPLETED,
        import_format="",
        rescored_from=None,
        total__gt=0,
        active_seconds__gt=0,
    )
    alike = [earlier for earlier in same.only(*_READ).order_by("-pk")[: 5 * MOST] if _judged(earlier) == _judged(run)]
    return [taken_by(earlier, results / earlier.total) for earlier in alike[:MOST]]


def _judged(run: Run) -> tuple[list[str], str]:
    """The metrics that ask a judge, and who that is."""
    names = sorted(name for name in run.metrics if (metric := metric_named(name)) is None or metric.judged)
    return names, run.judge_model if names else ""


def taken_by(run: Run, factor: float = 1.0) -> Measured:
    """What ``factor`` times as many results as the run's would take."""
    cost = known_sum(run.cost_usd, run.judge_cost_usd if run.judge_model else 0.0)
    return Measured(run.pk, None if cost is None else factor * cost, factor * run.active_seconds)
