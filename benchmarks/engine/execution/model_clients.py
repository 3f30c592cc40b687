"""The line of one lane to its models: sends requests with retries, until it is told to send no more.

How this worker process reaches models: one provider object and one gate for each, made on first use and shared.
"""

from __future__ import annotations

import asyncio
import atexit
import os
from dataclasses import dataclass, field
from functools import cache

from django.conf import settings

from benchmarks.engine.execution.event_loop import ENGINE_LOOP
from benchmarks.providers.base import ChatReply, ChatRequest, Provider, ProviderSpec, Timeouts
from benchmarks.providers.gate import Gate, Limits
from benchmarks.providers.registered_providers import make_provider, split_model
from benchmarks.providers.retrying import Attempt, RetryPolicy, complete_with_retries
from benchmarks.providers.shared_limits import Gates


@dataclass(frozen=True, slots=True)
class Model:
    """A model as lanes reach it: its provider, its name there, and the limits it shares with everybody."""

    provider: Provider
    name: str
    gate: Gate
    policy: RetryPolicy = field(default_factory=RetryPolicy)


class Line:
    """Belongs to one lane. ``requests`` are those that were sent and may still be answered; ``begun`` says whether
    anything was sent for the lane's present unit of work.

    Once ``closed``, nothing is sent any more: no first attempt that waited for its turn, no retry, no further step of a
    conversation. Whoever tries is cancelled, as if its lane had been.
    """

    def __init__(self) -> None:
        self.closed = False
        self.begun = False
        self.requests: set[_Request] = set()

    async def ask(self, model: Model, request: ChatRequest) -> tuple[ChatReply, list[Attempt]]:
        """Ask with retries. Raises ``GaveUp``, or ``CancelledError`` where the line is closed."""
        sent = _Request(model.provider, self)
        try:
            return await complete_with_retries(
                sent, request, model.policy, model.gate, tokens=likely_tokens(request), sleep=sent.wait_to_retry
            )
        finally:
            self.requests.discard(sent)


class _Request(Provider):
    """Stands between the retries and the provider, so that the line knows what is out."""

    def __init__(self, provider: Provider, line: Line) -> None:
        self.name = provider.name
        self._provider = provider
        self._line = line

    async def complete(self, request: ChatRequest) -> ChatReply:
        self._refuse_if_closed()
        self._line.begun = True
        self._line.requests.add(self)
        return await self._provider.complete(request)

    async def wait_to_retry(self, seconds: float) -> None:
        self._line.requests.discard(self)
        self._refuse_if_closed()
        await asyncio.sleep(seconds)

    def _refuse_if_closed(self) -> None:
        if self._line.closed:
            raise asyncio.CancelledError("the line is closed")


def likely_tokens(request: ChatRequest) -> int:
    """What a request will count against a limit of tokens per minute: the prompt at four characters a token, and the
    answer as long as it may get, as endpoints count it when they admit a request."""
    characters = sum(len(str(message.get("content") or "")) for message in request.messages)
    return characters // 4 + (request.max_tokens or 0)


def model_client(name: str) -> Model:
    """The model named ``provider/model``. Raises ``ValueError`` where its provider is not configured (any more)."""
    provider, model = split_model(name)
    configured = settings.CODEFORGE.providers.get(provider)
    policy = RetryPolicy(**configured.retries.model_dump()) if configured else RetryPolicy(max_attempts=1)
    return Model(_provider(provider), model, _gates().of(provider, model, limits_of(name)), policy)


CLOSING_SECONDS = 2.0
_made: list[Provider] = []


@cache
def _provider(name: str) -> Provider:
    provider = make_provider(_spec(name))
    _made.append(provider)
    return provider


def _spec(name: str) -> ProviderSpec:
    if name == "baseline":
        return ProviderSpec(name=name, kind="baseline")
    configured = settings.CODEFORGE.providers.get(name)
    if configured is None:
        raise ValueError(f"provider {name!r} is not configured in codeforge.yaml")
    return ProviderSpec(
        name=name,
        kind=configured.kind,
        base_url=configured.base_url,
        api_key=configured.api_key(os.environ),
        timeouts=Timeouts(**configured.timeouts.model_dump()),
        headers=configured.headers,
    )


@cache
def _gates() -> Gates:
    return Gates(settings.REDIS_URL or None)


def limits_of(name: str) -> Limits:
    """The model's own limits, and its provider's where it has none."""
    config = settings.CODEFORGE
    configured = config.providers.get(split_model(name)[0])
    own = config.model(name).limits.model_dump(exclude_none=True)
    return Limits(**{**(configured.limits.model_dump() if configured else {}), **own})


def forget() -> None:
    """Close connections, and make providers and gates anew on their next use, from the configuration as it is then."""
    for provider in _made:
        ENGINE_LOOP.submit(provider.close()).result(CLOSING_SECONDS)
    if _made:
        ENGINE_LOOP.submit(_gates().close()).result(CLOSING_SECONDS)
    _made.clear()
    _provider.cache_clear()
    _gates.cache_clear()


atexit.register(forget)
