"""The ports of the engine, for as long as a world lasts: clock, sleep, threads, loop, endpoint, broker, and a database
that fails. All else is the engine as it runs in production.

A transaction, and a statement outside of one, is one step: before each, other threads may get their turn, so that every
order of steps can come about. Steps do not overlap, as on SQLite; what PostgreSQL lets overlap is not tried.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from queue import Empty
from types import SimpleNamespace
from typing import Any
from unittest import mock

from django.conf import settings
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from benchmarks import jobs
from benchmarks.engine import lease, processes
from benchmarks.engine.execution import dispatch, event_loop, executor, judge_trial, model_clients
from benchmarks.engine.execution.request_pool import RequestPool
from benchmarks.engine.webhooks import delivery
from benchmarks.engine.webhooks.delivery import Attempt
from benchmarks.metrics.base import Item, Judge, Score, ScoreStatus, judge_error
from benchmarks.metrics.correctness import Correctness
from benchmarks.providers import retrying
from benchmarks.providers.adjustments import Adjustments
from benchmarks.providers.base import Limits, ProviderError, RetryPolicy
from benchmarks.providers.gate import Gate
from benchmarks.providers.gates import Gates
from tests.simulation.endpoint import UNREADABLE, Endpoint, SimulatedProvider
from tests.simulation.receiver import Receiver
from tests.simulation.world import Process, SimulatedEngineLoop, SimulatedFuture, SimulatedQueue, World

MOST_IDLE_SECONDS = 5.0
LEASE_SECONDS = 20.0
"""Shorter than in production, so that less is simulated until a lease expires"""
ORDERS_OF_IDS = 8
"""How many sequences of UUIDs there are: rows are found in their order, and few of them keep queries few"""
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
POLICY = RetryPolicy(max_attempts=3, base_seconds=0.5, cap_seconds=5.0, max_wait_seconds=60.0)


class Database:
    """What can go wrong with the database: a step that fails before it changes anything, or after it was committed."""

    def __init__(self, world: World, on_step: Callable[[], None]) -> None:
        self.world, self.on_step = world, on_step
        self.fault_rate, self.lost_rate, self.slow_rate = 0.0, 0.0, 0.01
        self.depth = 0
        self.on_begin: Callable[..., None] = lambda process, writes: None
        """Called before each step"""
        self.committed = False

    def before(self, *, writes: bool) -> None:
        world = self.world
        if not world.in_thread:
            return
        assert self.depth == 0, "no thread may wait in a transaction"
        slow = world.random.random() < self.slow_rate
        seconds = world.random.uniform(0.1, 3.0) if slow else world.random.uniform(0.0, 0.004)
        if slow:
            self._disturb(until=world.now + seconds)  # known from the start: rules are checked while the step lasts
        world.sleep(seconds)
        world.reach_step()
        if world.process is not None:
            self.on_begin(world.process, writes=writes)
        if world.random.random() < self.fault_rate:
            self._disturb(until=world.now)
            world.count("database: a step fails")
            raise OperationalError("simulated: the database is unavailable")

    def answer(self) -> None:
        """Say that a step is done, or nothing, though it is."""
        world = self.world
        if world.in_thread and world.random.random() < self.lost_rate:
            self._disturb(until=world.now)
            world.count("database: the answer to a commit is lost")
            raise OperationalError("simulated: the connection broke after the commit")

    def _disturb(self, until: float) -> None:
        """Note that the process at work cannot be expected to know anything until then."""
        if (process := self.world.process) is not None:
            process.disturbed_until = max(process.disturbed_until, until)

    def after(self) -> None:
        """Look at what a step changed, and let what waits for it happen."""
        if self.world.in_thread:
            self.on_step()
            self.world.reach_step()


class Broker:
    """Messages that name runs. They may be lost, late, or delivered twice."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.fault_rate = 0.0
        self.messages = SimulatedQueue(world)

    def delay(self, run_id: int) -> None:
        random = self.world.random
        draw = random.random()
        if draw < self.fault_rate:
            self.world.count("broker: a message is lost")
            return
        copies = 2 if draw < 2 * self.fault_rate else 1
        if copies == 2:
            self.world.count("broker: a message comes twice")
        for _ in range(copies):
            self.world.after(random.expovariate(20.0), lambda: self.arrive(run_id))

    def arrive(self, run_id: int) -> None:
        self.messages.put(run_id)

    def take(self) -> int:
        """The next run for a thread that has nothing to do."""
        while True:
            try:
                return int(self.messages.get(timeout=MOST_IDLE_SECONDS))
            except Empty:
                continue


class Stopping:
    """Takes the place of the event that says that a worker shuts down: each process has its own."""

    def __init__(self, world: World) -> None:
        self._world = world

    def is_set(self) -> bool:
        return self._world.process is not None and self._world.process.is_stopping


def _memory(world: World) -> dict[str, Any]:
    assert world.process is not None, "models are reached by processes"
    return world.process.memory


async def _judged(self: Correctness, item: Item, judge: Judge) -> Score:
    """The verdict of the simulated judge: 1 for every answer, if it can be read."""
    try:
        said = await judge.ask(f"Is the answer to {item.input} right?")
    except ProviderError as error:
        return judge_error(error.message)
    if said == UNREADABLE:
        return judge_error("The reply has no verdict")
    return Score(ScoreStatus.SCORED, 1.0, usage=getattr(judge, "usage", None))


@contextmanager
def ports(
    world: World,
    endpoint: Endpoint,
    receiver: Receiver | None,
    database: Database,
    broker: Broker,
    *,
    summary_seconds: float,
) -> Iterator[None]:
    loop, stopping = SimulatedEngineLoop(world), Stopping(world)
    ids = random.Random(f"ids of {world.seed % ORDERS_OF_IDS}")

    real_client = model_clients.model_client

    def model_client(name: str) -> model_clients.Model:
        if not name.startswith("sim/"):
            return real_client(name)
        memory = _memory(world)
        model = name.partition("/")[2]
        provider = memory.setdefault("provider", SimulatedProvider(endpoint))
        gates = memory.setdefault("gates", Gates())
        return model_clients.Model(
            provider, model, gates.of("sim", model, Limits(max_in_flight=16)), Adjustments(name), POLICY
        )

    async def send(attempts: Sequence[Attempt]) -> list[str]:
        return list(await asyncio.gather(*(delivery._post(receiver, attempt) for attempt in attempts)))

    def wall() -> float:
        return now().timestamp()

    def now() -> datetime:
        return EPOCH + timedelta(seconds=world.now + world.wall_offset)

    def sleep(seconds: float) -> None:
        world.sleep(seconds)

    def clock() -> float:
        return world.now

    def pool(*args: Any, **options: Any) -> RequestPool:
        made = RequestPool(*args, **options)
        made._renewed_at = world.now  # its default was bound to the real clock when the module was loaded
        return made

    def wait(futures: Sequence[SimulatedFuture], timeout: float | None = None) -> SimpleNamespace:
        futures[0].wait(timeout)
        return SimpleNamespace(done={future for future in futures if future.done()})

    def exists(pid: int) -> bool:
        return any(each.pid == pid and each.died_at is None for each in world.processes)

    def is_stopped(pid: int) -> bool:
        return any(each.pid == pid and each.frozen_until > world.now for each in world.processes)

    def statement(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        world.check_alive()
        if connection.in_atomic_block or database.depth or sql.startswith("BEGIN IMMEDIATE"):
            result = execute(sql, params, many, context)
            database.depth -= sql == "ROLLBACK" and not connection.in_atomic_block  # the end of a snapshot
            return result
        database.before(writes=not sql.startswith(("SELECT", "BEGIN DEFERRED")))
        result = execute(sql, params, many, context)
        if sql == "BEGIN DEFERRED":  # a snapshot, in which many statements are one step
            database.depth += 1
        elif not sql.startswith("SELECT"):
            database.after()
            database.answer()
        return result

    enter, leave = transaction.Atomic.__enter__, transaction.Atomic.__exit__

    def entered(self: transaction.Atomic) -> None:
        world.check_alive()
        if not database.depth:
            database.before(writes=True)
        enter(self)
        database.depth += 1

    def left(self: transaction.Atomic, kind: Any, value: Any, trace: Any) -> None:
        database.depth -= 1
        try:
            leave(self, kind, value, trace)
        finally:
            if database.committed:  # only now: until the end of the block, the connection is not free for others
                database.committed = False
                database.after()

    commit = connection.commit

    def committed() -> None:
        commit()
        database.committed = True
        database.answer()

    with ExitStack() as stack:
        for target, name, value in (
            (uuid, "os", SimpleNamespace(urandom=ids.randbytes)),
            (time, "monotonic", clock),
            (time, "sleep", sleep),
            (time, "time", wall),
            (timezone, "now", now),
            (asyncio, "run", lambda coroutine: loop.submit(coroutine).result()),
            (delivery, "_send", send),
            (delivery, "close_old_connections", lambda: None),
            (event_loop, "ENGINE_LOOP", loop),
            (executor, "ENGINE_LOOP", loop),
            (executor, "SimpleQueue", lambda: SimulatedQueue(world)),
            (executor, "STOPPING", stopping),
            (executor, "SUMMARY_SECONDS", summary_seconds),
            (executor, "model_client", model_client),
            (dispatch, "STOPPING", stopping),
            (dispatch, "SLOTS_PER_LEASE", 4),
            (lease, "LEASE_SECONDS", LEASE_SECONDS),
            (lease, "os", SimpleNamespace(getpid=lambda: getattr(world.process, "pid", None))),
            (
                lease,
                "processes",
                SimpleNamespace(exists=exists, is_stopped=is_stopped, STOPPED_SECONDS=processes.STOPPED_SECONDS),
            ),
            (lease, "worker_name", lambda: world.process.worker if world.process else "web:0:0"),
            (executor, "RequestPool", pool),
            (judge_trial, "ENGINE_LOOP", loop),
            (judge_trial, "model_client", model_client),
            (judge_trial, "wait", wait),
            (jobs.work_on_run, "delay", broker.delay),
            (Correctness, "judge", _judged),
            (connection, "commit", committed),
            (transaction.Atomic, "__enter__", entered),
            (transaction.Atomic, "__exit__", left),
        ):
            stack.enter_context(mock.patch.object(target, name, value))
        if receiver is None:
            stack.enter_context(mock.patch.dict(settings.CODEFORGE.webhooks, clear=True))
        else:
            stack.enter_context(mock.patch.dict(os.environ))
            receiver.begin()
        for function in (retrying.complete_with_retries, Gate.__init__):
            defaults = function.__kwdefaults__ or {}
            stack.enter_context(mock.patch.object(function, "__kwdefaults__", {**defaults, "clock": clock}))
        stack.enter_context(connection.execute_wrapper(statement))
        state = random.getstate()
        random.seed(world.seed)
        try:
            yield
        finally:
            random.setstate(state)


def become(process: Process) -> None:
    """What ``lease`` knows of its own process."""
    lease._HOST, lease._TOKEN, lease._HELD_HERE = process.host, process.token, process.held
