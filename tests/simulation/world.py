"""Virtual time, worker processes and their threads, in one real thread: what happens next depends on the seed alone.

A thread of a worker is a greenlet, which runs until it waits: for time, for a future, for the inbox, or for the
database. Events are fired in the order of their time. Those of a dead process are dropped, those of a frozen one wait.
"""

from __future__ import annotations

import asyncio
import heapq
import random
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from dataclasses import dataclass, field
from queue import Empty
from typing import Any, TypeVar
from uuid import UUID

import greenlet

T = TypeVar("T")


class Broken(BaseException):
    """A rule that a history breaks. Nothing in the engine may catch it."""


class Died(BaseException):
    """Unwinds a thread of a process that is dead; it can do nothing on its way."""


Event = tuple[float, int, "Process | None", Callable[[], object]]
"""When it happens, its number, and what happens in which process"""


@dataclass
class Strike:
    """A fault that waits until its process has done so many more steps of the database."""

    steps: int
    fault: Callable[[], None]


@dataclass(eq=False)
class Process:
    """A worker, or the web server: a host, a process ID, and what lives in its memory."""

    name: str
    host: str
    pid: int
    token: str
    held: set[UUID] = field(default_factory=set)
    """Leases that its jobs hold"""
    is_stopping: bool = False
    died_at: float | None = None
    frozen_at: float | None = None
    """When it was frozen the last time"""
    frozen_until: float = 0.0
    held_up_until: float = 0.0
    """Until when it was frozen, or one of its threads waited for long: what it knew then may be old"""
    disturbed_until: float = 0.0
    """Until when a step of the database was slow for it, or when one failed the last time"""
    loop: SimulatedLoop | None = None
    memory: dict[str, Any] = field(default_factory=dict)
    """Its gates and providers"""
    strikes: list[Strike] = field(default_factory=list)
    delayed: list[Event] = field(default_factory=list)
    """What happens in it once it is no longer frozen"""

    @property
    def was_held_up(self) -> bool:
        return self.held_up_until > 0

    @property
    def worker(self) -> str:
        return f"{self.host}:{self.pid}:{self.token}"


class World:
    """The clock, the events to come, and the history."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)  # a simulation
        self.now = 0.0
        self.wall_offset = 0.0
        self.processes: list[Process] = []
        self.process: Process | None = None
        """Whose event is being handled"""
        self.history: deque[str] = deque(maxlen=400)
        self.counts: dict[str, int] = {}
        self._events: list[Event] = []
        self._number = 0
        self._hub = greenlet.getcurrent()
        self._threads: list[greenlet.greenlet] = []
        self._unwinding = False
        self.failure: Broken | None = None
        """The first rule that was broken; it ends the history"""
        self.become: Callable[[Process], None] = lambda process: None
        """Called before anything happens in a process"""

    def note(self, what: str) -> None:
        where = self.process.name if self.process else "-"
        self.history.append(f"{self.now:10.3f}  {where:<9} {what}")

    def fail(self, rule: str) -> None:
        """End the history here. Raises ``Broken``."""
        self.failure = self.failure or Broken(rule)
        raise self.failure

    def count(self, fault: str) -> None:
        self.counts[fault] = self.counts.get(fault, 0) + 1

    # Events.

    def at(self, when: float, call: Callable[[], object], process: Process | None = None) -> None:
        self._number += 1
        heapq.heappush(self._events, (max(when, self.now), self._number, process, call))

    def after(self, seconds: float, call: Callable[[], object], process: Process | None = None) -> None:
        self.at(self.now + seconds, call, process)

    def freeze(self, process: Process, seconds: float) -> None:
        """Let nothing happen in a process for a time."""
        if process.frozen_until <= self.now:
            process.frozen_at = self.now
        process.frozen_until = max(process.frozen_until, self.now + seconds)
        self.at(process.frozen_until, lambda: self._thaw(process))

    def unfreeze(self, process: Process) -> None:
        process.frozen_until = min(process.frozen_until, self.now)
        self._thaw(process)

    def _thaw(self, process: Process) -> None:
        """What came meanwhile happens now, in the order in which it came."""
        if process.frozen_until > self.now:
            return
        for _, number, _, call in process.delayed:
            heapq.heappush(self._events, (self.now, number, process, call))
        process.delayed.clear()

    def run(self, until: float, is_over: Callable[[], bool] = lambda: False) -> None:
        """Fire events up to a time, or until ``is_over``, which is asked once a virtual second."""
        next_look = self.now
        while self._events and self._events[0][0] <= until:
            when, number, process, call = heapq.heappop(self._events)
            self.now = when
            if process is not None and process.died_at is not None:
                continue
            if process is not None and process.frozen_until > when:
                process.delayed.append((when, number, process, call))
                continue
            self.process = process
            if process is not None:
                self.become(process)
            call()
            self.process = None
            if self.failure is not None:
                raise self.failure
            if when >= next_look:
                next_look = when + 1.0
                if is_over():
                    return

    # Threads.

    def thread(self, process: Process, work: Callable[[], object], delay: float = 0.0) -> None:
        """Start a thread of a process."""

        def body() -> None:
            try:
                work()
            except (Died, Broken):
                pass
            except Exception as error:
                self.note(f"a thread ended with {type(error).__name__}: {error}")

        started = greenlet.greenlet(body, parent=self._hub)
        self._threads.append(started)
        self.after(delay, lambda: self._switch_to(started), process)

    @property
    def in_thread(self) -> bool:
        return greenlet.getcurrent() is not self._hub

    def sleep(self, seconds: float) -> None:
        """Let other things happen for a time. In the middle of setting up or checking, nothing else does."""
        self.check_alive()
        if not self.in_thread:
            return
        current, process = greenlet.getcurrent(), self.process
        self.after(seconds, lambda: self._switch_to(current), process)
        self._hub.switch()
        self.check_alive()

    def wait(self, waiters: list[Callable[[], None]], timeout: float | None) -> None:
        """Wait until one of those who may wake this thread does, or for the time."""
        self.check_alive()
        current, process, woken = greenlet.getcurrent(), self.process, [False]

        def wake() -> None:
            if not woken[0]:
                woken[0] = True
                self._switch_to(current)

        def woken_by_another() -> None:
            self.after(0.0, wake, process)

        waiters.append(woken_by_another)
        if timeout is not None:
            self.after(timeout, wake, process)
        self._hub.switch()
        if woken_by_another in waiters:
            waiters.remove(woken_by_another)
        self.check_alive()

    def reach_step(self) -> None:
        """Let the faults happen that wait for this step of the process at work."""
        process = self.process
        if process is None or not process.strikes:
            return
        for strike in process.strikes:
            strike.steps -= 1
        due = [strike for strike in process.strikes if strike.steps <= 0]
        process.strikes = [strike for strike in process.strikes if strike.steps > 0]
        for strike in due:
            strike.fault()
        self.sleep(0.0)  # until it is awake again, if it was frozen

    def check_alive(self) -> None:
        if self._unwinding or (self.process is not None and self.process.died_at is not None):
            raise Died

    def end(self) -> None:
        """Unwind every thread and task that is left, without effects on the database."""
        self._unwinding = True
        for thread in self._threads:
            while thread and not thread.dead:
                thread.throw(Died)
        tasks = [task for process in self.processes if process.loop for task in process.loop.tasks]
        for process in self.processes:
            process.died_at = None
            self.unfreeze(process)
        for task in tasks:
            task.cancel()
        while self._events and not all(task.done() for task in tasks):
            _, _, self.process, call = heapq.heappop(self._events)
            call()
        self._events.clear()
        self.process = None
        self._unwinding = False

    def _switch_to(self, thread: greenlet.greenlet) -> None:
        if not thread.dead:
            thread.switch()


class SimulatedLoop(asyncio.AbstractEventLoop):
    """The event loop of one process: its callbacks are events of the world."""

    def __init__(self, world: World, process: Process) -> None:
        self.world, self.process_ = world, process
        self.tasks: set[asyncio.Task[Any]] = set()

    def time(self) -> float:
        return self.world.now

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Context | None = None) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self.world.after(0.0, lambda: self._fire(handle), self.process_)
        return handle

    call_soon_threadsafe = call_soon

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self.world.at(when, lambda: self._fire(handle), self.process_)
        return handle

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.world.now + delay, callback, *args, context=context)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """A cancelled handle does nothing when its time comes."""

    def _fire(self, handle: asyncio.Handle) -> None:
        if handle.cancelled():
            return
        asyncio._set_running_loop(self)
        try:
            handle._run()
        finally:
            asyncio._set_running_loop(None)

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, **options: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.Task(coro, loop=self, **options)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]  # of the one kind that the engine uses
        future = self.create_future()

        def work() -> None:
            try:
                future.set_result(func(*args))
            except Exception as error:
                future.set_exception(error)

        self.call_soon(work)
        return future

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.world.note(f"loop: {context.get('message')}: {context.get('exception')}")

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False


class SimulatedFuture:
    """What a thread waits for on its loop."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._task: asyncio.Task[Any] | None = None
        self._waiters: list[Callable[[], None]] = []

    def begun(self, task: asyncio.Task[Any]) -> None:
        self._task = task
        task.add_done_callback(lambda _: [wake() for wake in self._waiters])

    def done(self) -> bool:
        return self._task is not None and self._task.done()

    def wait(self, timeout: float | None = None) -> None:
        if not self.done():
            self._world.wait(self._waiters, timeout)

    def result(self, timeout: float | None = None) -> Any:
        while not self.done():
            self.wait(timeout)
        assert self._task is not None, "it is done"
        return self._task.result()

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()


class SimulatedEngineLoop:
    """Takes the place of ``ENGINE_LOOP``: the loop of the process at work."""

    def __init__(self, world: World) -> None:
        self._world = world

    def _loop(self) -> SimulatedLoop:
        self._world.check_alive()
        process = self._world.process
        assert process is not None, "only processes have loops"
        process.loop = process.loop or SimulatedLoop(self._world, process)
        return process.loop

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> SimulatedFuture:
        try:
            loop = self._loop()
        except Died:
            coroutine.close()
            raise
        future = SimulatedFuture(self._world)
        loop.call_soon(lambda: future.begun(loop.create_task(coroutine)))
        return future

    def call(self, function: Callable[..., object], *args: Any) -> None:
        self._loop().call_soon(function, *args)


class SimulatedQueue:
    """Takes the place of ``SimpleQueue`` between a loop and a thread."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._items: deque[Any] = deque()
        self._waiters: list[Callable[[], None]] = []

    def put(self, item: Any) -> None:
        self._items.append(item)
        waiters, self._waiters = self._waiters, []
        for wake in waiters:
            wake()

    def get(self, timeout: float | None = None) -> Any:
        if not self._items:
            self._world.wait(self._waiters, timeout)
        return self.get_nowait()

    def get_nowait(self) -> Any:
        if not self._items:
            raise Empty
        return self._items.popleft()

    def qsize(self) -> int:
        return len(self._items)
