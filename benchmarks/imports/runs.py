"""The common form of a run that another tool made: what was asked, what came back, how it was scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from benchmarks.metrics.base import Score


class ImportProblem(Exception):
    """A file that cannot be taken over. The message says where in it, what is wrong, and what is wanted instead."""


@dataclass(frozen=True, slots=True)
class ExternalTask:
    """What was asked. ``id`` is unique in the run."""

    id: str
    input: str
    expected_output: str = ""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalResult:
    """One task asked once. It has an ``error`` and no scores, or an answer. Unknown numbers are ``None``."""

    task_id: str
    repeat: int = 1
    answer: str = ""
    reasoning: str = ""
    messages: Sequence[Mapping[str, Any]] = ()
    tool_calls: Sequence[Mapping[str, Any]] = ()
    scores: Mapping[str, Score] = field(default_factory=dict)
    """By the metric's name, as in ``ExternalRun.metrics``."""
    error: str | None = None
    cancelled: bool = False
    """Never asked, or never answered: the run was ended before."""
    finish_reason: str = ""
    duration_ms: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    cached: bool = False
    finished_at: datetime | None = None
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalRun:
    """One model on one set of tasks. A file may hold several; ``part`` tells them apart and never changes."""

    format: str
    part: str = ""
    model: str
    name: str
    """Of the set of tasks."""
    tasks: Sequence[ExternalTask]
    results: Sequence[ExternalResult]
    metrics: Sequence[str]
    """Names of the metrics, the one that decides right and wrong first."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What else the file says about the run: versions, the revision, notes."""
    shortfall: str = ""
    """Why the run is not whole, in words; empty where it is."""
    started_at: datetime | None = None
    completed_at: datetime | None = None
