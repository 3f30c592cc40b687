"""What a provider takes and gives: one chat request in, one reply out, or a ``ProviderError`` that says why.

A provider is the way to a model. It makes exactly one attempt; retries, limits, budgets and breakers belong to the
engine, which decides by the fields of the error. Nothing here knows the database, the settings or Django.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, TypedDict, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from benchmarks.outbound import Outbound

Message = Mapping[str, Any]
"""One message in OpenAI chat form: ``role``, ``content`` (text or parts), and tool fields where they apply."""


def text_of(message: Message) -> str:
    """The text of a message, without its other parts."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


ErrorKind = Literal[
    "rate_limited",
    "timeout",
    "connection",
    "server",
    "bad_response",
    "bad_request",
    "authentication",
    "not_found",
    "redirect",
    "too_large",
    "unsupported",
]


@dataclass(eq=False)
class ProviderError(Exception):
    """One attempt without an answer.

    ``retryable``: the same request can succeed later. ``systemic``: every other request fails for the same reason (a
    bad key, an unknown model, a wrong address), so a run can stop early. ``retry_after`` is in seconds. ``refused``
    names the parameters that the model refuses, if that is the reason. The message never contains a key or a complete
    response body.
    """

    kind: ErrorKind
    message: str
    _: KW_ONLY
    status: int | None = None
    retry_after: float | None = None
    retryable: bool = False
    systemic: bool = False
    refused: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call that a model made. ``arguments`` is ``None`` if ``raw_arguments`` is not a JSON object."""

    id: str
    name: str
    arguments: dict[str, Any] | None
    raw_arguments: str
    returned: Mapping[str, Any] = field(default_factory=dict)
    """Fields that the vendor wants back with the call, such as Gemini's signature of it."""

    @property
    def malformed(self) -> bool:
        return self.arguments is None or not self.name


@dataclass(frozen=True, slots=True)
class BaselineContext:
    """What the built-in baseline models may read. No other provider reads or sends it.

    ``choices`` are the distinct reference answers of comparable tasks, ``majority`` is the most frequent of them,
    ``blind`` is the answer to a canvas question by the best rule that does not see the canvas, else the majority, and
    ``salt`` (the run's seed, the task and the repeat) makes the random baseline repeatable.
    ``known_answer`` is the stored answer of a task made for judge calibration. ``turns`` are the reference answers to
    the turns of a scripted conversation before the last.
    """

    expected_output: str
    expected_tools: Sequence[Mapping[str, Any]] = ()
    choices: Sequence[str] = ()
    majority: str = ""
    blind: str = ""
    salt: str = ""
    known_answer: str = ""
    turns: Sequence[str] = ()

    def of_turn(self, number: int) -> BaselineContext:
        """What may be read for a turn, counted from 0."""
        return replace(self, expected_output=self.turns[number]) if number < len(self.turns) else self


@dataclass(frozen=True, slots=True)
class AskedTask:
    """What a system under test may know of a task beside its messages; ``input`` if it is not the last of them alone.

    ``conversation_id`` is the same for all requests of one conversation, and another for each attempt at one.
    """

    id: str = ""
    input: str = ""
    context: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    conversation_id: str = ""

    def of_turn(self, number: int, conversation_id: str) -> AskedTask:
        """What is told in a turn of a conversation, counted from 0: ``input`` is that of the first."""
        return replace(self, input="" if number else self.input, conversation_id=conversation_id)


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request to ``model``, which is its name without the provider's prefix. What is ``None`` is not sent.

    ``extra`` is sent as it is, last. ``names`` are the endpoint's names of ``max_tokens`` and ``seed``, if they differ.
    ``stream`` is ``None`` where the provider's own setting decides.
    """

    model: str
    messages: Sequence[Message]
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    tools: Sequence[Mapping[str, Any]] = ()
    response_format: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    stream: bool | None = None
    baseline: BaselineContext | None = None
    task: AskedTask | None = None


@dataclass(frozen=True, slots=True)
class ChatReply:
    """One complete answer. Token counts are ``None`` if the endpoint reports none; durations are in milliseconds.

    ``reasoning_tokens`` are part of ``tokens_out``, and ``cached_tokens``, read from the vendor's prompt cache, of
    ``tokens_in``. ``text`` is the answer without the model's thinking, which is in ``reasoning``.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = "stop"
    refusal: str | None = None
    reasoning: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    model: str = ""
    fingerprint: str = ""
    """Of the configuration that answered, where an endpoint sends one (OpenAI's ``system_fingerprint``)."""
    duration_ms: float = 0.0
    first_byte_ms: float | None = None
    first_token_ms: float | None = None
    """Until the first token of thinking, answer or tool call; only of a streamed reply."""
    pause_seconds: float | None = None
    """How long the endpoint will refuse further requests, because nothing is left of a rate limit."""
    notes: tuple[str, ...] = ()
    """What a reader of the answer must know: replaced characters, token counts that make no sense."""
    returned: Mapping[str, Any] = field(default_factory=dict)
    """Fields that the vendor wants back in the message with the tool calls, such as signed thinking."""
    retrieved: tuple[str, ...] | None = None
    """Passages that a system looked up for the answer; ``None`` if it does not say."""
    cost_usd: float | None = None
    """What the answer cost by the system's own account."""
    steps: tuple[Mapping[str, Any], ...] = ()
    """What a system did for the answer, as ``Step.as_json`` writes it."""


class Times(TypedDict, total=False):
    """The durations of a ``ChatReply``."""

    duration_ms: float
    first_byte_ms: float | None
    first_token_ms: float | None


@dataclass(frozen=True, slots=True)
class ListedPrice:
    """US dollars per million tokens, as an endpoint or a table lists them; ``cached`` if cached input has a price."""

    input: float
    output: float
    cached: float | None = None


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model that an endpoint lists, by its name there; its context window in tokens, and its price, if the endpoint
    says so."""

    name: str
    context_length: int | None = None
    price: ListedPrice | None = None


Count = TypeVar("Count", int, float)


def known_sum(*counts: Count | None) -> Count | None:
    """The sum of token counts or costs; ``None`` if one is unknown."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


MAX_RETRY_AFTER_SECONDS = 120.0


class Section(BaseModel):
    """A part of the configuration."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


Seconds = Annotated[float, Field(gt=0)]


class Timeouts(Section):
    """Seconds. ``first_byte`` also limits every later silence of a reply that is not streamed, ``stream_silence`` that
    between two events of one that is; ``whole`` runs from the start to the last byte."""

    connect: Seconds = 10.0
    """Seconds to connect"""
    first_byte: Seconds = 120.0
    """Seconds until the response begins, and longest silence after that"""
    stream_silence: Seconds = 60.0
    """Longest silence between two events of a streamed response, in seconds"""
    whole: Seconds = 300.0
    """Seconds until the response ends"""


class Limits(Section):
    """What one model of one provider allows, over all workers together. ``None`` is unlimited."""

    max_in_flight: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """Requests in flight for each model"""
    requests_per_minute: Annotated[int, Field(ge=1)] | None = None
    """Requests started per minute"""
    tokens_per_minute: Annotated[int, Field(ge=1)] | None = None
    """Estimated tokens of prompts and answers per minute"""


class RetryPolicy(Section):
    """At most ``max_attempts`` attempts. Between them a random wait of up to ``base_seconds``, doubled each time and
    capped: exponential backoff with full jitter, so that requests that failed together do not return together.

    A ``Retry-After`` of the endpoint comes before that wait and has its own cap. One longer than ``cap_seconds`` does
    not count as an attempt; instead the request is given up ``max_wait_seconds`` after the first of them.
    """

    max_attempts: Annotated[int, Field(ge=1, le=20)] = 5
    """Attempts at one request"""
    base_seconds: Annotated[float, Field(ge=0)] = 0.5
    """Upper bound of the first random wait in seconds, doubled with each attempt"""
    cap_seconds: Annotated[float, Field(ge=0)] = 30.0
    """Limit of that wait; a `Retry-After` comes before it"""
    max_wait_seconds: Annotated[float, Field(ge=0, le=86_400)] = 600.0
    """How long a run waits for an endpoint whose `Retry-After` is longer than `cap_seconds`"""

    def seconds_before_next(
        self, attempt: int, error: ProviderError, uniform: Callable[[float, float], float]
    ) -> float:
        """The wait after attempt number ``attempt`` (from 1) failed."""
        jitter = uniform(0.0, min(self.cap_seconds, self.base_seconds * 2.0 ** min(attempt - 1, 60)))
        return min(error.retry_after or 0.0, MAX_RETRY_AFTER_SECONDS) + jitter


class JudgeSettings(Section):
    """How judges are asked. ``None`` is not sent; ``max_tokens`` limit the verdict, and ``reasoning_tokens`` are added
    for models that think."""

    temperature: Annotated[float, Field(ge=0, le=2)] | None = 0.0
    """Temperature of judges; `null` leaves it out"""
    max_tokens: Annotated[int, Field(ge=64, le=1_000_000)] = 2_048
    """Max tokens of a judge's response, without its thinking"""
    reasoning_tokens: Annotated[int, Field(ge=0, le=1_000_000)] = 8_192
    """Tokens added to that limit for judges that think"""
    effort: Annotated[str, Field(min_length=1, max_length=40)] | None = None
    """`reasoning_effort` of judges"""
    structured_output: Literal["json_schema", "json_object", "none"] = "json_schema"
    """Form in which verdicts are requested"""


@dataclass(frozen=True, slots=True)
class ProviderSpec:
    """What is configured for a provider. Secrets are not part of ``repr``."""

    name: str
    kind: str = "openai_compatible"
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    timeouts: Timeouts = field(default_factory=Timeouts)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    stream: bool = False
    outbound: Outbound | None = None
    """What it may connect to, if its address was entered on a page; no limit for one of codeforge.yaml."""
    system: Any = None
    """The ``SystemOptions`` of a system under test."""


class Provider(ABC):
    """The way to the models of one endpoint. One instance serves all runs of a worker, on one event loop."""

    host: str | None = None
    port: int | None = None
    """Of its endpoint; none if it has no endpoint."""
    is_system: ClassVar[bool] = False
    """Whether it leads to a whole system, which calls its own tools and may be named without a model."""
    streams: bool = False
    """Whether it asks for streamed replies where a request does not say."""

    def __init__(self, spec: ProviderSpec) -> None:
        """Contact nothing yet. Raises ``ValueError`` if the spec cannot work."""
        self.name = spec.name

    @abstractmethod
    async def complete(self, request: ChatRequest) -> ChatReply:
        """Send the request once. Raises ``ProviderError`` without a usable answer, whatever the remote cause."""

    async def list_models(self) -> list[ListedModel]:
        """The models that the endpoint lists, which costs no tokens. Raises ``ProviderError`` like ``complete``."""
        raise ProviderError("unsupported", f"{self.name}: This kind of provider does not list its models.")

    async def close(self) -> None:  # noqa: B027 - most providers hold nothing to close
        """Release connections. Called once, on the event loop that used the provider."""
