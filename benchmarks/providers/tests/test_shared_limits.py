"""Two workers that share limits through a real Redis. Each ``Gates`` here is what one worker process has."""

from __future__ import annotations

import asyncio
import os
import socket
import uuid
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest
from redis.asyncio import Redis
from redis.asyncio.connection import AbstractConnection

from benchmarks.providers.base import Limits
from benchmarks.providers.gate import Gate
from benchmarks.providers.gates import Gates
from benchmarks.providers.shared_limits import RedisPauses, RedisSlots
from benchmarks.providers.tests.stand_ins import FakeTime, rate_limited

URL = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/15")


@pytest.fixture(scope="module", autouse=True)
def _redis_is_there() -> None:
    address = urlsplit(URL)
    try:
        socket.create_connection((address.hostname or "127.0.0.1", address.port or 6379), timeout=1).close()
    except OSError:
        missing = f"no Redis at {address.hostname}:{address.port}; start one or set REDIS_URL"
        if os.environ.get("CODEFORGE_REQUIRE_SERVICES") == "1":
            pytest.fail(missing)
        pytest.skip(missing)


@pytest.fixture
async def redis() -> AsyncIterator[Redis]:
    client = Redis.from_url(URL)
    yield client
    await client.aclose()


@pytest.fixture
async def workers() -> AsyncIterator[tuple[Gates, Gates]]:
    pair = Gates(URL), Gates(URL)
    yield pair
    for gates in pair:
        await gates.close()


@pytest.fixture
def model() -> str:
    """A model of its own for each test, so that no counts are left over."""
    return uuid.uuid4().hex


async def test_two_workers_together_keep_to_the_limit_in_flight(workers: tuple[Gates, Gates], model: str) -> None:
    inside = most = 0

    async def visit(gate: Gate) -> None:
        nonlocal inside, most
        ticket = await gate.enter()
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0.002)
        inside -= 1
        await gate.leave(ticket)

    gates = [worker.of("p", model, Limits(max_in_flight=4)) for worker in workers]
    await asyncio.gather(*(visit(gate) for gate in gates for _ in range(30)))
    assert most == 4


async def test_two_workers_share_the_requests_of_a_minute(workers: tuple[Gates, Gates], model: str) -> None:
    gates = [worker.of("p", model, Limits(requests_per_minute=10)) for worker in workers]
    entered, full = 0, asyncio.Event()

    async def visit(gate: Gate) -> None:
        nonlocal entered
        await gate.enter()
        entered += 1
        if entered == 10:
            full.set()

    visits = [asyncio.create_task(visit(gate)) for gate in gates for _ in range(15)]
    await asyncio.wait_for(full.wait(), 10)
    await asyncio.wait(visits, timeout=0.05)
    for task in visits:
        task.cancel()
    await asyncio.gather(*visits, return_exceptions=True)
    assert entered == 10


async def test_the_slots_of_a_killed_worker_come_back(redis: Redis, model: str) -> None:
    killed = RedisSlots(redis, model, 2, seconds=0.05)
    assert [await killed.take() for _ in range(2)]
    await killed.close()  # it renews no more, as if it were dead
    other = RedisSlots(redis, model, 2, seconds=5, poll_seconds=0.005)
    began = asyncio.get_running_loop().time()
    await asyncio.wait_for(other.take(), 2)
    assert asyncio.get_running_loop().time() - began >= 0.03
    await other.close()


async def test_a_lease_outlasts_a_long_request(redis: Redis, model: str) -> None:
    slots = RedisSlots(redis, model, 1, seconds=0.06)
    slot = await slots.take()
    await asyncio.sleep(0.05)
    await asyncio.sleep(0.05)
    other = RedisSlots(redis, model, 1, seconds=5, poll_seconds=0.005)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(other.take(), 0.02)
    assert slot is not None
    await slots.give_back(slot)
    assert await asyncio.wait_for(other.take(), 2)
    await slots.close()
    await other.close()


async def test_a_cancelled_wait_holds_no_lease(redis: Redis, model: str) -> None:
    slots = RedisSlots(redis, model, 1, poll_seconds=0.005)
    slot = await slots.take()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(slots.take(), 0.02)
    assert slot is not None
    await slots.give_back(slot)
    await slots.close()
    assert await redis.zcard(f"codeforge:slots:{model}") == 0


async def test_many_short_requests_of_a_worker_ask_redis_for_few_slots(redis: Redis, model: str) -> None:
    slots = RedisSlots(redis, model, 4, reused_seconds=60)
    names = set()
    for _ in range(100):
        slot = await slots.take()
        assert slot is not None
        names.add(slot)
        await slots.give_back(slot)
    assert len(names) == 1
    await slots.close()


async def test_requests_that_wait_together_get_their_slots_together(redis: Redis, model: str) -> None:
    slots, asked = RedisSlots(redis, model, 40), 0
    ask_for = slots._ask_for

    async def counted(count: int) -> None:
        nonlocal asked
        asked += 1
        await ask_for(count)

    slots._ask_for = counted  # type: ignore[method-assign]
    taken = await asyncio.gather(*(slots.take() for _ in range(40)))
    assert len(set(taken)) == 40
    assert asked == 2, "once for the first, once for those that came meanwhile"
    assert await redis.zcard(f"codeforge:slots:{model}") == 40
    other = RedisSlots(redis, model, 40, poll_seconds=0.005)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(other.take(), 0.03)
    await slots.close()
    await other.close()


async def test_a_slot_stays_with_its_worker_until_another_waits(redis: Redis, model: str) -> None:
    slots = RedisSlots(redis, model, 1, reused_seconds=0.0)
    slot = await slots.take()
    assert slot is not None
    await slots.give_back(slot)
    assert await slots.take() == slot
    other = RedisSlots(redis, model, 1, poll_seconds=0.005)
    waiting = asyncio.create_task(other.take())
    await asyncio.sleep(0.08)
    await slots.give_back(slot)
    assert await asyncio.wait_for(waiting, 0.1), "before an idle worker would return it"
    await slots.close()
    await other.close()


async def test_slots_that_expired_while_their_worker_was_frozen_are_not_used_again(redis: Redis, model: str) -> None:
    thawed = RedisSlots(redis, model, 2, seconds=0.15)
    used, spare = await thawed.take(), await thawed.take()
    assert used is not None
    assert spare is not None
    await thawed.give_back(spare)
    await redis.delete(f"codeforge:slots:{model}")
    await asyncio.sleep(0.1)
    await thawed.give_back(used)
    assert not {await thawed.take(), await thawed.take()} & {used, spare}
    assert await redis.zcard(f"codeforge:slots:{model}") == 2
    await thawed.close()


async def test_a_busy_worker_leaves_slots_to_another(workers: tuple[Gates, Gates], model: str) -> None:
    served, ends = [0, 0], asyncio.get_running_loop().time() + 2.0

    async def visit(number: int, gate: Gate) -> None:
        while asyncio.get_running_loop().time() < ends:
            ticket = await gate.enter()
            await asyncio.sleep(0.005)
            served[number] += 1
            await gate.leave(ticket)

    gates = [worker.of("p", model, Limits(max_in_flight=4)) for worker in workers]
    await asyncio.gather(*(visit(number, gate) for number, gate in enumerate(gates) for _ in range(6)))
    assert min(served) > 0.2 * sum(served)


async def test_an_idle_worker_returns_its_slots(redis: Redis, model: str) -> None:
    slots = RedisSlots(redis, model, 1)
    slot = await slots.take()
    assert slot is not None
    await slots.give_back(slot)
    other = RedisSlots(redis, model, 1, poll_seconds=0.005)
    assert await asyncio.wait_for(other.take(), 1)
    await slots.close()
    await other.close()


async def test_a_429_at_one_worker_slows_the_other_down(workers: tuple[Gates, Gates], model: str) -> None:
    limits = Limits(max_in_flight=8)
    first, second = (worker.of("p", model, limits) for worker in workers)
    ticket = await first.enter()
    first.record(ticket, rate_limited(retry_after=0.05))
    await first.leave(ticket)
    began = asyncio.get_running_loop().time()
    await second.leave(await second.enter())
    assert asyncio.get_running_loop().time() - began >= 0.03
    assert second.limit == 1  # halved from the one request that it had in flight


async def test_a_worker_is_not_slowed_by_its_own_news(redis: Redis, model: str) -> None:
    pauses = RedisPauses(redis, model, every_seconds=0)
    await pauses.publish(30)
    assert await pauses.news() == 0


async def test_news_is_told_once(redis: Redis, model: str) -> None:
    await RedisPauses(redis, model).publish(30)
    pauses = RedisPauses(redis, model, every_seconds=0)
    assert 29 < await pauses.news() <= 30
    assert await pauses.news() == 0


async def test_without_a_shared_limit_requests_do_not_wait_for_redis(redis: Redis, model: str) -> None:
    time = FakeTime()
    gate = Gate(pauses=RedisPauses(redis, model, every_seconds=0.5, clock=time.clock), clock=time.clock)

    async def commands() -> int:
        return (await redis.info("stats"))["total_commands_processed"]

    before = await commands()
    for _ in range(1000):
        await gate.leave(await gate.enter())
    assert await commands() - before < 20  # other clients may send some meanwhile


async def test_without_redis_every_worker_keeps_the_limits_for_itself(caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening
        gates = Gates(f"redis://127.0.0.1:{taken.getsockname()[1]}/0")
        gate = gates.of("p", "m", Limits(max_in_flight=2, requests_per_minute=1))
        tickets = [await gate.enter() for _ in range(2)]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(gate.enter(), 0.02)
        for ticket in tickets:
            await gate.leave(ticket)
        await gates.close()
    assert gate.in_flight == 0
    assert len([record for record in caplog.records if "Redis failed" in record.message]) == 2


async def test_a_connection_that_the_event_loop_has_closed_costs_no_request(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """uvloop raises no error of Redis for it. Seen after a network had lost all packets for 80 seconds."""

    async def closed(*_: object, **__: object) -> None:
        raise RuntimeError("unable to perform operation on <TCPTransport closed=True>; the handler is closed")

    gates = Gates(URL)
    gate = gates.of("p", model, Limits(max_in_flight=2, requests_per_minute=100))
    inside = await gate.enter()
    monkeypatch.setattr(AbstractConnection, "send_packed_command", closed)
    gate.record(inside, rate_limited(retry_after=0.001))
    await gate.leave(inside)
    await gate.leave(await gate.enter())
    monkeypatch.undo()
    await gates.close()
    assert gate.in_flight == 0
