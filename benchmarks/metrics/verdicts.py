"""Short ways to make a ``Score``, shared by the metrics."""

from __future__ import annotations

from typing import Any

from benchmarks.metrics.base import Score, ScoreStatus
from benchmarks.metrics.extraction import Extraction

MAX_RECORDED = 2_000
"""Characters of an extraction that are kept with a score; the whole answer is stored with the result."""


def scored(value: float, reason: str = "", extraction: Extraction | None = None, **detail: Any) -> Score:
    return Score(ScoreStatus.SCORED, float(value), reason, recorded(extraction), detail=_detail(extraction, detail))


def passed_or_not(passed: bool, reason: str, extraction: Extraction | None = None, **detail: Any) -> Score:
    return scored(1.0 if passed else 0.0, reason, extraction, **detail)


def unparsable(reason: str, extraction: Extraction | None = None, **detail: Any) -> Score:
    return Score(ScoreStatus.UNPARSABLE, None, reason, recorded(extraction), detail=_detail(extraction, detail))


def not_applicable(reason: str) -> Score:
    return Score(ScoreStatus.NOT_APPLICABLE, None, reason)


def metric_error(reason: str, extraction: Extraction | None = None, **detail: Any) -> Score:
    """The metric could not be taken, through no fault of the answer: a sandbox that failed, a pattern without end."""
    return Score(ScoreStatus.METRIC_ERROR, None, reason, recorded(extraction), detail=_detail(extraction, detail))


def recorded(extraction: Extraction | None) -> str | None:
    return None if extraction is None else shortened(extraction.text, MAX_RECORDED)


def shortened(text: str, limit: int = 80) -> str:
    """``text`` cut to ``limit`` characters, with an ellipsis where something was left out."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _detail(extraction: Extraction | None, detail: dict[str, Any]) -> dict[str, Any]:
    return detail if extraction is None else {"extraction": extraction.how, **detail}
