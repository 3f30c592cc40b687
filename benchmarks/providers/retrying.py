"""Attempts at one request, the waits between them and their record; and the breaker, which stops a hopeless run."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from benchmarks.providers.base import ChatReply, ChatRequest, ErrorKind, Provider, ProviderError, RetryPolicy
from benchmarks.providers.clean_text import full_sentence
from benchmarks.providers.gate import Gate, Ticket
from benchmarks.tracing import span
from benchmarks.worker_metrics import count_answer, count_error

_PROMPT_ERRORS = frozenset({"too_large"})
"""Kinds that concern a single prompt: they neither count nor reset the count."""


@dataclass(slots=True)
class Breaker:
    """Records how every request ended, after its retries, and says when to stop.

    A systemic error trips it at once while nothing has been answered. After the first answer, a stray one (a firewall
    that dislikes a prompt answers 403 like a bad key) must repeat ``systemic_limit`` times in a row; that waiting does
    not help (``rate_limited``) is never stray. Any other errors trip it after ``consecutive_limit`` in a row. A tripped
    breaker stays tripped.
    """

    consecutive_limit: int = 20
    systemic_limit: int = 3
    tripped: str | None = None
    """Why to stop, in words; ``None`` without a reason."""
    _answered: bool = False
    _failures_in_row: int = 0
    _systemic_in_row: int = 0

    def record(self, error: ProviderError | None) -> None:
        """Count one request that was answered (``None``) or failed with ``error``."""
        if error is None:
            self._answered = True
            self._failures_in_row = self._systemic_in_row = 0
            return
        if error.kind in _PROMPT_ERRORS:
            return
        self._failures_in_row += 1
        self._systemic_in_row = self._systemic_in_row + 1 if error.systemic else 0
        if self.tripped is not None:
            return
        certain = not self._answered or error.kind == "rate_limited"
        if self._systemic_in_row >= (1 if certain else self.systemic_limit):
            self.tripped = error.message
        elif self._failures_in_row >= self.consecutive_limit:
            self.tripped = f"{self._failures_in_row} consecutive requests failed. Last error: {error.message}"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt. ``started_at`` is in seconds after the first wait began; ``waited_ms`` is the wait before it, at
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
    """No answer after the last useful attempt; ``error`` is that of the last attempt."""

    def __init__(self, error: ProviderError, attempts: list[Attempt]) -> None:
        super().__init__(error.message)
        self.error = error
        self.attempts = attempts


async def complete_with_retries(
    provider: Provider,
    request: ChatRequest,
    policy: RetryPolicy,
    gate: Gate,
    *,
    tokens: int = 0,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
    uniform: Callable[[float, float], float] = random.uniform,
) -> tuple[ChatReply, list[Attempt]]:
    """The answer and all attempts. Raises ``GaveUp``, which has the attempts, if no answer comes.

    Every attempt passes the gate again and counts ``tokens`` (an estimate of prompt and answer) against its limits; no
    slot is held during a wait. Canceling leaves nothing behind.
    """
    began = waiting_since = clock()
    attempts: list[Attempt] = []
    long_waits, give_up_at = 0, math.inf
    ticket = await gate.enter(tokens)
    while True:
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
        if isinstance(outcome, ChatReply):
            return outcome, attempts
        if outcome.retryable and (outcome.retry_after or 0.0) > policy.cap_seconds:
            give_up_at = min(give_up_at, ended + policy.max_wait_seconds)
            long_waits += 1
        if not outcome.retryable or len(attempts) - long_waits >= policy.max_attempts:
            raise GaveUp(outcome, attempts) from outcome
        waiting_since = ended
        pause = policy.seconds_before_next(max(len(attempts) - long_waits, 1), outcome, uniform)
        left = give_up_at - ended
        # Decided before the wait, because uvloop's timers fire up to a millisecond early.
        if pause >= left:
            await sleep(max(left, 0.0))
            raise GaveUp(_waited_too_long(outcome, policy), attempts) from outcome
        try:
            # The gate has pauses of its own, and in front of it others wait as long as the endpoint asks.
            async with asyncio.timeout(None if math.isinf(left) else left):
                await sleep(pause)
                ticket = await gate.enter(tokens)
        except TimeoutError:
            raise GaveUp(_waited_too_long(outcome, policy), attempts) from outcome


def _waited_too_long(error: ProviderError, policy: RetryPolicy) -> ProviderError:
    """The error of a request whose endpoint asks for a longer wait than is allowed. All other requests get the same."""
    message = (
        f"{full_sentence(error.message)} The endpoint asks to wait, and the provider's `retries.max_wait_seconds` "
        f"({policy.max_wait_seconds:g}) have passed. Resume the run later"
    )
    return replace(error, kind="rate_limited", message=message, retryable=False, systemic=True)


async def _ask_once(provider: Provider, request: ChatRequest, gate: Gate, ticket: Ticket) -> ChatReply | ProviderError:
    """One attempt inside the gate, which records the outcome and is left in any case."""
    with span(
        f"chat {request.model}",
        "CLIENT",
        gen_ai__operation__name="chat",
        gen_ai__provider__name=provider.name,
        gen_ai__request__model=request.model,
        gen_ai__request__max_tokens=request.max_tokens,
        gen_ai__request__temperature=request.temperature,
        gen_ai__request__top_p=request.top_p,
        gen_ai__request__seed=request.seed,
        server__address=provider.host,
        server__port=provider.port,
    ) as current:
        try:
            reply = await provider.complete(request)
        except ProviderError as error:
            gate.record(ticket, error)
            current.set(http__response__status_code=error.status)
            current.failed(error.kind)
            count_error(provider.name, request.model, error.kind)
            return error
        else:
            gate.record(ticket, None, reply.pause_seconds)
            current.set(
                gen_ai__response__model=reply.model or None,
                gen_ai__response__finish_reasons=[reply.finish_reason],
                gen_ai__response__time_to_first_chunk=reply.first_token_ms and reply.first_token_ms / 1000,
                gen_ai__usage__input_tokens=reply.tokens_in,
                gen_ai__usage__output_tokens=reply.tokens_out,
                gen_ai__usage__cache_read__input_tokens=reply.cached_tokens,
                gen_ai__usage__reasoning__output_tokens=reply.reasoning_tokens,
            )
            seconds = reply.duration_ms / 1000
            count_answer(provider.name, request.model, seconds, reply.tokens_in, reply.tokens_out)
            return reply
        finally:
            await gate.leave(ticket)
