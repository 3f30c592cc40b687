"""The metrics of a run as a worker uses them: with the sandbox, where it is switched on."""

from __future__ import annotations

from functools import cache

from django.conf import settings

from benchmarks.metrics.base import Metric
from benchmarks.metrics.registered_metrics import metrics_with
from benchmarks.models import Run
from benchmarks.sandbox.sandbox import Sandbox


def metrics_of(run: Run) -> list[Metric]:
    """In the run's order: the first decides how a result ended."""
    known = usable_metrics()
    return [known[name] for name in run.metrics]


def usable_metrics() -> dict[str, Metric]:
    """Every registered metric, as this machine is configured; ``unavailable`` says what cannot be taken here."""
    return _metrics(settings.CODEFORGE.benchmark.code_tests)


def is_deferred(metric: Metric) -> bool:
    """Whether the metric is taken after the answer is stored: a judge is asked, or other code is run."""
    return metric.judged or metric.blocking


@cache
def _metrics(code_tests: bool) -> dict[str, Metric]:
    return metrics_with(Sandbox() if code_tests else None)
