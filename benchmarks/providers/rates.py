"""Requests and tokens per minute, counted by the ``limits`` library: in this process, or in Redis for all workers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from limits import RateLimitItem, RateLimitItemPerMinute
from limits.aio.storage import Storage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from limits.errors import StorageError

from benchmarks.providers.gate import Limits
from benchmarks.providers.heeding_cancel import heeding_cancel
from benchmarks.providers.outage import Outage

_SHORTEST_WAIT_S = 0.01
_LONGEST_WAIT_S = 1.0


class WindowRates:
    """Sliding-window counters of one model: their cost does not grow with the tokens, as that of a log would."""

    def __init__(
        self,
        name: str,
        limits: Limits,
        storage: Storage,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._name = name
        self._requests = _per_minute(limits.requests_per_minute)
        self._tokens = _per_minute(limits.tokens_per_minute)
        self._windows = SlidingWindowCounterRateLimiter(storage)
        self._sleep = sleep
        self._turn = asyncio.Lock()
        self._outage = Outage(f"the limits per minute of {name} are not kept")

    async def take(self, tokens: int) -> None:
        """Wait for room. A request larger than a whole minute's tokens waits for an empty window.

        Where Redis is out of reach the request passes: the endpoint's own limit is then what holds it back.
        """
        async with self._turn:  # only the first in the queue asks the windows
            if self._outage.lasts:
                return
            try:
                await self._wait_for(self._requests, "requests", 1)
                await self._wait_for(self._tokens, "tokens", tokens)
            except StorageError as error:
                self._outage.begin(error)

    async def _wait_for(self, item: RateLimitItem | None, what: str, cost: int) -> None:
        if item is None or cost <= 0:
            return
        cost = min(cost, item.amount)
        while not await heeding_cancel(self._windows.hit(item, self._name, what, cost=cost)):
            window = await self._windows.get_window_stats(item, self._name, what)
            wait = window.reset_time - time.time()
            await self._sleep(min(max(wait, _SHORTEST_WAIT_S), _LONGEST_WAIT_S))


def _per_minute(amount: int | None) -> RateLimitItem | None:
    return None if amount is None else RateLimitItemPerMinute(amount)
