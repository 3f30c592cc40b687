"""Asking until an answer comes or it is plain that none will: attempts, waits between them, and their record."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from benchmarks.providers.base import ChatReply, ChatRequest, ErrorKind, Provider, ProviderError
from benchmarks.providers.gate import Gate, Ticket
from benchmarks.tracing import span

Sleep = Callable[[float], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """At most ``max_attempts`` attempts. Between them a random wait of up to ``base_seconds``, doubled each time and
    capped (exponential backoff with full jitter, so that what failed together does not return together).

    A ``Retry-After`` of the endpoint comes before that wait, itself capped.
    """

    max_attempts: int = 5
    base_seconds: float = 0.5
    cap_seconds: float = 30.0
    retry_after_cap_seconds: float = 120.0

    def seconds_before_next(
        self, attempt: int, error: ProviderError, uniform: Callable[[float, float], float]
    ) -> float:
        """The wait after attempt number ``attempt`` (from 1) failed."""
        jitter = uniform(0.0, min(self.cap_seconds, self.base_seconds * 2.0 ** min(attempt - 1, 60)))
        return min(error.retry_after or 0.0, self.retry_after_cap_seconds) + jitter


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt. ``started_at`` is in seconds after the first wait began, ``waited_ms`` the wait just before it, at
    the gate and between attempts. ``error_kind`` is ``None`` for the attempt that was answered.
    """

    number: int
    started_at: float
    duration_ms: float
    error_kind: ErrorKind | None
    status: int | None
    message: str
    waited_ms: float


class GaveUp(Exception):
    """No answer after the last attempt that made sense; ``error`` is the last one's."""

    def __init__(self, error: ProviderError, attempts: list[Attempt]) -> None:
        super().__init__(error.message)
        self.error = error
        self.attempts = attempts


async def complete_with_retries(
    provider: Provider,
    request: ChatRequest,
    policy: RetryPolicy,
    gate: Gate,
    on_attempt: Callable[[Attempt], None] | None = None,
    *,
    tokens: int = 0,
    sleep: Sleep = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
    uniform: Callable[[float, float], float] = random.uniform,
) -> tuple[ChatReply, list[Attempt]]:
    """The answer and all attempts. Raises ``GaveUp``, which holds the attempts, where no answer comes.

    Every attempt passes the gate anew, counting ``tokens`` (an estimate of prompt and answer) against its limits; none
    is held during the wait. ``on_attempt`` hears each attempt as it ends. Cancelling leaves nothing behind.
    """
    began = waiting_since = clock()
    attempts: list[Attempt] = []
    while True:
        ticket = await gate.enter(tokens)
        started = clock()
        outcome = await _ask_once(provider, request, gate, ticket)
        ended = clock()
        error = outcome if isinstance(outcome, ProviderError) else None
        attempts.append(
            Attempt(
                number=len(attempts) + 1,
                started_at=started - began,
                duration_ms=(ended - started) * 1000,
                error_kind=error.kind if error else None,
                status=error.status if error else None,
                message=error.message if error else "",
                waited_ms=(started - waiting_since) * 1000,
            )
        )
        if on_attempt is not None:
            on_attempt(attempts[-1])
        if isinstance(outcome, ChatReply):
            return outcome, attempts
        if not outcome.retryable or len(attempts) >= policy.max_attempts:
            raise GaveUp(outcome, attempts) from outcome
        waiting_since = ended
        await sleep(policy.seconds_before_next(len(attempts), outcome, uniform))


async def _ask_once(provider: Provider, request: ChatRequest, gate: Gate, ticket: Ticket) -> ChatReply | ProviderError:
    """One attempt inside the gate, which hears of its outcome and is left in any case."""
    with span(
        f"chat {request.model}",
        gen_ai__operation__name="chat",
        gen_ai__provider__name=provider.name,
        gen_ai__request__model=request.model,
    ) as current:
        try:
            reply = await provider.complete(request)
        except ProviderError as error:
            gate.heard(ticket, error)
            current.set(http__response__status_code=error.status)
            current.failed(error.kind)
            return error
        else:
            gate.heard(ticket, None)
            current.set(gen_ai__usage__input_tokens=reply.tokens_in, gen_ai__usage__output_tokens=reply.tokens_out)
            return reply
        finally:
            await gate.leave(ticket)
