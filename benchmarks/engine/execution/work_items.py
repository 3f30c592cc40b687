"""What moves between an executor and its request pool: plain values without ORM objects.

Question → Answer → Scored → ToJudge → Judged
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from benchmarks.metrics.base import Item, JudgeUsage, Score
from benchmarks.metrics.conversations import most_turns
from benchmarks.providers.base import AskedTask, BaselineContext, ChatReply, Message, ProviderError, ToolCall, known_sum
from benchmarks.providers.retrying import Attempt


@dataclass(frozen=True, slots=True)
class Prompt:
    """Messages in OpenAI chat form, tools as OpenAI function schemas, the reference to an image, if any, parameters
    that are sent as they are, the most requests that one answer may take, and the messages of the user that follow
    the answer, one after each."""

    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, object], ...] = ()
    picture: Mapping[str, object] | None = None
    extra: Mapping[str, object] = field(default_factory=dict)
    steps: int = 1
    turns: tuple[Message, ...] = ()
    user: Mapping[str, Any] | None = None
    """The simulated user, whose messages follow the answers in place of ``turns``."""

    @property
    def most_turns(self) -> int:
        return most_turns(self.user) if self.user else 1 + len(self.turns)

    @property
    def most_requests(self) -> int:
        return self.steps * self.most_turns

    def hash(self) -> str:
        """SHA-256 of the messages, turns, tools and extra parameters in a canonical form (sorted keys)."""
        sent: dict[str, object] = {"messages": list(self.messages), "tools": list(self.tools)}
        if self.extra:
            sent["extra"] = self.extra
        if self.turns:
            sent["turns"] = list(self.turns)
        if self.user:
            sent["user"] = self.user
        return hashlib.sha256(orjson.dumps(sent, option=orjson.OPT_SORT_KEYS)).hexdigest()


@dataclass(frozen=True, slots=True)
class Question:
    """One claimed result, ready to be sent. ``item`` is what metrics see, still without an answer."""

    result_id: int
    repeat: int
    prompt: Prompt
    item: Item
    tool_results: Mapping[str, object] = field(default_factory=dict)
    baseline: BaselineContext | None = None
    asked: AskedTask | None = None
    """What a system under test is told of the task; ``None`` for models."""
    reserved_usd: float = 0.0
    seed: int | None = None
    """What this repeat sends as its seed."""
    cache_key: str | None = None
    cached: ChatReply | None = None


@dataclass(slots=True)
class Answer:
    """The last reply to a question with all messages on the way, or the error that ended it.

    Tokens are summed over all ``replies``, ``None`` without any or if the endpoint did not report them for each;
    reasoning and cached tokens, which endpoints leave out where there are none, are the sums of those reported. The
    duration is that of the answered requests in milliseconds, without waiting for limits or retries.
    """

    question: Question
    messages: list[Message]
    reply: ChatReply | None = None
    error: ProviderError | None = None
    tool_calls: list[ToolCall] = field(default_factory=list)
    steps: list[Mapping[str, Any]] = field(default_factory=list)
    """What a system says that it did, over all turns."""
    attempts: list[Attempt] = field(default_factory=list)
    tokens_in: int | None = None
    tokens_out: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    """What the replies cost by the system's own account, if each of them says it."""
    duration_ms: float | None = None
    first_token_ms: float | None = None
    """Of the first reply, if it was streamed."""
    generated: int = 0
    """Tokens after the first of each streamed reply…"""
    generating_ms: float = 0.0
    """…and the time in which they came."""
    replies: int = 0
    """Replies of the endpoint, including those before an error: each of them is paid for."""
    from_cache: bool = False
    user_spent: JudgeUsage | None = None
    """What the simulated user's messages took."""
    notes: list[str] = field(default_factory=list)

    def count_user(self, reply: ChatReply) -> None:
        """Add a reply of the simulated user to its usage."""
        spent = self.user_spent or JudgeUsage(tokens_in=0, tokens_out=0)
        self.user_spent = JudgeUsage(
            calls=spent.calls + 1,
            tokens_in=known_sum(spent.tokens_in, reply.tokens_in),
            tokens_out=known_sum(spent.tokens_out, reply.tokens_out),
            cached_tokens=spent.cached_tokens + (reply.cached_tokens or 0),
        )

    def count(self, reply: ChatReply) -> None:
        """Add a reply of the endpoint to the counts."""
        first = self.replies == 0
        self.replies += 1
        self.tool_calls += reply.tool_calls
        self.steps += reply.steps
        self.duration_ms = (self.duration_ms or 0.0) + reply.duration_ms
        self.tokens_in = reply.tokens_in if first else known_sum(self.tokens_in, reply.tokens_in)
        self.tokens_out = reply.tokens_out if first else known_sum(self.tokens_out, reply.tokens_out)
        self.cost_usd = reply.cost_usd if first else known_sum(self.cost_usd, reply.cost_usd)
        self.reasoning_tokens = _reported_sum(self.reasoning_tokens, reply.reasoning_tokens)
        self.cached_tokens = _reported_sum(self.cached_tokens, reply.cached_tokens)
        if reply.first_token_ms is not None:
            self.first_token_ms = reply.first_token_ms if first else self.first_token_ms
            if reply.tokens_out:
                self.generated += reply.tokens_out - 1
                self.generating_ms += reply.duration_ms - reply.first_token_ms

    @property
    def tokens_per_second(self) -> float | None:
        """Speed after the first token; ``None`` unless streamed with known tokens."""
        return 1000 * self.generated / self.generating_ms if self.generated and self.generating_ms > 0 else None

    @property
    def result_id(self) -> int:
        return self.question.result_id

    @property
    def text(self) -> str:
        """The reply's text, or its refusal; empty without a reply."""
        return (self.reply.text or self.reply.refusal or "") if self.reply else ""

    @property
    def retrieved(self) -> list[str] | None:
        """The passages that a system looked up for its last reply; ``None`` for models.

        A system that says nothing of it has looked up nothing, unless the task gives the passages: otherwise it could
        leave the list out where that helps.
        """
        if self.reply is None or self.question.asked is None:
            return None
        item, passages = self.question.item, self.reply.retrieved
        if passages is None:
            return None if item.context and not item.expected_context else []
        return list(passages)

    @property
    def response_model(self) -> str:
        return self.reply.model[:200] if self.reply else ""

    @property
    def response_fingerprint(self) -> str | None:
        return (self.reply.fingerprint[:100] or None) if self.reply else None

    @property
    def finish_reason(self) -> str:
        if self.reply is None:
            return ""
        return "refusal" if self.reply.refusal is not None else self.reply.finish_reason[:40]


def _reported_sum(*counts: int | None) -> int | None:
    reported = [count for count in counts if count is not None]
    return sum(reported) if reported else None


@dataclass(frozen=True, slots=True)
class Scored:
    """An answer with the scores it has so far; ``to_judge`` if deferred metrics still have to score it."""

    answer: Answer
    scores: Mapping[str, Score]
    to_judge: bool
    judge_reserve_usd: float = 0.0

    @property
    def result_id(self) -> int:
        return self.answer.question.result_id


@dataclass(frozen=True, slots=True)
class ToJudge:
    """One answered result and the deferred metrics that still have to score it.

    ``scores`` are stored already; ``rescored`` were computed just now and are not stored yet.
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
    """Scores of deferred metrics that came since the last ``Judged`` of the same request.

    ``unfinished``: more of them follow. ``aborted``: the others are missing, because the lease ended before they came.
    ``unscored``: usage of the judge that led to no score.
    """

    request: ToJudge
    scores: Mapping[str, Score]
    unfinished: bool = False
    aborted: bool = False
    unscored: tuple[JudgeUsage, ...] = ()

    @property
    def result_id(self) -> int:
        return self.request.result_id

    @property
    def usages(self) -> list[JudgeUsage]:
        """All usage of the judge."""
        return [*(score.usage for score in self.scores.values() if score.usage), *self.unscored]

    @property
    def rest(self) -> ToJudge:
        """The request once these scores are stored."""
        scores = {**self.request.scores, **self.request.rescored, **self.scores}
        return replace(self.request, scores=scores, rescored={})

    def followed_by(self, later: Judged) -> Judged:
        """Both as one, to be stored at once."""
        return replace(later, request=self.request, scores={**self.scores, **later.scores})
