"""The endpoint of the simulated models: it answers, refuses, hangs and fails as the seed says."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import Any

from benchmarks.providers.base import ChatReply, ChatRequest, Provider, ProviderError, ProviderSpec
from tests.simulation.world import Process, World

FAULTS: dict[str, dict[str, Any]] = {
    "rate_limited": {"kind": "rate_limited", "status": 429, "retryable": True},
    "rate_limited_long": {"kind": "rate_limited", "status": 429, "retryable": True, "retry_after": 15.0},
    "server": {"kind": "server", "status": 500, "retryable": True},
    "connection": {"kind": "connection", "retryable": True},
    "timeout": {"kind": "timeout", "retryable": True},
    "bad_request": {"kind": "bad_request", "status": 400},
    "authentication": {"kind": "authentication", "status": 401, "systemic": True},
}
MOST_FROZEN_SECONDS = 10.0
"""A worker that was frozen for longer finds its connections broken."""
TOKENS_IN, MOST_OUT = 20, 16
PRICES = {"input_per_million": 5.0, "output_per_million": 20.0}
PREFERRED = '{"reason": "It is shorter.", "verdict": "A"}'
PREFERRED_VALUE = 1.0
VERDICT = '{"score": 10, "reason": "It agrees."}'
UNREADABLE = "I would rather not say."


@dataclass(frozen=True, slots=True)
class Call:
    """A request that was answered, and so has to be paid."""

    number: int
    process: Process
    task: str
    is_judge: bool
    tokens_out: int

    @property
    def cost_usd(self) -> float:
        return (TOKENS_IN * PRICES["input_per_million"] + self.tokens_out * PRICES["output_per_million"]) / 1e6

    @property
    def fingerprint(self) -> str:
        return f"call-{self.number}"


class Endpoint:
    """All that was sent to it. The rates are the shares of requests to models and to the judge that fail."""

    def __init__(self, world: World) -> None:
        self.world = world
        random = world.random
        self.knows_key = random.random() > 0.06
        self.fault_rate = random.choice((0.0, 0.05, 0.3, 0.6))
        faults = [*FAULTS][:-1]
        self.faults = random.choice((faults, ["bad_request"], [random.choice(faults)]))
        """What it fails with, if it has a valid key"""
        self.judge_fault_rate = random.choice((0.0, 0.0, 0.05, 0.3, 0.6))
        self.answered: list[Call] = []
        self.by_fingerprint: dict[str, Call] = {}
        self.on_sent: Any = lambda process, model, task: None

    async def complete(self, request: ChatRequest) -> ChatReply:
        process = self.world.process
        assert process is not None, "a request comes from a process"
        random = self.world.random
        text = str(request.messages[-1]["content"])
        task = re.search(r"task-\d+", text)
        name, is_judge = (task[0] if task else text[:20]), request.model == "judge"
        self.world.note(f"sends {name} to the {request.model}")
        if task:  # a judge is tried before there are any
            self.on_sent(process, request.model, name)
        sent_at = self.world.now
        await asyncio.sleep(random.choice((0.02, 0.2, 0.5, 1.5)) * random.uniform(0.5, 1.5))
        if random.random() < 0.02:
            self.world.count("a request hangs")
            await asyncio.sleep(random.uniform(5, 20))
        fails = random.random() < (self.judge_fault_rate if is_judge else self.fault_rate)
        if fails and is_judge and random.random() < 0.3:
            self.world.count("endpoint: no verdict")
            fails, says = False, UNREADABLE
        else:
            says = self._verdict(text) if is_judge else ""
        if fails or not self.knows_key:
            fault = "authentication" if not self.knows_key else random.choice(self.faults)
            self.world.count(f"endpoint: {fault}")
            raise ProviderError(message=f"simulated {fault}", **FAULTS[fault])
        if process.frozen_at is not None and sent_at <= process.frozen_at < process.frozen_until - MOST_FROZEN_SECONDS:
            self.world.count("endpoint: timeout")
            raise ProviderError(message="simulated timeout", **FAULTS["timeout"])
        call = Call(len(self.answered), process, name, is_judge, random.randint(1, MOST_OUT))
        self.answered.append(call)
        self.by_fingerprint[call.fingerprint] = call
        self.world.note(f"gets {call.fingerprint} for {name}")
        return ChatReply(
            says or self._answer(int(name.removeprefix("task-"))),
            tokens_in=TOKENS_IN,
            tokens_out=call.tokens_out,
            model=request.model,
            fingerprint=call.fingerprint,
            duration_ms=1.0,
        )

    def calm_down(self) -> None:
        self.fault_rate = self.judge_fault_rate = 0.0

    def _answer(self, number: int) -> str:
        """Mostly right, and not always in the same words."""
        return self.world.random.choice((f"{2 * number}", f"{2 * number}", f"It is {2 * number}.", "5"))

    def _verdict(self, text: str) -> str:
        return PREFERRED if '"verdict"' in text else VERDICT


class SimulatedProvider(Provider):
    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(ProviderSpec(name="sim"))
        self._endpoint = endpoint

    async def complete(self, request: ChatRequest) -> ChatReply:
        return await self._endpoint.complete(request)

    async def close(self) -> None:
        """There is nothing to close."""
