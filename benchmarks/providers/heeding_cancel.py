"""A guard around calls of the Redis client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def heeding_cancel(call: Awaitable[T]) -> T:
    """The call's result, unless the task was cancelled meanwhile.

    Seen with redis 8.1 on Python 3.11: a cancellation that arrives together with the reply is lost inside the client,
    and a loop around the call would go on for ever. Not for cleaning up after a cancellation, which it would cut short.
    """
    result = await call
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
    return result
