"""What meets the workers: deaths, freezes, clocks that jump, and people who stop and resume runs.

Most things go wrong where something changes. So faults are drawn in time, and also right after changes of a run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from zlib import crc32

from django.db import DatabaseError

from benchmarks.models import Experiment, Run, RunStatus
from benchmarks.services.errors import NotPossible
from benchmarks.services.experiments import control as experiments
from benchmarks.services.runs import control
from tests.simulation.world import Process, Strike, World

KINDS = dict.fromkeys(("death", "freeze", "clock", "database", "slow", "broker", "people", "moments"), 0.5)
KINDS |= {"stall": 0.7, "focus": 0.7}
"""Each with the share of seeds that have it"""
MOST_STEPS = 6
"""How many steps after a change a fault strikes at the latest"""
FOCI = 8
"""Into how many groups the places of the engine fall"""
MORE = 10
"""How many times the budget is what it is raised to"""

SENSIBLE: dict[RunStatus, tuple[str, ...]] = {
    RunStatus.PAUSED: ("resumes", "pays more for"),
    RunStatus.FAILED: ("resumes", "retries"),
    RunStatus.CANCELLED: ("resumes", "retries"),
    RunStatus.COMPLETED_WITH_ERRORS: ("retries",),
}
"""What people mostly do with a run that has stopped; they stop those that have not"""


class Faults:
    """Those of one seed. Swarm testing: it has some kinds and none of others, each as often as it draws."""

    def __init__(self, world: World, web: Process, start_worker: Callable[[str, str], None]) -> None:
        self.world, self.web, self._start_worker = world, web, start_worker
        random = world.random
        self.kinds = {kind for kind, share in KINDS.items() if random.random() < share}
        self.until = 0.0
        self.left = random.randint(2, 10)
        """How many more changes are answered with a fault"""
        self.strike_rate, self.act_rate = random.choice((0.05, 0.2, 0.5)), random.choice((0.1, 0.4, 0.9))
        self.jump_rate = random.choice((0.05, 0.3))
        self.focus, self.focus_rate = random.randrange(FOCI), random.choice((0.3, 0.8))
        self.places: dict[str, int] = {}

    def draw(self, seconds: float) -> None:
        """Draw the faults of the coming seconds: most at their beginning, where most happens."""
        random, world = self.world.random, self.world
        self.until = world.now + seconds
        for kind, fault in (("death", self._kill_one), ("freeze", self._freeze_one), ("clock", self._move_clock)):
            if kind in self.kinds:
                for _ in range(random.choice((0, 0, 1, 2, 3))):
                    world.at(random.triangular(0.1, seconds, 1.0), fault)
        if "people" in self.kinds:
            for _ in range(random.randint(0, 3)):
                world.thread(self.web, self._act, delay=random.triangular(0.1, seconds, 1.0))

    def changed(self, run_id: int, *, is_status: bool) -> None:
        """A run was changed, perhaps by the process at work: a good moment for a fault."""
        world, random = self.world, self.world.random
        if "moments" not in self.kinds or not self.left or world.now > self.until or not world.in_thread:
            return
        if "people" in self.kinds and random.random() < self.act_rate * (1.0 if is_status else 0.1):
            self.left -= 1
            world.thread(self.web, partial(self._act, run_id), delay=10 ** random.uniform(-2.5, 0.7))
        if is_status and "clock" in self.kinds and random.random() < self.jump_rate:
            self.left -= 1
            world.after(random.expovariate(2.0), self._move_clock)
        victim = world.process
        if random.random() < self.strike_rate and victim in self.alive() and (fault := self._drawn()):
            self.left -= 1
            steps = min(random.randint(1, MOST_STEPS), random.randint(1, MOST_STEPS))
            victim.strikes.append(Strike(steps, partial(fault, victim)))

    def stepped(self, process: Process, *, writes: bool) -> None:
        """A thread is about to do a step of the database. Those of some places of the engine are struck more often.

        Which these are is drawn, for each seed, so that rare steps are struck as often as frequent ones.
        """
        random = self.world.random
        if "focus" not in self.kinds or not self.left or self.world.now > self.until or process is self.web:
            return
        place = f"{_place()} {writes}"
        group = self.places.setdefault(place, crc32(place.encode()) % FOCI)
        if group == self.focus and random.random() < self.focus_rate and (fault := self._drawn()):
            self.left -= 1
            fault(process)
            self.world.sleep(0.0)  # it may be dead or frozen now

    def _drawn(self) -> Callable[[Process], None] | None:
        """One of the faults that befall a worker, if this seed has any."""
        faults = {"death": self._kill, "freeze": self._freeze, "stall": self._stall}
        possible = sorted(faults.keys() & self.kinds)
        return faults[self.world.random.choice(possible)] if possible else None

    def asked(self, process: Process) -> None:
        """A worker asks something: a good moment to freeze it, since it then wakes with much to do."""
        if {"moments", "freeze"} <= self.kinds and self.world.now < self.until and self.world.random.random() < 0.04:
            self._freeze(process)

    def alive(self) -> list[Process]:
        return [each for each in self.world.processes if each is not self.web and each.died_at is None]

    def _kill_one(self) -> None:
        if alive := self.alive():
            self._kill(self.world.random.choice(alive))

    def _freeze_one(self) -> None:
        if alive := self.alive():
            self._freeze(self.world.random.choice(alive))

    def _kill(self, victim: Process) -> None:
        """Another worker takes its place, perhaps on another machine."""
        world, random = self.world, self.world.random
        victim.died_at = world.now
        world.count("a worker is killed")
        world.note(f"{victim.name} is killed")
        name = victim.name.partition(".")[0]
        host = random.choice((victim.host, victim.host, "host-1", "host-2"))
        world.after(random.uniform(0.5, 10), lambda: self._start_worker(name, host))
        if "clock" in self.kinds and random.random() < self.jump_rate:
            world.after(random.expovariate(0.1), self._move_clock)

    def _freeze(self, victim: Process) -> None:
        seconds = self._seconds()
        if victim.frozen_until <= self.world.now:
            victim.frozen_at = self.world.now
        victim.frozen_until = max(victim.frozen_until, self.world.now + seconds)
        victim.held_up_until = max(victim.held_up_until, victim.frozen_until)
        self.world.count("a worker is frozen")
        self.world.note(f"{victim.name} is frozen for {seconds:.0f} s")

    def _stall(self, victim: Process) -> None:
        """The thread at work waits before or after a step; the other threads of its process do not."""
        seconds = self.world.random.choice((12.0, 120.0)) * self.world.random.uniform(0.5, 1.5)
        victim.held_up_until = max(victim.held_up_until, self.world.now + seconds)
        self.world.count("a thread is held up")
        self.world.note(f"a thread of {victim.name} is held up for {seconds:.0f} s")
        self.world.sleep(seconds)

    def _seconds(self) -> float:
        """Short, too long for a request, or longer than a lease lives."""
        return self.world.random.choice((3.0, 40.0, 120.0)) * self.world.random.uniform(0.5, 1.5)

    def _move_clock(self) -> None:
        self.world.wall_offset += self.world.random.choice((-3600.0, -900.0, -30.0, 30.0, 100.0, 3600.0))
        self.world.count("the clock jumps")
        self.world.note(f"the clock jumps to {self.world.wall_offset:+.0f} s")

    # People.

    def _act(self, run_id: int | None = None) -> None:
        """Somebody cancels, pauses, resumes or retries a run or its experiment, or raises a budget."""
        runs = Run.objects.order_by("pk")
        run = runs.filter(pk=run_id).first() if run_id else self._any(list(runs))
        if run is None:
            return
        experiment = run.experiment
        of_all = experiment is not None and self.world.random.random() < 0.5
        actions = _on_experiment(experiment) if experiment is not None and of_all else _on_run(run)
        self._do(actions, "the experiment" if of_all else f"run {run.pk}", run.status)

    def _any(self, runs: list[Run]) -> Run | None:
        return self.world.random.choice(runs) if runs else None

    def _do(self, actions: dict[str, Callable[[], object]], what: str, status: str) -> None:
        """One of the actions; mostly one that makes sense in the status."""
        sensible: Collection[str] = [*actions]
        if self.world.random.random() < 0.7:
            sensible = SENSIBLE.get(RunStatus(status), ("cancels", "pauses"))
        name = self.world.random.choice([*sensible])
        self.world.note(f"somebody {name} {what}")
        if name in ("cancels", "pauses"):
            self.world.count("user: stops a run")
        with suppress(NotPossible, DatabaseError):
            actions[name]()
            self.world.count(f"user: {name} {what.rstrip(' 0123456789')}")


def _place() -> str:
    """The function of the engine that is at work."""
    frame = sys._getframe(2)
    while frame.f_back and not _is_place(frame.f_globals["__name__"]):
        frame = frame.f_back
    return frame.f_code.co_qualname


def _is_place(module: str) -> bool:
    return module.startswith("benchmarks.") and not module.endswith(".db_retry")


def _on_run(run: Run) -> dict[str, Callable[[], object]]:
    return {
        "cancels": lambda: control.cancel_run(run),
        "pauses": lambda: control.pause_run(run),
        "resumes": lambda: control.resume_run(run),
        "retries": lambda: control.retry_failed(run),
        "pays more for": lambda: control.raise_budget(run, MORE * (run.budget_usd or 0.01)),
    }


def _on_experiment(experiment: Experiment) -> dict[str, Callable[[], object]]:
    return {
        "cancels": lambda: experiments.cancel_experiment(experiment),
        "pauses": lambda: experiments.pause_experiment(experiment),
        "resumes": lambda: experiments.resume_experiment(experiment),
        "retries": lambda: experiments.retry_experiment(experiment),
        "pays more for": lambda: experiments.raise_budget(experiment, MORE * (experiment.budget_usd or 0.01)),
    }
