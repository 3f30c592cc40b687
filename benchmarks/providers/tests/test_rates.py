from __future__ import annotations

import time as real_time

import pytest
from limits.aio.storage import MemoryStorage

from benchmarks.providers.base import Limits
from benchmarks.providers.gates import Gates
from benchmarks.providers.shared_limits import WindowRates
from benchmarks.providers.tests.stand_ins import FakeTime


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    """Fake time for the windows too, which read the clock themselves."""
    fake = FakeTime()
    fake.now = 1_000_000 * 60.0  # a window begins
    monkeypatch.setattr(real_time, "time", fake.clock)
    return fake


def rates(time: FakeTime, **limits: int) -> WindowRates:
    return WindowRates("p/m", Limits(**limits), MemoryStorage(), sleep=time.sleep)


async def test_requests_within_the_limit_do_not_wait(time: FakeTime) -> None:
    windows = rates(time, requests_per_minute=10)
    for _ in range(10):
        await windows.take(0)
    assert time.slept == []


async def test_no_minute_sees_more_requests_than_its_limit(time: FakeTime) -> None:
    windows = rates(time, requests_per_minute=10)
    taken = []
    for _ in range(45):
        await windows.take(0)
        taken.append(time.now)
    for start in taken:
        assert sum(start <= moment < start + 60 for moment in taken) <= 11  # the library's window is an approximation
    assert 3 * 60 <= taken[-1] - taken[0] <= 5 * 60


async def test_tokens_are_counted_by_their_number(time: FakeTime) -> None:
    windows = rates(time, tokens_per_minute=1000)
    for tokens in (400, 600):
        await windows.take(tokens)
    assert time.slept == []
    await windows.take(1)
    assert time.slept


async def test_a_request_larger_than_a_minutes_tokens_passes_in_the_end(time: FakeTime) -> None:
    windows = rates(time, tokens_per_minute=1000)
    await windows.take(1)
    began = time.now
    await windows.take(50_000)
    assert 0 < time.now - began <= 121


async def test_a_worker_without_redis_keeps_one_gate_for_each_model() -> None:
    gates = Gates()
    limits = Limits(max_in_flight=2)
    assert gates.of("p", "a", limits) is gates.of("p", "a", limits)
    assert gates.of("p", "a", limits) is not gates.of("p", "b", limits)
    await gates.close()
