"""What nobody foresaw, on our side of the wire: it ends one result with its reason, never the run."""

from __future__ import annotations

import logging

from benchmarks.metrics.base import DeterministicMetric, Item, Score, ScoreStatus
from benchmarks.providers.base import ProviderError

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
