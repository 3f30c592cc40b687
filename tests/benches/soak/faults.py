"""The faults: at random moments, chosen by a seed, one after the other or several at once."""

from __future__ import annotations

import heapq
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.benches.soak.ground import Ground, shorten_log
from tests.support.stack import Stack
from tests.support.stacks import kill

WORKERS = 3
STARTUP_S = 12.0
"""A worker that started less than this ago is not expected to work yet."""
LONGEST_FREEZE_S = 120.0
STOPPING_S = 20.0
"""A worker that is told to stop and has not ended after this is killed."""
CHANCES = {"kill": 52, "freeze": 18, "stop": 9, "database": 7, "broker": 7, "web": 4, "disk": 3}


@dataclass
class Event:
    """One fault. ``pids`` are the workers that it hit; ``ended`` is when they or the service were back."""

    kind: str
    began: float
    ended: float
    pids: tuple[int, ...] = ()


class Faults(threading.Thread):
    """Harms an installation every ``gap`` seconds on average until it is stopped, and keeps its workers running."""

    def __init__(self, stack: Stack, ground: Ground, seed: int, gap: float) -> None:
        super().__init__(daemon=True)
        self.events: list[Event] = []
        self.frozen: set[int] = set()
        self.database_is_up = True
        self.workers: dict[int, tuple[subprocess.Popen[bytes], float]] = {}
        self._stack, self._ground, self._web_server = stack, ground, stack.processes[-1]
        self._dice, self._gap = random.Random(seed), gap
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._stopped = threading.Event()
        for _ in range(WORKERS):
            self._start_worker()

    def run(self) -> None:
        following = time.monotonic() + STARTUP_S
        while not self._stopped.wait(0.1):
            self._do_what_is_due()
            self._replace_the_dead()
            if time.monotonic() >= following:
                following = time.monotonic() + self._dice.expovariate(1 / self._gap)
                [kind] = self._dice.choices(list(CHANCES), list(CHANCES.values()))
                getattr(self, f"do_{kind}")()
        while self._due:
            self._do_what_is_due()
            time.sleep(0.1)

    def stop(self) -> None:
        """Wait until everything that was harmed is back."""
        self._stopped.set()
        self.join()

    def count(self, kind: str) -> int:
        """How often this happened; of kills and freezes, how many workers they hit."""
        return sum(len(event.pids) or 1 for event in self.events if event.kind == kind)

    def some_worker_is_able(self) -> bool:
        """Whether a worker runs that can be expected to work, with a database that it can write to."""
        now = time.monotonic()
        able = [pid for pid, (_, since) in list(self.workers.items()) if now - since > STARTUP_S]
        return self.database_is_up and any(pid not in self.frozen for pid in able)

    def _do_what_is_due(self) -> None:
        while self._due and self._due[0][0] <= time.monotonic():
            heapq.heappop(self._due)[2]()

    def _later(self, seconds: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._due, (time.monotonic() + seconds, len(self.events), action))

    def _note(self, kind: str, *pids: int, seconds: float = 0.0) -> Event:
        now = time.monotonic()
        self.events.append(Event(kind, now, now + seconds, pids))
        return self.events[-1]

    def _start_worker(self) -> None:
        process = self._stack.start_worker()
        self.workers[process.pid] = process, time.monotonic()

    def _replace_the_dead(self) -> None:
        """Replace workers that ended although nothing was done to them."""
        for pid, (process, _) in list(self.workers.items()):
            if process.poll() is not None:
                del self.workers[pid]
                self.frozen.discard(pid)  # one that was stopped with SQLite's lock is killed by the others
                self._note("died", pid)
                self._stack.processes.remove(process)
                self._start_worker()

    def _some_worker(self) -> int | None:
        return self._dice.choice(list(self.workers)) if self.workers else None

    def do_kill(self) -> None:
        everyone = self._dice.random() < 0.06
        victims = list(self.workers) if everyone else [pid] if (pid := self._some_worker()) else []
        for pid in victims:
            process, _ = self.workers.pop(pid)
            kill(process)
            self.frozen.discard(pid)
            self._stack.processes.remove(process)
            self._later(self._dice.uniform(0.5, 8), self._start_worker)
        if victims:
            self._note("kill", *victims)

    def do_freeze(self) -> None:
        pid = self._some_worker()
        if pid is None or pid in self.frozen:
            return
        seconds = 2 * (LONGEST_FREEZE_S / 2) ** self._dice.random()
        os.killpg(pid, signal.SIGSTOP)
        self.frozen.add(pid)
        event = self._note("freeze", pid, seconds=seconds)

        def thaw() -> None:
            event.ended = time.monotonic()
            if pid in self.frozen:
                os.killpg(pid, signal.SIGCONT)
                self.frozen.discard(pid)

        self._later(seconds, thaw)

    def do_stop(self) -> None:
        pid = self._some_worker()
        if pid is None or pid in self.frozen:
            return
        process, _ = self.workers.pop(pid)
        process.terminate()
        self._note("stop", pid)

        def replace() -> None:
            if process.poll() is None:  # it waits for a database that is unavailable
                kill(process)
                self._note("kill", pid)
            self._stack.processes.remove(process)
            self._start_worker()

        self._later(STOPPING_S, replace)

    def do_web(self) -> None:
        if not self.database_is_up:
            return
        self._note("web")
        kill(self._web_server)
        self._stack.processes.remove(self._web_server)
        self._stack.start_web()
        self._web_server = self._stack.processes[-1]

    def do_database(self) -> None:
        if self._ground.postgres is None or not self.database_is_up:
            return
        self.database_is_up = False
        seconds = self._dice.uniform(1, 30)
        event = self._note("database", seconds=seconds)
        self._ground.postgres.stop(self._dice.choice(("fast", "immediate")))
        self._later(seconds, lambda: self._database_back(event))

    def _database_back(self, event: Event) -> None:
        self._ground.disk.free()
        if self._ground.postgres is not None and not self._ground.postgres.start():
            self._later(1, lambda: self._database_back(event))
            return
        event.ended = time.monotonic()
        self.database_is_up = True

    def do_broker(self) -> None:
        self._note("broker")
        if self._ground.redis is not None:
            self._ground.redis.kill()
            self._later(self._dice.uniform(1, 20), self._ground.redis.start)
            return
        for message in (self._stack.state / "broker" / "queue").iterdir():
            message.unlink(missing_ok=True)

    def do_disk(self) -> None:
        if not self.database_is_up:
            return
        self.database_is_up = False
        seconds = self._dice.uniform(3, 30)
        event = self._note("disk", seconds=seconds)
        if self._ground.postgres is None:
            shorten_log(self._stack.state / "codeforge.sqlite3")
        self._ground.disk.fill()
        self._later(seconds, lambda: self._database_back(event))
