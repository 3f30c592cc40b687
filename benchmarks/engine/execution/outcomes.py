"""The metrics of a run as a worker uses them: with the sandbox, where it is switched on.

What nobody foresaw, on our side of the wire: it ends one result with its reason, never the run.

How a result ended, read off its scores. An error is an outcome of its own and never a score.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cache

from django.conf import settings

from benchmarks.metrics.base import DeterministicMetric, Item, Metric, Score, ScoreStatus
from benchmarks.metrics.registered_metrics import metrics_with
from benchmarks.models import Outcome, Run
from benchmarks.providers.base import ProviderError
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


logger = logging.getLogger(__name__)

MOST_SAID = 1_000


class Unforeseen(ProviderError):
    """Asking failed before or after the endpoint had its part in it: the prompt could not be built, say."""

    def __init__(self, what: str, error: Exception) -> None:
        super().__init__("unsupported", f"{what}: {_said(error)}")
        self.kind = "internal"  # type: ignore[assignment]  # no provider raises this kind


def score_of(metric: DeterministicMetric, item: Item) -> Score:
    """The metric's score of the item; metrics must not raise, but one that does fails for this item alone."""
    try:
        return metric.score(item)
    except Exception as error:
        logger.exception("metric %s failed", metric.name)
        return broken_metric(error)


def broken_metric(error: Exception) -> Score:
    """The score of a metric that raised."""
    return Score(ScoreStatus.METRIC_ERROR, reason=f"The metric failed: {_said(error)}")


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:MOST_SAID]


FAILED = (ScoreStatus.JUDGE_ERROR, ScoreStatus.METRIC_ERROR)
REFUSALS = frozenset({"refusal", "content_filter"})


def outcome_of(metrics: Sequence[Metric], scores: Mapping[str, Score], finish_reason: str) -> Outcome:
    """The outcome of an answered result.

    A judge or another metric that failed comes first, because it can be tried again; then how the answer ended
    (refused, cut off), then the verdict of the first metric that says right or wrong and applies to the task.
    """
    if failed_score(scores):
        return Outcome.JUDGE_ERROR
    if finish_reason in REFUSALS:
        return Outcome.REFUSED
    if finish_reason == "length":
        return Outcome.TRUNCATED
    for metric in metrics:
        score = scores.get(metric.name)
        if score is None or not metric.decides_outcome or score.status is ScoreStatus.NOT_APPLICABLE:
            continue
        return _verdict(metric, score)
    return Outcome.ANSWERED


def failed_score(scores: Mapping[str, Score]) -> Score | None:
    """The first score that could not be taken through no fault of the answer."""
    return next((score for score in scores.values() if score.status in FAILED), None)


def _verdict(metric: Metric, score: Score) -> Outcome:
    if score.value is None:
        return Outcome.UNPARSABLE
    if score.value >= metric.passes_at:
        return Outcome.CORRECT
    return Outcome.WRONG if score.value <= metric.fails_at else Outcome.PARTIAL


def leading_value(metrics: Sequence[Metric], scores: Mapping[str, Score]) -> float | None:
    """The value of the run's first metric, by which results are sorted."""
    score = scores.get(metrics[0].name) if metrics else None
    return score.value if score else None
