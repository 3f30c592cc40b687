from __future__ import annotations

import asyncio

import pytest

from benchmarks.providers.shared_limits import cancelable


async def call_that_loses_its_cancellation() -> str:
    """A call that loses a cancellation, as a client may."""
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        return "reply"
    return "never"


async def test_a_cancellation_that_the_client_loses_is_raised_again() -> None:
    task = asyncio.create_task(cancelable(call_that_loses_its_cancellation()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_result_passes_through() -> None:
    assert await cancelable(asyncio.sleep(0, "reply")) == "reply"
