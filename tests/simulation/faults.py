"""What meets the workers: deaths, freezes, clocks that jump, and people who stop and resume runs.

Most things go wrong where something changes. So faults are drawn in time, and also right after changes of a run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from zlib import crc32

from django.db import DatabaseError

from benchmarks.models import Experiment, Run, RunStatus
from benchmarks.services.errors import NotPossible
from benchmarks.services.experiments import control as experiments
from benchmarks.services.runs import control
from tests.simulation.rows import rows
from tests.simulation.world import Process, Strike, World

KINDS = dict.fromkeys(("death", "freeze", "clock", "database", "slow", "broker", "people", "moments"), 0.5)
KINDS |= {"stall": 0.7, "focus": 0.7}
"""Each with the share of seeds that have it"""
MOST_STEPS = 6
"""How many steps after a change a fault strikes at the latest"""
MOST_CHANGES = 3
"""How many changes of others a fault waits for at most"""
MORE = 10
"""How many times the budget is what it is raised to"""

SENSIBLE: dict[RunStatus, tuple[str, ...]] = {
    RunStatus.PAUSED: ("resumes", "pays more for"),
    RunStatus.FAILED: ("resumes", "retries"),
    RunStatus.CANCELLED: ("resumes", "retries"),
    RunStatus.COMPLETED_WITH_ERRORS: ("retries",),
}
"""What people mostly do with a run that has stopped; they stop those that have not"""


@dataclass(eq=False)
class HoldUp:
    """A process that is frozen, or a thread of it that waits, for a time or until others have changed something.

    A thread that read before, and writes after what others did meanwhile, is what races are made of.
    """

    process: Process
    end: Callable[[], None]
    changes: int
    """How many more changes of others end it; 0 if only time does"""
    of_statuses: bool
    """Whether only changes of statuses count"""


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
        self.focus_share, self.focus_rate = random.choice((1, 2, 8)), random.choice((0.1, 0.3, 0.8))
        self.stalls_left = random.choice((3, 8, 20))
        """How many more threads are held up; they disturb little, so there are more of them than of other faults"""
        self.visits: dict[str, int] = {}
        self.held_up: list[HoldUp] = []
        self.answers_left = 4
        """How many more ends and pauses people answer"""

    def draw(self, seconds: float, until: float) -> None:
        """Draw the faults of the coming seconds, most at their beginning; those of moments may come later."""
        random, world = self.world.random, self.world
        self.until = until
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
        self._count_change(run_id, is_status=is_status)
        if "moments" not in self.kinds or not self.left or world.now > self.until or not world.in_thread:
            return
        if "people" in self.kinds and random.random() < self.act_rate * (1.0 if is_status else 0.1):
            self.left -= 1
            self._act_soon(run_id)
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

        Which these are is drawn, for each seed, and the first visits count most, so that rare steps are struck as often
        as frequent ones.
        """
        random = self.world.random
        if "focus" not in self.kinds or self.world.now > self.until or process is self.web:
            return
        place = f"{_place()} {writes} {self.world.seed}"
        if crc32(place.encode()) % self.focus_share:
            return
        self.visits[place] = self.visits.get(place, 0) + 1
        if random.random() >= self.focus_rate / self.visits[place]:
            return
        if self.stalls_left and "stall" in self.kinds and random.random() < 0.8:
            self.stalls_left -= 1
            self._stall(process)
        elif self.left and (fault := self._drawn()):
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
        self.world.freeze(victim, seconds)
        held_up = self._hold_up(victim, lambda: self.world.unfreeze(victim))
        self.world.after(seconds, lambda: self._is_free(held_up))
        victim.held_up_until = max(victim.held_up_until, victim.frozen_until)
        self.world.count("a worker is frozen")
        self.world.note(f"{victim.name} is frozen for {seconds:.0f} s{_until(held_up)}")

    def _stall(self, victim: Process) -> None:
        """The thread at work waits before or after a step; the other threads of its process do not."""
        seconds, waiters = self._seconds(), list[Callable[[], None]]()

        def end() -> None:
            for wake in waiters:
                wake()

        held_up = self._hold_up(victim, end)
        victim.held_up_until = max(victim.held_up_until, self.world.now + seconds)
        self.world.count("a thread is held up")
        self.world.note(f"a thread of {victim.name} is held up for {seconds:.0f} s{_until(held_up)}")
        self.world.wait(waiters, seconds)
        self._is_free(held_up)

    def _seconds(self) -> float:
        """Short, too long for a request, or longer than a lease lives."""
        return self.world.random.choice((3.0, 12.0, 35.0)) * self.world.random.uniform(0.5, 1.5)

    def _hold_up(self, victim: Process, end: Callable[[], None]) -> HoldUp:
        random = self.world.random
        changes = random.randint(1, MOST_CHANGES) if random.random() < 0.8 else 0
        held_up = HoldUp(victim, end, changes, of_statuses=random.random() < 0.5)
        self.held_up.append(held_up)
        return held_up

    def _answer(self, run_id: int) -> None:
        if "people" not in self.kinds or not self.answers_left:
            return
        if rows(f"SELECT status FROM benchmarks_run WHERE id = {run_id}")[0][0] in SENSIBLE:
            self.answers_left -= 1
            self._act_soon(run_id)

    def _is_free(self, held_up: HoldUp) -> None:
        if held_up not in self.held_up:
            return
        self.held_up.remove(held_up)
        if all(each.process is not held_up.process for each in self.held_up):
            held_up.process.held_up_until = min(held_up.process.held_up_until, self.world.now)

    def _end_hold_up(self, held_up: HoldUp) -> None:
        self.world.note(f"{held_up.process.name} goes on")
        held_up.end()
        self._is_free(held_up)

    def _count_change(self, run_id: int, *, is_status: bool) -> None:
        """Whoever waits for changes of others goes on after them; people answer them, mostly while somebody waits."""
        world = self.world
        if is_status and world.random.random() < (0.8 if self.held_up else 0.3):
            self._answer(run_id)
        for held_up in [*self.held_up]:
            if held_up.process is world.process or not held_up.changes or (held_up.of_statuses and not is_status):
                continue
            held_up.changes -= 1
            if not held_up.changes:
                self._end_hold_up(held_up)

    def let_go(self) -> bool:
        """Let all go on that are held up; whether there were any."""
        held_up = [each for each in self.held_up if each.process.died_at is None]
        for each in held_up:
            self._end_hold_up(each)
        return bool(held_up)

    def _move_clock(self) -> None:
        self.world.wall_offset += self.world.random.choice((-3600.0, -900.0, -30.0, 30.0, 100.0, 3600.0))
        self.world.count("the clock jumps")
        self.world.note(f"the clock jumps to {self.world.wall_offset:+.0f} s")

    # People.

    def _act_soon(self, run_id: int) -> None:
        self.world.thread(self.web, partial(self._act, run_id), delay=10 ** self.world.random.uniform(-2.5, 0.7))

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
        if self.world.random.random() < 0.85:
            sensible = SENSIBLE.get(RunStatus(status), ("cancels", "pauses"))
        name = self.world.random.choice([*sensible])
        self.world.note(f"somebody {name} {what}")
        if name in ("cancels", "pauses"):
            self.world.count("user: stops a run")
        with suppress(NotPossible, DatabaseError):
            actions[name]()
            self.world.count(f"user: {name} {what.rstrip(' 0123456789')}")


def _until(held_up: HoldUp) -> str:
    what = "changes of status" if held_up.of_statuses else "changes"
    return f", or until others have made {held_up.changes} {what}" if held_up.changes else ""


def _place() -> str:
    """The function of the engine that is at work, and the one that called it."""
    frame, names = sys._getframe(2), list[str]()
    while frame.f_back and len(names) < 2:
        if _is_place(frame.f_globals["__name__"]):
            names.append(frame.f_code.co_qualname)
        frame = frame.f_back
    return " < ".join(names)


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
