from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from benchmarks.providers.base import ChatReply, ChatRequest, Limits, ProviderError, ProviderSpec, RetryPolicy
from benchmarks.providers.gate import Gate
from benchmarks.providers.openai_compatible import OpenAICompatibleProvider
from benchmarks.providers.retrying import Attempt, Breaker, GaveUp, complete_with_retries
from benchmarks.providers.tests.stand_ins import (
    REQUEST,
    FakeTime,
    ScriptedProvider,
    bad_key,
    rate_limited,
    server_error,
)
from tests.loopback import serve

QUICK = RetryPolicy(base_seconds=0.001, cap_seconds=0.002)
LONGEST = max
"""In place of a random number between two: the wait is then the longest that may occur."""


async def ask(
    *outcomes: ChatReply | ProviderError,
    policy: RetryPolicy | None = None,
    time: FakeTime | None = None,
    **options: Any,
) -> tuple[ChatReply, list[Attempt]]:
    time = time or FakeTime()
    gate = Gate(clock=time.clock, sleep=time.sleep)
    provider = ScriptedProvider(outcomes, time, seconds=0.25)
    options = {"sleep": time.sleep, "clock": time.clock, "uniform": LONGEST, **options}
    return await complete_with_retries(provider, REQUEST, policy or RetryPolicy(), gate, **options)


async def test_an_answer_at_once_is_one_attempt() -> None:
    reply, attempts = await ask(ChatReply("4"))
    assert reply.text == "4"
    assert attempts == [Attempt(1, 0.0, 250.0, None, None, "", 0.0)]


async def test_attempts_record_errors_times_and_waits() -> None:
    policy = RetryPolicy(base_seconds=2)
    reply, attempts = await ask(server_error(), server_error(), ChatReply("4"), policy=policy)
    assert reply.text == "4"
    assert attempts == [
        Attempt(1, 0.0, 250.0, "server", 500, "broken", 0.0),
        Attempt(2, 2.25, 250.0, "server", 500, "broken", 2000.0),
        Attempt(3, 6.5, 250.0, None, None, "", 4000.0),
    ]


async def test_after_the_last_attempt_it_gives_up_with_all_of_them() -> None:
    with pytest.raises(GaveUp, match="broken") as raised:
        await ask(*[server_error()] * 5, policy=RetryPolicy(max_attempts=3))
    assert [attempt.number for attempt in raised.value.attempts] == [1, 2, 3]
    assert raised.value.error.kind == "server"


async def test_what_a_retry_cannot_cure_is_not_retried() -> None:
    with pytest.raises(GaveUp) as raised:
        await ask(bad_key(), ChatReply("never asked"))
    assert len(raised.value.attempts) == 1


async def test_a_wait_that_the_endpoint_asks_for_is_kept() -> None:
    time = FakeTime()
    _, attempts = await ask(rate_limited(retry_after=7), ChatReply("4"), time=time, policy=RetryPolicy(base_seconds=1))
    assert attempts[1].waited_ms == 8000


async def test_a_wait_that_the_endpoint_asks_for_is_capped() -> None:
    policy = RetryPolicy(base_seconds=0)
    error = ProviderError("server", "later", status=503, retry_after=86_400, retryable=True)
    assert policy.seconds_before_next(1, error, random.uniform) == 120


@pytest.mark.parametrize(("attempt", "longest"), [(1, 0.5), (2, 1), (3, 2), (7, 30), (5000, 30)])
def test_the_wait_is_random_up_to_a_bound_that_doubles_and_is_capped(attempt: int, longest: float) -> None:
    uniform = random.Random(1).uniform
    waits = [RetryPolicy().seconds_before_next(attempt, server_error(), uniform) for _ in range(500)]
    assert 0 <= min(waits) < 0.05 * longest
    assert 0.95 * longest < max(waits) <= longest


async def test_a_long_wait_is_waited_for_without_using_up_attempts() -> None:
    time = FakeTime()
    policy = RetryPolicy(max_attempts=2, base_seconds=0, max_wait_seconds=600)
    refusals = [rate_limited(retry_after=7200)] * 4
    reply, attempts = await ask(*refusals, ChatReply("4"), time=time, policy=policy)
    assert reply.text == "4"
    assert [round(attempt.waited_ms / 1000) for attempt in attempts] == [0, 120, 120, 120, 120]


async def test_long_waits_end_after_their_maximum_and_stop_the_run() -> None:
    time = FakeTime()
    policy = RetryPolicy(max_attempts=2, base_seconds=0, max_wait_seconds=300)
    with pytest.raises(GaveUp) as gave_up:
        await ask(*[rate_limited(retry_after=1e12)] * 9, time=time, policy=policy)
    error = gave_up.value.error
    assert (error.kind, error.retryable, error.systemic) == ("rate_limited", False, True)
    assert "`retries.max_wait_seconds` (300) have passed" in error.message
    assert len(gave_up.value.attempts) == 3
    assert 1300 <= time.clock() < 1302, "the clock of the test starts at 1000"
    breaker = Breaker()
    breaker.record(None)
    breaker.record(error)
    assert breaker.tripped, "one is enough, also after an answer"


async def test_a_timer_that_fires_early_ends_in_no_other_wait() -> None:
    time = FakeTime()

    async def sleep(seconds: float) -> None:
        await time.sleep(seconds - 0.0005)

    gate = Gate(clock=time.clock, sleep=time.sleep)
    provider = ScriptedProvider([rate_limited(retry_after=1e15)] * 2, time)
    policy = RetryPolicy(max_wait_seconds=1.5)
    with pytest.raises(GaveUp):
        await complete_with_retries(provider, REQUEST, policy, gate, sleep=sleep, clock=time.clock)
    assert time.clock() < 1002, "the gate would pause for two minutes"


async def test_a_request_gives_up_while_others_wait_at_the_gate_for_as_long_as_the_endpoint_asks() -> None:
    """With one in flight, each waits for the pause of the one before, and the first is asked again after all others."""
    gate = Gate(Limits(max_in_flight=1))
    provider = ScriptedProvider([rate_limited(retry_after=0.4)] * 20, FakeTime())
    policy = RetryPolicy(base_seconds=0, cap_seconds=0.1, max_wait_seconds=0.6)
    requests = [asyncio.create_task(complete_with_retries(provider, REQUEST, policy, gate)) for _ in range(10)]
    done, _ = await asyncio.wait(requests, return_when=asyncio.FIRST_COMPLETED)
    assert {type(request.exception()) for request in done} == {GaveUp}
    assert provider.asked < 10, "it gave up before its turn came"
    for request in requests:
        request.cancel()
    await asyncio.gather(*requests, return_exceptions=True)
    assert gate.in_flight == 0


async def test_nothing_is_held_at_the_gate_while_waiting_for_the_next_attempt() -> None:
    time = FakeTime()
    gate = Gate(Limits(max_in_flight=1), clock=time.clock, sleep=time.sleep)
    seen: list[int] = []

    async def sleep(seconds: float) -> None:
        seen.append(gate.in_flight)

    provider = ScriptedProvider([server_error(), ChatReply("4")], time)
    await complete_with_retries(provider, REQUEST, RetryPolicy(), gate, sleep=sleep)
    assert seen == [0]


async def test_cancelling_frees_the_place_at_the_gate() -> None:
    gate = Gate(Limits(max_in_flight=1))
    with serve() as server:
        provider = OpenAICompatibleProvider(ProviderSpec("p", base_url=server.url))
        request = ChatRequest("m", [{"role": "user", "content": "[[fault:hang]]"}])
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(complete_with_retries(provider, request, QUICK, gate), 0.03)
        await provider.close()
    assert gate.in_flight == 0


@pytest.mark.parametrize(
    "fault", ["server_500", "bad_gateway_502", "reset_before_reply", "reset_mid_body", "truncated_json", "no_choices"]
)
async def test_a_passing_fault_of_a_real_endpoint_is_survived(fault: str) -> None:
    prompt = f"2+2? [[fault:{fault}*2]]"
    with serve({prompt: "4"}) as server:
        provider = OpenAICompatibleProvider(ProviderSpec("p", base_url=server.url))
        request = ChatRequest("m", [{"role": "user", "content": prompt}])
        reply, attempts = await complete_with_retries(provider, request, QUICK, Gate())
        await provider.close()
        assert server.stats.times_asked == {prompt: 3}
    assert reply.text == "4"
    assert [attempt.error_kind is None for attempt in attempts] == [False, False, True]


async def test_a_tenth_of_faults_loses_no_question() -> None:
    faults = ["server_500", "reset_mid_body", "truncated_json", "no_choices"]
    with serve(fault_rate=0.1, faults=faults, seed=3) as server:
        provider = OpenAICompatibleProvider(ProviderSpec("p", base_url=server.url))
        gate = Gate(Limits(max_in_flight=16))
        requests = [ChatRequest("m", [{"role": "user", "content": f"question {i}"}]) for i in range(200)]
        outcomes = await asyncio.gather(*(complete_with_retries(provider, r, QUICK, gate) for r in requests))
        await provider.close()
        failed = sum(len(attempts) - 1 for _, attempts in outcomes)
        assert len(server.stats.times_asked) == 200
        assert server.stats.requests == 200 + failed
        assert failed == server.stats.faults.total() > 5
        assert server.stats.most_in_flight <= 16
