"""What a metric is: a named way to give one answer a score, or to say why it has none.

A metric declares what it needs, whether a judge model is asked, its range and its direction; the API, the form, the
admin and the documents read that declaration. Nothing here knows the database, the settings or Django.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Protocol

from benchmarks.providers.base import ToolCall


class ScoreStatus(StrEnum):
    """How a metric ended. Only ``SCORED`` carries a value; no other is ever counted as a zero."""

    SCORED = "scored"
    NOT_APPLICABLE = "not_applicable"
    UNPARSABLE = "unparsable"
    JUDGE_ERROR = "judge_error"
    METRIC_ERROR = "metric_error"
    """The metric itself could not be taken: its sandbox failed, or a pattern of the dataset does not end."""


@dataclass(frozen=True, slots=True)
class Item:
    """One answered task as a metric sees it. The optional hints come from the dataset's task."""

    input: str
    expected_output: str
    actual_output: str
    expected_tools: Sequence[Mapping[str, Any]] = ()
    tools_offered: bool = False
    """Whether the model could call tools at all, be it that none should be called."""
    tool_calls: Sequence[ToolCall] = ()
    context: Sequence[str] = ()
    tests: str | None = None
    schema: Mapping[str, Any] | None = None
    choices: Sequence[str] = ()
    pattern: str | None = None
    tolerance: float | None = None
    group: str = ""
    """The canvas task class that made the question; empty for YAML tasks."""
    duration_ms: float | None = None
    tokens_out: int | None = None


@dataclass(frozen=True, slots=True)
class JudgeUsage:
    """What the judge was asked and what that took, over all its calls for one score.

    Token counts are ``None`` where the endpoint did not report them for every reply. Calls that brought no reply count
    as calls and take no tokens.
    """

    calls: int = 0
    tokens_in: int | None = 0
    tokens_out: int | None = 0
    raw_reply: str = ""
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class Score:
    """One metric's verdict: a ``value`` exactly when ``status`` is ``SCORED``, else a ``reason`` why there is none."""

    status: ScoreStatus
    value: float | None = None
    reason: str = ""
    extracted: str | None = None
    """The part of the answer that was compared, where extraction took place, so that a wrong extraction is seen."""
    usage: JudgeUsage | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.value is not None) != (self.status is ScoreStatus.SCORED):
            raise ValueError(f"a score has a value exactly when it is scored, not {self.status} with {self.value}")


class Judge(Protocol):
    """The model behind judged metrics, reached through the engine: its limits, retries, cache and cost apply."""

    model: str

    async def ask(self, prompt: str, schema: Mapping[str, Any] | None = None) -> JudgeAnswer:
        """Send one prompt; ``schema`` asks for JSON of that form. Raises ``ProviderError`` after the last retry."""


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
    """A judge's reply. Token counts are ``None`` where the endpoint reports none; a kept reply took none."""

    text: str
    tokens_in: int | None
    tokens_out: int | None


class Metric(ABC):
    """Base of all metrics. ``name`` is the registry key, ``needs`` names the ``Item`` fields that must be there."""

    name: ClassVar[str]
    title: ClassVar[str]
    description: ClassVar[str]
    needs: ClassVar[frozenset[str]] = frozenset()
    judged: ClassVar[bool] = False
    range: ClassVar[tuple[float, float | None]] = (0.0, 1.0)
    """Lowest and highest value; ``None`` is unbounded (latency, length)."""
    unit: ClassVar[str] = ""
    higher_is_better: ClassVar[bool] = True
    passes_at: ClassVar[float] = 1.0
    """From this value on an answer counts as correct, from ``fails_at`` down as wrong, between them as partial."""
    fails_at: ClassVar[float] = 0.0
    decides_outcome: ClassVar[bool] = True
    """False for measurements such as latency, which say nothing about right and wrong."""
    blocking: ClassVar[bool] = False
    """True where ``score`` waits for a process: call it in a thread, not on the event loop."""

    def applies_to(self, item: Item) -> bool:
        """Whether the item carries all that this metric needs."""
        return all(bool(getattr(item, name)) for name in self.needs)

    def unavailable(self) -> str | None:
        """Why this metric cannot be taken on this machine as configured, or ``None``. Asked when a run is created."""
        return None


class DeterministicMetric(Metric):
    @abstractmethod
    def score(self, item: Item) -> Score:
        """Score without any model. Raises nothing for any text whatsoever."""


class JudgedMetric(Metric):
    judged = True
    passes_at = 0.7
    fails_at = 0.3

    def decided_without_judge(self, item: Item) -> Score | None:
        """The score where the item alone settles it (identical text), asked only by runs that chose to skip the judge
        there; ``None`` where the judge is needed."""
        return None

    @abstractmethod
    async def judge(self, item: Item, judge: Judge) -> Score:
        """Ask the judge. A judge that fails or answers nonsense gives ``JUDGE_ERROR`` with a reason, never a zero."""
