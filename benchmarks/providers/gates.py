"""The gates of one worker, one for each model, with the limits that it shares with other workers."""

from __future__ import annotations

from typing import Any

from limits.aio.storage import MemoryStorage, RedisStorage
from limits.aio.storage import Storage as RateStorage
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from benchmarks.providers.base import Limits
from benchmarks.providers.gate import Gate
from benchmarks.providers.shared_limits import RedisPauses, RedisSlots, WindowRates

_CONNECTIONS = 16
_REDIS_TIMEOUT_S = 3.0


class Gates:
    """The gates of one worker, one for each model. Belongs to one event loop, and ends with ``close``.

    Without ``redis_url`` every limit holds for this worker alone.
    """

    def __init__(self, redis_url: str | None = None) -> None:
        self._redis: Redis | None = None
        self._rate_storage: RateStorage = MemoryStorage()
        self._gates: dict[str, Gate] = {}
        self._slots: list[RedisSlots] = []
        if redis_url:
            # Every request waits for these calls, so they give up within seconds; one retry is for a connection
            # that Redis closed while it was idle.
            options: dict[str, Any] = {
                "socket_timeout": _REDIS_TIMEOUT_S,
                "socket_connect_timeout": _REDIS_TIMEOUT_S,
                "retry": Retry(NoBackoff(), 1),
            }
            pool = BlockingConnectionPool.from_url(
                redis_url, max_connections=_CONNECTIONS, timeout=_REDIS_TIMEOUT_S, **options
            )
            self._redis = Redis.from_pool(pool)
            self._rate_storage = RedisStorage(
                f"async+{redis_url}", wrap_exceptions=True, implementation="redispy", key_prefix="codeforge", **options
            )

    def of(self, provider: str, model: str, limits: Limits) -> Gate:
        """The gate of a model. The limits of its first use hold as long as the worker lives."""
        name = f"{provider}/{model}"
        if name not in self._gates:
            per_minute = limits.requests_per_minute is not None or limits.tokens_per_minute is not None
            slots = None
            if self._redis is not None and limits.max_in_flight is not None:
                slots = RedisSlots(self._redis, name, limits.max_in_flight)
                self._slots.append(slots)
            self._gates[name] = Gate(
                limits,
                rates=WindowRates(name, limits, self._rate_storage) if per_minute else None,
                slots=slots,
                pauses=RedisPauses(self._redis, name) if self._redis is not None else None,
            )
        return self._gates[name]

    async def close(self) -> None:
        """End what runs for the gates. No request may be inside one."""
        for slots in self._slots:
            await slots.close()
        if self._redis is not None:
            await self._redis.aclose()
