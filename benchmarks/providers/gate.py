"""What stands between a run and one model of one provider: every request enters it, and leaves it when it is over.

A gate belongs to one worker process and one event loop. All runs of the worker pass the same gate, first come, first
served, so a small run does not wait for a large one. What the other workers do comes in through ``Leases``, ``Rates``
and ``Pauses``; a gate that has none of them never waits for anything outside its process.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from benchmarks.providers.adaptive_limit import AdaptiveLimit
from benchmarks.providers.base import ProviderError

_PAUSE_SECONDS = 1.0
"""How long everybody waits after a 429 that does not say how long."""
_LONGEST_PAUSE_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What one model of one provider allows, over all workers together. ``None`` is unlimited."""

    max_in_flight: int | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None


@dataclass(slots=True)
class Ticket:
    """One request inside a gate."""

    entered_at: float = 0.0
    lease: str | None = None
    pause_to_share: float = 0.0


class Rates(Protocol):
    async def take(self, tokens: int) -> None:
        """Wait until one more request with so many tokens fits the limits per minute, and count it."""


class Leases(Protocol):
    async def take(self) -> str | None:
        """Wait for a slot among all workers. ``None`` where the other workers are out of reach."""

    async def give_back(self, lease: str) -> None: ...


class Pauses(Protocol):
    async def publish(self, seconds: float) -> None:
        """Tell the other workers to wait."""

    async def news(self) -> float:
        """Seconds for which another worker newly asks everybody to wait; 0 without news."""


class Gate:
    """``enter`` before a request, ``heard`` when its outcome is known, ``leave`` when it is over, whatever happened."""

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        rates: Rates | None = None,
        leases: Leases | None = None,
        pauses: Pauses | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._limit = AdaptiveLimit(limits.max_in_flight if limits else None)
        self._rates = rates
        self._leases = leases
        self._pauses = pauses
        self._clock = clock
        self._sleep = sleep
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._paused_until = float("-inf")
        self.in_flight = 0

    @property
    def limit(self) -> int | None:
        """The most requests in flight at this moment; ``None`` is unlimited."""
        return self._limit.value

    @property
    def paused_for(self) -> float:
        """Seconds until the next request may leave; 0 where none holds it back."""
        return max(0.0, self._paused_until - self._clock())

    async def enter(self, tokens: int = 0) -> Ticket:
        """Wait until a request of so many tokens, by estimate, may be sent."""
        await self._take_slot()
        ticket = Ticket()
        try:
            if self._leases is not None:
                ticket.lease = await self._leases.take()
            if self._rates is not None:
                await self._rates.take(tokens)
            await self._wait_out_pauses()
        except BaseException:
            await self.leave(ticket)
            raise
        ticket.entered_at = self._clock()
        return ticket

    def heard(self, ticket: Ticket, error: ProviderError | None) -> None:
        """Learn from how the request ended: an answer speeds up, a 429 or a ``Retry-After`` slows everybody down."""
        if error is None:
            self._limit.answered(self.in_flight)
        elif error.retryable and (error.kind == "rate_limited" or error.retry_after is not None):
            pause = _PAUSE_SECONDS if error.retry_after is None else error.retry_after
            ticket.pause_to_share = self._slow_down(pause, ticket.entered_at)

    async def leave(self, ticket: Ticket) -> None:
        """Make room for the next. Whatever the other workers must know is told them on the way."""
        self._give_slot()
        if self._leases is not None and ticket.lease is not None:
            await self._leases.give_back(ticket.lease)
        if self._pauses is not None and ticket.pause_to_share:
            await self._pauses.publish(ticket.pause_to_share)

    def _slow_down(self, seconds: float, sent_at: float) -> float:
        """Pause, and halve the limit once a round; returns the pause where it is news to the other workers."""
        now = self._clock()
        pause = min(seconds, _LONGEST_PAUSE_SECONDS)
        self._paused_until = max(self._paused_until, now + pause)
        return pause if self._limit.slowed(self.in_flight, sent_at, now) else 0.0

    async def _wait_out_pauses(self) -> None:
        while True:
            if self._pauses is not None:
                seconds = await self._pauses.news()
                if seconds:  # while paused, the news is of what this worker has reacted to already
                    self._slow_down(seconds, sent_at=float("-inf") if self.paused_for else self._clock())
            if not self.paused_for:
                return
            await self._sleep(self.paused_for)

    async def _take_slot(self) -> None:
        if not self._waiting and self._limit.admits_beside(self.in_flight):
            self.in_flight += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn  # whoever wakes it has counted it in already
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give_slot()
            elif turn in self._waiting:
                self._waiting.remove(turn)
            raise

    def _give_slot(self) -> None:
        self.in_flight -= 1
        while self._waiting and self._limit.admits_beside(self.in_flight):
            turn = self._waiting.popleft()
            if not turn.cancelled():
                self.in_flight += 1
                turn.set_result(None)
