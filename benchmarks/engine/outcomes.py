"""How a result ended, read off its scores. An error is an outcome of its own and never a score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.metrics.base import Metric, Score, ScoreStatus
from benchmarks.models import Outcome

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
