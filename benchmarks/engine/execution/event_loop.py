"""The event loop of a worker process, on a thread of its own.

All executors of a worker share it, and with it connections and limits. Their own threads meanwhile use the database.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

try:
    from uvloop import new_event_loop
except ImportError:  # it has no build for every platform
    from asyncio import new_event_loop

T = TypeVar("T")

SWITCH_SECONDS = 0.002
"""How long a busy thread keeps the interpreter while others want it.

An executor releases it at each message to the database. With the default of 5 ms it would wait that long for the loop
to hand it back, a dozen times per batch; much less wakes threads more often than they get on.
"""


class EngineLoop:
    """An event loop that runs in a daemon thread from its first use on."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting = threading.Lock()

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._running())

    def call(self, function: Callable[..., object], *args: Any) -> None:
        """Schedule a plain function on the loop. Functions run in the order of their calls."""
        self._running().call_soon_threadsafe(function, *args)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                sys.setswitchinterval(SWITCH_SECONDS)
                self._loop = new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="engine-loop", daemon=True).start()
            return self._loop


ENGINE_LOOP = EngineLoop()
