"""What the workers share through Redis: slots in flight, and the news that an endpoint wants everybody to wait."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
import uuid
from collections.abc import Awaitable, Callable

from redis.asyncio import Redis
from redis.exceptions import RedisError

from benchmarks.providers.heeding_cancel import heeding_cancel
from benchmarks.providers.outage import Outage

_TAKE = """
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ms)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], ms + ARGV[3], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
"""
"""Add lease ARGV[1] for ARGV[3] ms unless ARGV[2] leases are running. The clock is that of Redis, the same for all."""

_RENEW = """
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], 'XX', ms + ARGV[1], ARGV[i]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
"""
"""Let leases ARGV[2…] run for ARGV[1] ms from now; one that was given back meanwhile stays gone."""


class RedisLeases:
    """Slots of one model, in a sorted set by the time they run out.

    A lease is renewed while its request lasts, so the slots of a killed worker come back after ``seconds``.
    """

    def __init__(
        self,
        redis: Redis,
        name: str,
        most: int,
        *,
        seconds: float = 15.0,
        poll_seconds: float = 0.02,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._redis = redis
        self._key = f"codeforge:leases:{name}"
        self._most = most
        self._seconds = seconds
        self._poll_seconds = poll_seconds
        self._sleep = sleep
        self._take = redis.register_script(_TAKE)
        self._renew = redis.register_script(_RENEW)
        self._turn = asyncio.Lock()
        self._held: set[str] = set()
        self._renewing: asyncio.Task[None] | None = None
        self._outage = Outage(f"the limit in flight of {name} is kept by each worker for itself")

    async def take(self) -> str | None:
        """Wait for a slot; ``None`` where Redis is out of reach, and then each worker keeps the limit for itself."""
        lease = uuid.uuid4().hex
        try:
            async with self._turn:  # only the first in this worker's queue asks Redis
                if self._outage.lasts:
                    return None
                arguments: list[str | int] = [lease, self._most, int(self._seconds * 1000)]
                while not await heeding_cancel(self._take(keys=[self._key], args=arguments)):
                    await self._sleep(self._poll_seconds * random.uniform(0.5, 1.5))
        except RedisError as error:
            self._outage.begin(error)
            return None
        except BaseException:
            await self.give_back(lease)  # it may have been granted in the moment of the cancelling
            raise
        self._held.add(lease)
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._keep_renewing())
        return lease

    async def give_back(self, lease: str) -> None:
        """Free the slot; where Redis does not hear it, the lease runs out by itself."""
        self._held.discard(lease)
        with contextlib.suppress(RedisError):
            await self._redis.zrem(self._key, lease)

    async def close(self) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)

    async def _keep_renewing(self) -> None:
        while self._held:
            await asyncio.sleep(self._seconds / 3)
            if self._held:
                with contextlib.suppress(RedisError):
                    arguments: list[str | int] = [int(self._seconds * 1000), *self._held]
                    await heeding_cancel(self._renew(keys=[self._key], args=arguments))


class RedisPauses:
    """The latest pause of one model. Asked at most every ``every_seconds``, whatever the number of requests."""

    def __init__(
        self, redis: Redis, name: str, *, every_seconds: float = 0.5, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._redis = redis
        self._key = f"codeforge:pause:{name}"
        self._every_seconds = every_seconds
        self._clock = clock
        self._asked_at = float("-inf")
        self._known: bytes | None = None

    async def publish(self, seconds: float) -> None:
        """Tell the other workers to wait for so long."""
        self._known = uuid.uuid4().hex.encode()
        with contextlib.suppress(RedisError):
            await self._redis.set(self._key, self._known, px=max(1, int(seconds * 1000)))

    async def news(self) -> float:
        """Seconds to wait by a pause that another worker published and that was not reported before; else 0."""
        now = self._clock()
        if now - self._asked_at < self._every_seconds:
            return 0.0
        self._asked_at = now
        try:
            async with self._redis.pipeline(transaction=True) as pipeline:
                pipeline.get(self._key)
                pipeline.pttl(self._key)
                published, left_ms = await heeding_cancel(pipeline.execute())
        except RedisError:
            return 0.0
        if published is None or published == self._known:
            return 0.0
        self._known = published
        return float(max(0, left_ms)) / 1000
