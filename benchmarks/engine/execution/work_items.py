"""What moves between a shift's clerk, who keeps the books, and its lanes, who ask: plain values, no ORM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.engine.execution.prompts import Prompt
from benchmarks.metrics.base import Item, JudgeUsage, Score
from benchmarks.providers.base import BaselineContext, ChatReply, ProviderError, ToolCall
from benchmarks.providers.retrying import Attempt


@dataclass(frozen=True, slots=True)
class Question:
    """One claimed result to be asked. ``item`` is what metrics will see, still without an answer."""

    result_id: int
    repeat: int
    prompt: Prompt
    item: Item
    tool_results: Mapping[str, Any] = field(default_factory=dict)
    baseline: BaselineContext | None = None
    reserved_usd: float = 0.0
    cache_key: str | None = None
    cached: ChatReply | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What asking brought: the last reply with everything said on the way, or the error that ended it.

    Tokens are summed over all ``replies``, ``None`` where the endpoint did not report them for each; the duration is
    that of the requests that were answered, without waiting for limits or retries, in milliseconds, ``None`` of none.
    """

    question: Question
    reply: ChatReply | None
    messages: Sequence[Mapping[str, Any]]
    tool_calls: tuple[ToolCall, ...] = ()
    error: ProviderError | None = None
    attempts: Sequence[Attempt] = ()
    tokens_in: int | None = None
    tokens_out: int | None = None
    duration_ms: float | None = None
    replies: int = 0
    """How many the endpoint sent, the ones before an error included: each of them is paid for."""
    from_cache: bool = False


@dataclass(frozen=True, slots=True)
class ToJudge:
    """One answered result and the judged metrics that still have to score it.

    ``scores`` are those it has already, ``rescored`` those that were taken anew just now and are not stored yet.
    """

    result_id: int
    item: Item
    metrics: tuple[str, ...]
    finish_reason: str = ""
    scores: Mapping[str, Score] = field(default_factory=dict)
    rescored: Mapping[str, Score] = field(default_factory=dict)
    reserved_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Judged:
    """The scores that judging brought, one for each metric that was asked for.

    ``broken_off`` says that some are missing, because the shift ended under it. ``kept`` are errors of an earlier
    judging that a failure of this one does not replace. ``unscored`` is what the judge was asked for without a new
    score coming of it.
    """

    request: ToJudge
    scores: Mapping[str, Score]
    broken_off: bool = False
    kept: Mapping[str, Score] = field(default_factory=dict)
    unscored: tuple[JudgeUsage, ...] = ()

    @property
    def all_scores(self) -> Mapping[str, Score]:
        """Every score that this judging leaves behind, to be stored."""
        return {**self.request.rescored, **self.scores, **self.kept}

    @property
    def usages(self) -> list[JudgeUsage]:
        """Everything the judge was asked."""
        return [*(score.usage for score in self.scores.values() if score.usage), *self.unscored]
