from __future__ import annotations

import asyncio

import pytest

from benchmarks.providers.heeding_cancel import heeding_cancel


async def deaf_call() -> str:
    """A call that loses a cancellation, as a client may."""
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        return "reply"
    return "never"


async def test_a_lost_cancellation_is_found_again() -> None:
    task = asyncio.create_task(heeding_cancel(deaf_call()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_result_passes_through() -> None:
    assert await heeding_cancel(asyncio.sleep(0, "reply")) == "reply"
