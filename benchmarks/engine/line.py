"""The line of one lane to its models: sends requests with retries, until it is told to send no more."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from benchmarks.providers.base import ChatReply, ChatRequest, Provider
from benchmarks.providers.gate import Gate
from benchmarks.providers.retrying import Attempt, RetryPolicy, complete_with_retries


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
