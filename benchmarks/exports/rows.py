"""What one exported result holds, whatever the format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class ScoreCell:
    value: float | None
    status: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One result. Durations are milliseconds, costs US dollars; ``None`` is unknown, never 0."""

    run: int
    result: int
    position: int
    task_id: str
    task_name: str
    repeat: int
    difficulty: str
    group: str
    n_shapes: int | None
    state: str
    outcome: str
    input: str
    expected_output: str
    actual_output: str | None
    error_kind: str
    error_message: str
    duration_ms: float | None
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None
    judge_cost_usd: float | None
    attempts: int
    finish_reason: str
    finished_at: datetime | None
    texts_pruned_at: datetime | None = None
    """Since when the answer, its tool calls and the reasons of its scores are no longer kept."""
    scores: dict[str, ScoreCell] = field(default_factory=dict)
    tool_calls: Sequence[Any] = ()


PLAIN_FIELDS = tuple(name for name in ResultRow.__slots__ if name not in ("scores", "tool_calls"))
"""The fields that are one value, in the order of the columns."""
