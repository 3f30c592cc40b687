"""One exported result, for every file format, and batches of bounded size."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class ScoreCell:
    value: float | None
    status: str
    reason: str = ""

    @property
    def unscored(self) -> str:
        """Why there is no value, or why the answer scores 0 without being read: ``status: reason``; else empty."""
        if self.status == "scored":
            return ""
        return f"{self.status}: {self.reason}" if self.reason else self.status


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One result. Durations are in milliseconds, costs in US dollars; ``None`` is unknown, never 0."""

    run: int
    model: str
    dataset: str
    dataset_version: str
    variant: str
    system_prompt: str
    prompt_template: str
    result: int
    position: int
    task_id: str
    task_name: str
    repeat: int
    seed: int | None
    """What this repeat sent; ``None`` without one, and of a run that was made elsewhere."""
    difficulty: str
    group: str
    n_shapes: int | None
    state: str
    outcome: str
    score: float | None
    """The score of the task: that of the metric which decided the outcome."""
    input: str
    expected_output: str
    actual_output: str | None
    error_kind: str
    error_message: str
    duration_ms: float | None
    first_token_ms: float | None
    tokens_per_second: float | None
    tokens_in: int | None
    tokens_out: int | None
    reasoning_tokens: int | None
    cached_tokens: int | None
    cost_usd: float | None
    judge_cost_usd: float | None
    user_cost_usd: float | None
    """Of the simulated user; part of ``cost_usd``. ``None`` without one."""
    attempts: int
    finish_reason: str
    response_model: str
    finished_at: datetime | None
    texts_pruned_at: datetime | None = None
    """When the answer, its tool calls and the reasons of its scores were pruned."""
    other_answers: str = ""
    labels: str = ""
    scores: dict[str, ScoreCell] = field(default_factory=dict)
    """Metric → its verdict."""
    tool_calls: Sequence[Any] = ()
    retrieved: Sequence[str] | None = None
    """Passages that a system under test looked up; ``None`` if it does not say."""


def score_column(metric: str) -> str:
    """The name of a metric's column in every file and data frame."""
    return f"score.{metric}"


def unscored_column(metric: str) -> str:
    """The name of the column with why the metric has no value."""
    return f"unscored.{metric}"


LISTS = ("tool_calls", "retrieved")
PLAIN_FIELDS = tuple(name for name in ResultRow.__slots__ if name not in ("scores", *LISTS))
"""The fields with a single value, in the order of the columns."""


def batches(
    items: Iterable[Item], size_of: Callable[[Item], int], max_size: int, max_items: float = math.inf
) -> Iterator[list[Item]]:
    """The items in lists that end at ``max_items``, or once their sizes add up to ``max_size``.

    Memory use stays constant, whether there are many small items or few large ones.
    """
    batch: list[Item] = []
    size = 0
    for item in items:
        batch.append(item)
        size += size_of(item)
        if len(batch) >= max_items or size >= max_size:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
