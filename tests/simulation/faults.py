"""What meets the workers: deaths, freezes, clocks that jump, and people who stop and resume runs.

Most things go wrong where something changes. So faults are drawn in time, and also right after changes of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial

from django.db import DatabaseError

from benchmarks.models import Experiment, Run, RunStatus
from benchmarks.services.errors import NotPossible
from benchmarks.services.experiments import control as experiments
from benchmarks.services.runs import control
from tests.simulation.world import Process, Strike, World

KINDS = ("death", "freeze", "clock", "database", "slow", "broker", "people", "moments")
MOST_STEPS = 6
"""How many steps after a change a fault strikes at the latest"""


class Faults:
    """Those of one seed. Swarm testing: it has some kinds, and none of others."""

    def __init__(self, world: World, web: Process, start_worker: Callable[[str, str], None]) -> None:
        self.world, self.web, self._start_worker = world, web, start_worker
        self.kinds = {kind for kind in KINDS if world.random.random() < 0.5}
        self.until = 0.0

    def draw(self, seconds: float) -> None:
        """Draw the faults of the coming seconds: most at their beginning, where most happens."""
        random, world = self.world.random, self.world
        self.until = world.now + seconds
        for kind, fault in (("death", self._kill_one), ("freeze", self._freeze_one), ("clock", self._move_clock)):
            if kind in self.kinds:
                for _ in range(random.randint(1, 4)):
                    world.at(random.triangular(0.1, seconds, 1.0), fault)
        if "people" in self.kinds:
            for _ in range(random.randint(1, 4)):
                world.thread(self.web, self._act, delay=random.triangular(0.1, seconds, 1.0))

    def changed(self, run_id: int) -> None:
        """A run was changed, perhaps by the process at work: a good moment for a fault."""
        world, random = self.world, self.world.random
        if "moments" not in self.kinds or world.now > self.until or not world.in_thread:
            return
        draw = random.random()
        if draw < 0.1 and "people" in self.kinds:
            world.thread(self.web, partial(self._act, run_id), delay=random.uniform(0.0, 0.05))
        elif 0.1 < draw < 0.35 and world.process in self.alive():
            faults = {"death": self._kill, "freeze": self._freeze}
            if possible := sorted(faults.keys() & self.kinds):
                victim = world.process
                fault = faults[random.choice(possible)]
                victim.strikes.append(Strike(random.randint(1, MOST_STEPS), partial(fault, victim)))

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

    def _freeze(self, victim: Process) -> None:
        seconds = self.world.random.choice((3.0, 40.0, 120.0)) * self.world.random.uniform(0.5, 1.5)
        if victim.frozen_until <= self.world.now:
            victim.frozen_at = self.world.now
        victim.frozen_until = max(victim.frozen_until, self.world.now + seconds)
        self.world.count("a worker is frozen")
        self.world.note(f"{victim.name} is frozen for {seconds:.0f} s")

    def _move_clock(self) -> None:
        self.world.wall_offset += self.world.random.choice((-3600.0, -30.0, 30.0, 100.0, 3600.0))
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
            live = status in (RunStatus.QUEUED, RunStatus.PREPARING, RunStatus.RUNNING)
            sensible = ("cancels", "pauses") if live else ("resumes", "retries", "pays more for")
        name = self.world.random.choice([*sensible])
        self.world.note(f"somebody {name} {what}")
        if name in ("cancels", "pauses"):
            self.world.count("user: stops a run")
        with suppress(NotPossible, DatabaseError):
            actions[name]()
            self.world.count(f"user: {name} {what.rstrip(' 0123456789')}")


def _on_run(run: Run) -> dict[str, Callable[[], object]]:
    return {
        "cancels": lambda: control.cancel_run(run),
        "pauses": lambda: control.pause_run(run),
        "resumes": lambda: control.resume_run(run),
        "retries": lambda: control.retry_failed(run),
        "pays more for": lambda: control.raise_budget(run, (run.budget_usd or 0.0) + 0.01),
    }


def _on_experiment(experiment: Experiment) -> dict[str, Callable[[], object]]:
    return {
        "cancels": lambda: experiments.cancel_experiment(experiment),
        "pauses": lambda: experiments.pause_experiment(experiment),
        "resumes": lambda: experiments.resume_experiment(experiment),
        "retries": lambda: experiments.retry_experiment(experiment),
        "pays more for": lambda: experiments.raise_budget(experiment, (experiment.budget_usd or 0.0) + 0.01),
    }
