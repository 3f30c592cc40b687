"""The gates of one worker: one for each model at each provider, shared with the other workers where there is Redis."""

from __future__ import annotations

from typing import Any

from limits.aio.storage import MemoryStorage, RedisStorage, Storage
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from benchmarks.providers.gate import Gate, Limits
from benchmarks.providers.rates import WindowRates
from benchmarks.providers.shared_limits import RedisLeases, RedisPauses

_CONNECTIONS = 16
_PATIENCE_S = 3.0


class Gates:
    """Makes gates and keeps them. Belongs to one event loop; ``close`` ends it.

    Without ``redis_url`` every limit holds for this worker alone.
    """

    def __init__(self, redis_url: str | None = None) -> None:
        self._redis = _redis_at(redis_url) if redis_url else None
        self._storage = _storage_at(redis_url) if redis_url else MemoryStorage()
        self._gates: dict[tuple[str, str], Gate] = {}
        self._leases: list[RedisLeases] = []

    def of(self, provider: str, model: str, limits: Limits) -> Gate:
        """The gate of a model. The limits of its first use hold as long as this worker."""
        key = (provider, model)
        if key not in self._gates:
            self._gates[key] = self._make(f"{provider}/{model}", limits)
        return self._gates[key]

    async def close(self) -> None:
        """End what runs for the gates. Nobody may be inside one."""
        for leases in self._leases:
            await leases.close()
        if self._redis is not None:
            await self._redis.aclose()

    def _make(self, name: str, limits: Limits) -> Gate:
        per_minute = limits.requests_per_minute is not None or limits.tokens_per_minute is not None
        return Gate(
            limits,
            rates=WindowRates(name, limits, self._storage) if per_minute else None,
            leases=self._make_leases(name, limits.max_in_flight),
            pauses=RedisPauses(self._redis, name) if self._redis is not None else None,
        )

    def _make_leases(self, name: str, most: int | None) -> RedisLeases | None:
        if self._redis is None or most is None:
            return None
        leases = RedisLeases(self._redis, name, most)
        self._leases.append(leases)
        return leases


def _redis_at(url: str) -> Redis:
    """A client that waits for a free connection and gives up within seconds, as a request waits for it."""
    pool = BlockingConnectionPool.from_url(url, max_connections=_CONNECTIONS, timeout=_PATIENCE_S, **_connection())
    return Redis.from_pool(pool)


def _storage_at(url: str) -> Storage:
    return RedisStorage(
        f"async+{url}", wrap_exceptions=True, implementation="redispy", key_prefix="codeforge", **_connection()
    )


def _connection() -> dict[str, Any]:
    return {
        "socket_timeout": _PATIENCE_S,
        "socket_connect_timeout": _PATIENCE_S,
        "retry": Retry(NoBackoff(), 1),  # for a connection that Redis closed while it was idle
    }
