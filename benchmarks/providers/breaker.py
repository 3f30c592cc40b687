"""When to stop asking: a run fails early, with the reason, once it is plain that the next requests will fail too."""

from __future__ import annotations

from benchmarks.providers.base import ProviderError

_SAYS_NOTHING = frozenset({"too_large"})
"""Kinds that concern one prompt alone: they neither count nor clear the count."""


class Breaker:
    """Hears how every request ended, after its retries, and says when to stop.

    A systemic error trips at once while nothing has been answered yet. Once something was, a stray one (a firewall that
    dislikes a prompt answers 403 like a bad key) must repeat ``systemic_limit`` times in a row. Any other errors trip
    after ``consecutive_limit`` in a row. A tripped breaker stays tripped.
    """

    def __init__(self, *, consecutive_limit: int = 20, systemic_limit: int = 3) -> None:
        self._consecutive_limit = consecutive_limit
        self._systemic_limit = systemic_limit
        self._answered = False
        self._failures_in_row = 0
        self._systemic_in_row = 0
        self._reason: str | None = None

    @property
    def tripped(self) -> str | None:
        """Why to stop, for the reader; ``None`` while there is no reason to."""
        return self._reason

    def record(self, error: ProviderError | None) -> None:
        """Count one request that was answered (``None``) or given up with ``error``."""
        if error is None:
            self._answered = True
            self._failures_in_row = self._systemic_in_row = 0
            return
        if error.kind in _SAYS_NOTHING:
            return
        self._failures_in_row += 1
        self._systemic_in_row = self._systemic_in_row + 1 if error.systemic else 0
        if self._reason is None:
            self._reason = self._reason_to_stop(error)

    def _reason_to_stop(self, error: ProviderError) -> str | None:
        if self._systemic_in_row >= (self._systemic_limit if self._answered else 1):
            return f"every request would fail alike: {error.message}"
        if self._failures_in_row >= self._consecutive_limit:
            return f"{self._failures_in_row} requests failed in a row, the last one: {error.message}"
        return None
