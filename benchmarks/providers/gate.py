"""Limits on the requests to one model of one provider: every request enters the gate first and leaves it at its end.

A gate belongs to one worker process and one event loop. All runs of the worker pass the same gate, first come, first
served, so a small run does not wait for a large one. Limits shared with other workers come in through ``slots``,
``rates`` and ``pauses``; a gate without them never waits for anything outside its process.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import TYPE_CHECKING

from benchmarks.providers.base import Limits, ProviderError

if TYPE_CHECKING:  # they need Redis, and a gate without them does not
    from benchmarks.providers.shared_limits import RedisPauses, RedisSlots, WindowRates

_PAUSE_SECONDS = 1.0
"""How long all requests wait after a 429 that does not say how long."""
_LONGEST_PAUSE_SECONDS = 120.0
_LONGEST_PAUSE_BEFORE_REFUSAL = 30.0
"""An endpoint's "nothing left" is a forecast, and many refill continuously: a refusal with its own wait costs less than
a pause until the limit is full again."""


@dataclass(slots=True)
class Ticket:
    """One request inside a gate."""

    entered_at: float = 0.0
    slot: str | None = None
    pause_to_share: float = 0.0


class AdaptiveLimit:
    """The maximum of requests in flight, found as TCP finds its window: additive increase, multiplicative decrease.

    It starts at ``ceiling``, halves when the endpoint says slow down, and grows by one for every full round of answers
    while it is what holds requests back. ``value`` is ``None`` without a ceiling and without a reason for a limit.
    """

    def __init__(self, ceiling: int | None = None) -> None:
        self._ceiling = ceiling
        self._exact: float | None = ceiling
        self._cut_at = float("-inf")

    @property
    def value(self) -> int | None:
        return None if self._exact is None else int(self._exact)

    def admits_beside(self, in_flight: int) -> bool:
        """Whether one more request may join ``in_flight`` others."""
        return self._exact is None or in_flight < int(self._exact)

    def slowed(self, in_flight: int, sent_at: float, now: float) -> bool:
        """The endpoint refused a request sent at ``sent_at``. Returns whether that halved the limit.

        It halves once a round: requests sent before the last cut say nothing about the limit after it.
        """
        if sent_at < self._cut_at:
            return False
        reached = in_flight if self._exact is None else min(self._exact, in_flight)
        self._exact = max(1.0, reached / 2)
        self._cut_at = now
        return True

    def answered(self, in_flight: int) -> None:
        if self._exact is None or in_flight < int(self._exact):
            return
        self._exact += 1 / self._exact
        if self._ceiling is not None:
            self._exact = min(self._exact, self._ceiling)


@dataclass(eq=False)
class Gate:
    """``enter`` before a request, ``record`` when its outcome is known, ``leave`` at its end, whatever happened."""

    limits: InitVar[Limits | None] = None
    _: KW_ONLY
    rates: WindowRates | None = None
    slots: RedisSlots | None = None
    pauses: RedisPauses | None = None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    in_flight: int = field(default=0, init=False)
    _waiting: deque[asyncio.Future[None]] = field(default_factory=deque, init=False)
    _paused_until: float = field(default=float("-inf"), init=False)
    _asked_until: float = field(default=float("-inf"), init=False)

    def __post_init__(self, limits: Limits | None) -> None:
        self._limit = AdaptiveLimit(limits.max_in_flight if limits else None)

    @property
    def limit(self) -> int | None:
        """The maximum of requests in flight at this moment; ``None`` is unlimited."""
        return self._limit.value

    @property
    def paused_for(self) -> float:
        """Seconds until the next request may leave; 0 without a pause."""
        return max(0.0, self._paused_until - self.clock())

    @property
    def asked_to_wait(self) -> float:
        """Seconds for which the endpoint still asks to wait, however long; 0 as soon as it has answered anything."""
        return max(0.0, self._asked_until - self.clock())

    async def enter(self, tokens: int = 0) -> Ticket:
        """Wait until a request of ``tokens``, by estimate, may be sent."""
        await self._wait_for_slot()
        ticket = Ticket()
        try:
            if self.slots is not None:
                ticket.slot = await self.slots.take()
            if self.rates is not None:
                await self.rates.take(tokens)
            await self._wait_out_pauses()
        except BaseException:
            await self.leave(ticket)
            raise
        ticket.entered_at = self.clock()
        return ticket

    def record(self, ticket: Ticket, error: ProviderError | None, pause_seconds: float | None = None) -> None:
        """Learn from the outcome: an answer raises the limit, a 429 or a ``Retry-After`` slows all requests down.

        ``pause_seconds`` came with an answer: nothing is left of the endpoint's limit for that time.
        """
        if error is None:
            self._limit.answered(self.in_flight)
            self._asked_until = float("-inf")
            if pause_seconds:
                until = self.clock() + min(pause_seconds, _LONGEST_PAUSE_BEFORE_REFUSAL)
                self._paused_until = max(self._paused_until, until)
        elif error.retryable and (error.kind == "rate_limited" or error.retry_after is not None):
            pause = _PAUSE_SECONDS if error.retry_after is None else error.retry_after
            self._asked_until = max(self._asked_until, self.clock() + (error.retry_after or 0.0))
            ticket.pause_to_share = self._slow_down(pause, ticket.entered_at)

    async def leave(self, ticket: Ticket) -> None:
        """Make room for the next request, and share a new pause with the other workers."""
        self._free_slot()
        if self.slots is not None and ticket.slot is not None:
            await self.slots.give_back(ticket.slot)
        if self.pauses is not None and ticket.pause_to_share:
            await self.pauses.publish(ticket.pause_to_share)

    def _slow_down(self, seconds: float, sent_at: float) -> float:
        """Pause, and halve the limit once a round; returns the pause if it is news to the other workers."""
        now = self.clock()
        pause = min(seconds, _LONGEST_PAUSE_SECONDS)
        self._paused_until = max(self._paused_until, now + pause)
        return pause if self._limit.slowed(self.in_flight, sent_at, now) else 0.0

    async def _wait_out_pauses(self) -> None:
        while True:
            if self.pauses is not None and (seconds := await self.pauses.news()):
                # During a pause, the news is about refusals that this worker has already reacted to.
                self._slow_down(seconds, sent_at=float("-inf") if self.paused_for else self.clock())
            if not self.paused_for:
                return
            await self.sleep(self.paused_for)

    async def _wait_for_slot(self) -> None:
        if not self._waiting and self._limit.admits_beside(self.in_flight):
            self.in_flight += 1
            return
        admitted = asyncio.get_running_loop().create_future()
        self._waiting.append(admitted)
        try:
            await admitted
        except asyncio.CancelledError:
            # Whoever admits a request counts it at once. One that is canceled in the same moment gives its slot back.
            if admitted.done() and not admitted.cancelled():
                self._free_slot()
            elif admitted in self._waiting:
                self._waiting.remove(admitted)
            raise

    def _free_slot(self) -> None:
        self.in_flight -= 1
        while self._waiting and self._limit.admits_beside(self.in_flight):
            admitted = self._waiting.popleft()
            if not admitted.cancelled():
                self.in_flight += 1
                admitted.set_result(None)
