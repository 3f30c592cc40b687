"""Limits that all workers share through Redis, and limits per minute; without Redis, each worker keeps its own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import TypeVar

from limits import RateLimitItem, RateLimitItemPerMinute
from limits.aio.storage import Storage as RateStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from limits.errors import StorageError
from redis.asyncio import Redis
from redis.exceptions import RedisError

from benchmarks.providers.base import Limits

log = logging.getLogger(__name__)
T = TypeVar("T")

_OUTAGE_SECONDS = 5.0
_SHORTEST_WAIT_S = 0.01
_LONGEST_WAIT_S = 1.0
_REUSED_SECONDS = 0.2
"""How long a worker uses a slot for one request after the other before another worker can have it, or keeps it idle."""
_LOOKED_EVERY_SECONDS = 0.05
_REDIS_ERRORS = (RedisError, RuntimeError)
"""``RuntimeError`` is uvloop's, for a connection that it has closed because its network went away."""

_TAKE = """
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ms)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', ms - 100)
redis.call('ZREM', KEYS[2], ARGV[1])
local others = redis.call('ZCARD', KEYS[2])
local limit = tonumber(ARGV[3])
local granted = math.min(#ARGV - 4, limit - redis.call('ZCARD', KEYS[1]))
if others > 0 then granted = math.min(granted, math.ceil(limit / (others + 1)) - tonumber(ARGV[2])) end
if granted < 1 then
  redis.call('ZADD', KEYS[2], ms, ARGV[1])
  redis.call('PEXPIRE', KEYS[2], 100)
  return 0
end
for i = 5, 4 + granted do redis.call('ZADD', KEYS[1], ms + ARGV[4], ARGV[i]) end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return granted
"""
"""Add as many of the slots ARGV[5…] as are free of ARGV[3], for ARGV[4] ms. The clock is that of Redis.

Worker ARGV[1] holds ARGV[2] slots. While others wait, it gets no more than its share: KEYS[2] has the workers that were
refused within the last 100 ms. Not all of them can have their share while a slot is free, so one of them gets it.
"""

_RENEW = """
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
local lost = {}
for i = 2, #ARGV do
  if redis.call('ZSCORE', KEYS[1], ARGV[i]) then
    redis.call('ZADD', KEYS[1], ms + ARGV[1], ARGV[i])
  else
    lost[#lost + 1] = ARGV[i]
  end
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return lost
"""
"""Keep slots ARGV[2…] for ARGV[1] ms from now, and return those that have expired meanwhile, which stay free."""


class Outage:
    """Remembers for a few seconds that Redis failed, so that not every request waits to find that out again."""

    def __init__(self, consequence: str) -> None:
        """``consequence`` is what the log says does not work meanwhile."""
        self._consequence = consequence
        self._until = float("-inf")

    @property
    def lasts(self) -> bool:
        return time.monotonic() < self._until

    def begin(self, error: Exception) -> None:
        log.warning("%s for %g s, because Redis failed: %s", self._consequence, _OUTAGE_SECONDS, error)
        self._until = time.monotonic() + _OUTAGE_SECONDS


async def cancelable(call: Awaitable[T]) -> T:
    """The result of a call of the Redis client, unless the task was canceled meanwhile.

    Seen with redis 8.1 on Python 3.11: a cancellation that arrives together with the response is lost inside the
    client, so a loop around the call would never end. Not for cleaning up after a cancellation, which it would cut off.
    """
    result = await call
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
    return result


class WindowRates:
    """Requests and tokens per minute of one model, in sliding-window counters of the ``limits`` library.

    Their cost does not grow with the number of tokens, as that of a log would.
    """

    def __init__(
        self,
        name: str,
        limits: Limits,
        storage: RateStorage,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._name = name
        self._requests, self._tokens = (
            None if amount is None else RateLimitItemPerMinute(amount)
            for amount in (limits.requests_per_minute, limits.tokens_per_minute)
        )
        self._windows = SlidingWindowCounterRateLimiter(storage)
        self._sleep = sleep
        self._first_in_queue = asyncio.Lock()
        self._outage = Outage(f"the limits per minute of {name} are not enforced")

    async def take(self, tokens: int) -> None:
        """Wait for room. A request larger than a minute's tokens waits for an empty window.

        If Redis cannot be reached, the request passes: the endpoint's own limit holds it back then.
        """
        async with self._first_in_queue:
            if self._outage.lasts:
                return
            try:
                await self._wait_for(self._requests, "requests", 1)
                await self._wait_for(self._tokens, "tokens", tokens)
            except (StorageError, RuntimeError) as error:
                self._outage.begin(error)

    async def _wait_for(self, item: RateLimitItem | None, unit: str, cost: int) -> None:
        if item is None or cost <= 0:
            return
        cost = min(cost, item.amount)
        while not await cancelable(self._windows.hit(item, self._name, unit, cost=cost)):
            window = await self._windows.get_window_stats(item, self._name, unit)
            wait = window.reset_time - time.time()
            await self._sleep(min(max(wait, _SHORTEST_WAIT_S), _LONGEST_WAIT_S))


class RedisSlots:
    """The slots of one model, in a sorted set by the time they expire.

    A slot is renewed while its request lasts, so those of a killed worker are free again after ``seconds``. Requests
    that wait together ask for their slots in one command. A slot that is given back stays with this worker, and its
    next request takes it without asking Redis, until it is ``reused_seconds`` old and another worker waits. An idle
    worker keeps a slot for a quarter of a second at most.
    """

    def __init__(
        self,
        redis: Redis,
        name: str,
        limit: int,
        *,
        seconds: float = 15.0,
        poll_seconds: float = 0.02,
        reused_seconds: float = _REUSED_SECONDS,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._redis = redis
        self._key = f"codeforge:slots:{name}"
        self._waiting_key = f"codeforge:waiting:{name}"
        self._worker = uuid.uuid4().hex
        self._limit = limit
        self._seconds = seconds
        self._poll_seconds = poll_seconds
        self._reused_seconds = reused_seconds
        self._sleep = sleep
        self._take = redis.register_script(_TAKE)
        self._renew = redis.register_script(_RENEW)
        self._first_in_queue = asyncio.Lock()
        self._queued = 0
        self._held: dict[str, float] = {}  # with the moment of the grant, by time.monotonic
        self._spare: dict[str, float] = {}  # with the moment since which no request uses it
        self._looked_at = float("-inf")
        self._others_wait = False
        self._renewing: asyncio.Task[None] | None = None
        self._returning: asyncio.Task[None] | None = None
        self._outage = Outage(f"the limit in flight of {name} is kept by each worker for itself")

    async def take(self) -> str | None:
        """Wait for a slot; ``None`` if Redis cannot be reached, and then each worker keeps the limit for itself."""
        self._queued += 1
        try:
            async with self._first_in_queue:
                if self._outage.lasts:
                    return None
                while not self._spare:
                    await self._ask_for(min(self._queued, self._limit))
                    if not self._spare:
                        await self._sleep(self._poll_seconds * random.uniform(0.5, 1.5))
                return self._spare.popitem()[0]
        except _REDIS_ERRORS as error:
            self._outage.begin(error)
            return None
        finally:
            self._queued -= 1

    async def give_back(self, slot: str) -> None:
        """Keep the slot for the next request, or free it for another worker. If Redis cannot be reached, it expires."""
        if slot not in self._held:  # It expired while this worker was frozen, and may be another's by now.
            return
        self._keep(slot)
        if self._is_due(slot) and await self._another_waits():
            await self._free([spare for spare in self._spare if self._is_due(spare)])

    async def close(self) -> None:
        running = [task for task in (self._renewing, self._returning) if task is not None]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await self._free([*self._spare])

    async def _ask_for(self, count: int) -> None:
        """Ask for that many slots; those that are granted are spare then."""
        slots = [uuid.uuid4().hex for _ in range(count)]
        arguments: list[str | int] = [self._worker, len(self._held), self._limit, int(self._seconds * 1000), *slots]
        try:
            granted = await cancelable(self._take(keys=[self._key, self._waiting_key], args=arguments))
        except asyncio.CancelledError:
            await self._free(slots)  # Redis may have granted them in the moment of the cancellation
            raise
        now = time.monotonic()
        for slot in slots[:granted]:
            self._held[slot] = now
            self._keep(slot)
        if self._held and (self._renewing is None or self._renewing.done()):
            self._renewing = asyncio.create_task(self._keep_renewing())

    def _keep(self, slot: str) -> None:
        self._spare[slot] = time.monotonic()
        if self._returning is None or self._returning.done():
            self._returning = asyncio.create_task(self._keep_returning())

    def _is_due(self, slot: str) -> bool:
        return time.monotonic() - self._held[slot] >= self._reused_seconds

    async def _another_waits(self) -> bool:
        """Whether a worker was refused a slot, as far as was known a moment ago."""
        now = time.monotonic()
        if now - self._looked_at >= _LOOKED_EVERY_SECONDS:
            self._looked_at = now
            with contextlib.suppress(*_REDIS_ERRORS):
                self._others_wait = bool(await cancelable(self._redis.exists(self._waiting_key)))
        return self._others_wait

    async def _free(self, slots: list[str]) -> None:
        for slot in slots:
            self._held.pop(slot, None)
            self._spare.pop(slot, None)
        if slots:
            with contextlib.suppress(*_REDIS_ERRORS):
                await self._redis.zrem(self._key, *slots)

    async def _keep_returning(self) -> None:
        while self._spare:
            await asyncio.sleep(_LOOKED_EVERY_SECONDS)
            idle_since = time.monotonic() - _REUSED_SECONDS
            await self._free([slot for slot, since in self._spare.items() if since <= idle_since])

    async def _keep_renewing(self) -> None:
        while self._held:
            await asyncio.sleep(self._seconds / 3)
            if self._held:
                with contextlib.suppress(*_REDIS_ERRORS):
                    arguments: list[str | int] = [int(self._seconds * 1000), *self._held]
                    for lost in await cancelable(self._renew(keys=[self._key], args=arguments)):
                        self._held.pop(lost.decode(), None)
                        self._spare.pop(lost.decode(), None)


class RedisPauses:
    """The latest pause of one model. Redis is asked at most every ``every_seconds``."""

    def __init__(
        self, redis: Redis, name: str, *, every_seconds: float = 0.5, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._redis = redis
        self._key = f"codeforge:pause:{name}"
        self._every_seconds = every_seconds
        self._clock = clock
        self._checked_at = float("-inf")
        self._known: bytes | None = None

    async def publish(self, seconds: float) -> None:
        """Make the other workers wait for ``seconds``."""
        self._known = uuid.uuid4().hex.encode()
        with contextlib.suppress(*_REDIS_ERRORS):
            await self._redis.set(self._key, self._known, px=max(1, int(seconds * 1000)))

    async def news(self) -> float:
        """Seconds to wait because of a pause that another worker published and that is new to this one; else 0."""
        now = self._clock()
        if now - self._checked_at < self._every_seconds:
            return 0.0
        self._checked_at = now
        try:
            async with self._redis.pipeline(transaction=True) as pipeline:
                pipeline.get(self._key)
                pipeline.pttl(self._key)
                published, left_ms = await cancelable(pipeline.execute())
        except _REDIS_ERRORS:
            return 0.0
        if published is None or published == self._known:
            return 0.0
        self._known = published
        return float(max(0, left_ms)) / 1000
