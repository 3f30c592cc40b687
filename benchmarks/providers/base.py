"""What a provider takes and gives: one chat request in, one reply out, or a ``ProviderError`` that says why.

A provider is the way to reach a model. It makes exactly one attempt; retries, limits, budgets and breakers belong to
the engine, which reads them off the error. Nothing here knows the database, the settings or Django.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Message = Mapping[str, Any]
"""One message in OpenAI chat form: ``role``, ``content`` (text or parts), and tool fields where they apply."""

ErrorKind = Literal[
    "rate_limited",
    "timeout",
    "connection",
    "server",
    "bad_response",
    "bad_request",
    "auth",
    "not_found",
    "too_large",
    "unsupported",
]


class ProviderError(Exception):
    """One attempt that brought no answer.

    ``retryable`` says whether the same request can succeed later; ``systemic`` says that every other request will
    fail for the same reason (a bad key, an unknown model, a dead address), so a run may stop early. ``retry_after`` is
    in seconds. The message never holds a key or a whole reply body.
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        retryable: bool = False,
        systemic: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.status = status
        self.retry_after = retry_after
        self.retryable = retryable
        self.systemic = systemic


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call that a model made. ``arguments`` is ``None`` where ``raw_arguments`` is not a JSON object."""

    id: str
    name: str
    arguments: dict[str, Any] | None
    raw_arguments: str

    @property
    def malformed(self) -> bool:
        return self.arguments is None or not self.name


@dataclass(frozen=True, slots=True)
class BaselineContext:
    """What the built-in baseline models may look at, and no real provider ever reads or sends.

    ``choices`` are the distinct reference answers of comparable tasks, ``majority`` the most frequent of them, and
    ``salt`` makes a random baseline repeatable (it names the run's seed, the task and the repeat).
    """

    expected_output: str
    expected_tools: Sequence[Mapping[str, Any]] = ()
    choices: Sequence[str] = ()
    majority: str = ""
    salt: str = ""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request to ``model`` (its name at the provider, without the provider's prefix). ``None`` means: not sent."""

    model: str
    messages: Sequence[Message]
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    tools: Sequence[Mapping[str, Any]] = ()
    response_format: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    baseline: BaselineContext | None = None


@dataclass(frozen=True, slots=True)
class ChatReply:
    """One whole answer. Token counts are ``None`` where the endpoint reports none; durations are milliseconds."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = "stop"
    refusal: str | None = None
    reasoning: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    model: str = ""
    duration_ms: float = 0.0
    first_byte_ms: float | None = None
    notes: tuple[str, ...] = ()
    """What the reader of the answer must know of its reading: characters replaced, usage that made no sense."""


def known_sum(*counts: int | None) -> int | None:
    """Token counts together; ``None`` where one is unknown."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


class Provider(ABC):
    """A way to reach models. Instances live as long as the worker, are used by many runs at once on one event loop."""

    name: str

    @abstractmethod
    async def complete(self, request: ChatRequest) -> ChatReply:
        """Ask once. Raise ``ProviderError`` where no usable answer came; raise nothing else for anything remote."""

    async def close(self) -> None:  # noqa: B027 - most providers hold nothing to close
        """Release connections. Called once, on the loop that used the provider."""
