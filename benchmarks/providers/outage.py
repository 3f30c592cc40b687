"""Living without Redis for a while."""

from __future__ import annotations

import logging
import time

log = logging.getLogger(__name__)

_SECONDS = 5.0


class Outage:
    """Remembers for a few seconds that Redis failed, so that not every request waits to find that out again."""

    def __init__(self, consequence: str) -> None:
        """``consequence`` says in the log what is not as it should be meanwhile."""
        self._consequence = consequence
        self._until = float("-inf")

    @property
    def lasts(self) -> bool:
        return time.monotonic() < self._until

    def begin(self, error: Exception) -> None:
        log.warning("%s for %g s, because Redis failed: %s", self._consequence, _SECONDS, error)
        self._until = time.monotonic() + _SECONDS
