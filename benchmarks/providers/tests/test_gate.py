from __future__ import annotations

import asyncio

import pytest

from benchmarks.providers.base import Limits, ProviderError
from benchmarks.providers.gate import AdaptiveLimit, Gate, Ticket
from benchmarks.providers.tests.stand_ins import FakeTime, bad_key, rate_limited, server_error


async def settle() -> None:
    """Let every task that can go on do so."""
    for _ in range(10):
        await asyncio.sleep(0)


async def fill(gate: Gate, count: int) -> list[Ticket]:
    return [await gate.enter() for _ in range(count)]


def gate_with(most: int | None, time: FakeTime | None = None) -> Gate:
    time = time or FakeTime()
    return Gate(Limits(max_in_flight=most), clock=time.clock, sleep=time.sleep)


async def test_a_gate_without_limits_lets_everybody_in() -> None:
    gate = gate_with(None)
    await fill(gate, 1000)
    assert (gate.in_flight, gate.limit) == (1000, None)


async def test_no_more_than_the_limit_are_inside() -> None:
    gate = gate_with(3)
    inside = most = 0

    async def visit() -> None:
        nonlocal inside, most
        ticket = await gate.enter()
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0)
        inside -= 1
        gate.record(ticket, None)
        await gate.leave(ticket)

    await asyncio.gather(*(visit() for _ in range(50)))
    assert (most, gate.in_flight) == (3, 0)


async def test_who_waits_first_enters_first() -> None:
    gate = gate_with(1)
    (ticket,) = await fill(gate, 1)
    entered: list[str] = []

    async def visit(name: str) -> None:
        own = await gate.enter()
        entered.append(name)
        await gate.leave(own)

    visits = [asyncio.create_task(visit(name)) for name in "abcde"]
    await settle()
    assert entered == []
    await gate.leave(ticket)
    await asyncio.gather(*visits)
    assert entered == list("abcde")


async def test_a_newcomer_does_not_pass_those_who_wait() -> None:
    gate = gate_with(1)
    (ticket,) = await fill(gate, 1)
    waiting = asyncio.create_task(gate.enter())
    await settle()
    await gate.leave(ticket)
    newcomer = asyncio.create_task(gate.enter())
    await settle()
    assert (waiting.done(), newcomer.done()) == (True, False)
    newcomer.cancel()


@pytest.mark.parametrize("turn_came", [False, True])
async def test_a_cancelled_wait_leaves_no_place_taken(turn_came: bool) -> None:
    gate = gate_with(1)
    (ticket,) = await fill(gate, 1)
    waiting = asyncio.create_task(gate.enter())
    await settle()
    if turn_came:
        await gate.leave(ticket)
    waiting.cancel()
    if not turn_came:
        await gate.leave(ticket)
    await settle()
    assert waiting.cancelled()
    assert gate.in_flight == 0
    await asyncio.wait_for(gate.enter(), 1)


async def test_a_429_halves_the_limit_and_pauses_everybody() -> None:
    time = FakeTime()
    gate = gate_with(8, time)
    tickets = await fill(gate, 8)
    gate.record(tickets[0], rate_limited(retry_after=5))
    assert (gate.limit, gate.paused_for) == (4, 5)
    for ticket in tickets:
        await gate.leave(ticket)
    await gate.enter()
    assert time.slept == [5]


async def test_a_429_that_says_no_time_pauses_for_a_second() -> None:
    gate = gate_with(8)
    gate.record((await fill(gate, 8))[0], rate_limited())
    assert (gate.limit, gate.paused_for) == (4, 1)


async def test_the_429s_of_one_round_halve_once() -> None:
    time = FakeTime()
    gate = gate_with(8, time)
    tickets = await fill(gate, 8)
    time.now += 0.1
    for ticket in tickets:
        gate.record(ticket, rate_limited(retry_after=1))
    assert gate.limit == 4


async def test_a_503_with_a_wait_slows_down_too_but_other_errors_do_not() -> None:
    gate = gate_with(8)
    tickets = await fill(gate, 8)
    for error in (server_error(), bad_key(), ProviderError("rate_limited", "no quota", systemic=True)):
        gate.record(tickets[0], error)
    assert (gate.limit, gate.paused_for) == (8, 0)
    gate.record(tickets[0], ProviderError("server", "busy", status=503, retry_after=2, retryable=True))
    assert (gate.limit, gate.paused_for) == (4, 2)


async def test_a_wait_of_a_day_is_cut_to_minutes() -> None:
    gate = gate_with(8)
    gate.record((await fill(gate, 1))[0], rate_limited(retry_after=86_400))
    assert gate.paused_for == 120


async def test_how_long_the_endpoint_asks_to_wait_is_known_until_it_answers() -> None:
    time = FakeTime()
    gate = gate_with(8, time)
    tickets = await fill(gate, 2)
    gate.record(tickets[0], rate_limited(retry_after=7200))
    time.now += 200
    assert gate.asked_to_wait == 7000
    gate.record(tickets[1], None)
    assert gate.asked_to_wait == 0


async def test_an_unlimited_gate_finds_its_limit_from_what_was_in_flight() -> None:
    gate = gate_with(None)
    gate.record((await fill(gate, 100))[0], rate_limited())
    assert gate.limit == 50


async def test_answers_raise_the_limit_again_up_to_its_ceiling() -> None:
    time = FakeTime()
    gate = gate_with(8, time)
    tickets = await fill(gate, 8)
    gate.record(tickets[0], rate_limited())
    for ticket in tickets:
        await gate.leave(ticket)
    limits = []
    for _ in range(6):
        assert gate.limit is not None
        tickets = await fill(gate, gate.limit)
        for ticket in tickets:
            gate.record(ticket, None)
        for ticket in tickets:
            await gate.leave(ticket)
        limits.append(gate.limit)
    assert limits == sorted(limits)
    assert limits[0] < limits[-1] == 8


async def test_a_lowered_limit_holds_back_until_enough_have_left() -> None:
    gate = gate_with(4)
    tickets = await fill(gate, 4)
    gate.record(tickets[0], rate_limited())
    waiting = asyncio.create_task(gate.enter())
    for left, entered in ((0, False), (1, False), (2, True)):
        await gate.leave(tickets[left])
        await settle()
        assert waiting.done() is entered
    assert gate.in_flight == 2


def test_the_limit_never_falls_below_one() -> None:
    limit = AdaptiveLimit(2)
    for now in range(10):
        limit.slowed(in_flight=1, sent_at=now, now=now)
    assert limit.value == 1
    assert limit.admits_beside(0)


def test_answers_below_the_limit_prove_nothing() -> None:
    limit = AdaptiveLimit(100)
    limit.slowed(in_flight=40, sent_at=0, now=0)
    for _ in range(50):
        limit.answered(in_flight=3)
    assert limit.value == 20


class BrokenRates:
    async def take(self, tokens: int) -> None:
        raise RuntimeError("broken")


async def test_a_failure_while_entering_takes_no_place() -> None:
    gate = Gate(Limits(max_in_flight=1), rates=BrokenRates())
    with pytest.raises(RuntimeError):
        await gate.enter()
    assert gate.in_flight == 0


@pytest.mark.parametrize(("announced", "waited"), [(4.0, 4.0), (600.0, 30.0), (None, 0.0)])
async def test_requests_wait_while_the_endpoint_has_nothing_left_of_its_limit(
    announced: float | None, waited: float
) -> None:
    time = FakeTime()
    gate = gate_with(8, time)
    (ticket,) = await fill(gate, 1)
    gate.record(ticket, None, announced)
    await gate.leave(ticket)
    began = time.now
    await gate.enter()
    assert time.now - began == waited
    assert gate.limit == 8, "nothing was refused, so no fewer requests go at once"
