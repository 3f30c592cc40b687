"""One seed: a workload, the workers, the people, and the faults that meet them."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from django.db import DatabaseError, connection
from django.db.models import Q

from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.engine.execution.sweeper import runs_without_worker
from benchmarks.models import LIVE, Dataset, Lease, Run
from benchmarks.services.errors import NotPossible
from benchmarks.services.runs import control
from benchmarks.services.runs.start import start_run
from tests.simulation import ports
from tests.simulation.checker import Checker
from tests.simulation.endpoint import Endpoint
from tests.simulation.ports import Broker, Database
from tests.simulation.world import Broken, Process, World

FAULTY_SECONDS = 15.0
"""How long faults are drawn; people act in this time, too."""
CALM_SECONDS = 900.0
"""How long everything may take to end after that."""
LAST_START_SECONDS = 5.0
SWEEP_SECONDS = 8.0
MOST_REAL_SECONDS = 60
KINDS = ("death", "freeze", "clock", "database", "slow", "broker", "people")
USED = ("score", "transcript", "result", "lease", "webhookdelivery", "auditentry", "run")


@dataclass
class Outcome:
    """What came of one seed: ``broken`` is the first rule that did not hold."""

    seed: int
    broken: str = ""
    history: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    calls: int = 0


class Scenario:
    def __init__(self, seed: int, dataset: Dataset) -> None:
        self.world = world = World(seed)
        random = world.random
        self.dataset = dataset
        # Swarm testing: each seed has some kinds of faults, and none of others.
        self.kinds = {
            kind
            for kind in ("death", "freeze", "clock", "database", "slow", "broker", "people")
            if random.random() < 0.5
        }
        self.endpoint = Endpoint(world, random.choice((0.0, 0.05, 0.3)), knows_key=random.random() > 0.03)
        self.checker = Checker(world, self.endpoint)
        self.database = Database(world, self.checker.step)
        self.broker = Broker(world)
        self.web = Process("web", "web", 1, "web")
        self.sweep_seconds = random.choice((1.0, SWEEP_SECONDS))
        world.processes.append(self.web)
        world.become = ports.become

    def run(self) -> Outcome:
        world = self.world
        outcome = Outcome(world.seed)
        try:
            with ports.ports(world, self.endpoint, self.database, self.broker):
                try:
                    self._prepare()
                    world.run(FAULTY_SECONDS, self._is_quiet)
                    self._calm_down()
                    world.run(FAULTY_SECONDS + CALM_SECONDS, self._is_over)
                    self.checker.end()
                finally:
                    world.end()
        except Broken as broken:
            outcome.broken = str(broken)
        except Exception as error:
            outcome.broken = f"{type(error).__name__}: {error}"
        outcome.history = list(world.history)
        outcome.counts, outcome.seconds, outcome.calls = world.counts, world.now, len(self.endpoint.answered)
        return outcome

    # The workload.

    def _prepare(self) -> None:
        random, world = self.world.random, self.world
        for number in range(random.randint(1, 2)):
            world.thread(self.web, self._start, delay=0.0 if number == 0 else random.uniform(0, LAST_START_SECONDS))
        for number in range(random.randint(1, 3)):
            self._start_worker(f"worker-{number + 1}", host=f"host-{random.randint(1, 2)}")
        if "database" in self.kinds:
            self.database.fault_rate = random.choice((0.005, 0.05))
        if "slow" in self.kinds:
            self.database.slow_rate = 0.1
        if "broker" in self.kinds:
            self.broker.fault_rate = random.choice((0.05, 0.4))
        for kind, action in (("death", self._kill), ("freeze", self._freeze), ("clock", self._move_clock)):
            if kind in self.kinds:
                for _ in range(random.randint(1, 4)):
                    world.at(random.uniform(0.5, FAULTY_SECONDS), action)
        if "people" in self.kinds:
            for _ in range(random.randint(1, 5)):
                world.thread(self.web, self._act, delay=random.uniform(0.5, FAULTY_SECONDS))

    def _start(self) -> None:
        random = self.world.random
        request = {
            "dataset": self.dataset.slug,
            "model": "sim/model",
            "metrics": ["exact_match"],
            "limit": random.randint(2, 8),
            "repeats": random.choice((1, 1, 2)),
            "concurrency": random.choice((1, 3, 8)),
            "max_tokens": 16,
        }
        if random.random() < 0.5:
            request |= {"metrics": ["exact_match", "correctness"], "judge_model": "sim/judge"}
        if random.random() < 0.3:
            request["budget_usd"] = random.choice((0.0005, 0.002, 0.05))
        run = start_run(request)
        self.world.note(f"starts run {run.pk}: {request}")

    # Workers.

    def _start_worker(self, name: str, host: str) -> None:
        world = self.world
        number = len(world.processes)
        process = Process(f"{name}.{number}", host, 100 + number, f"t{number}")
        world.processes.append(process)
        world.note(f"{process.name} starts on {host}")
        for _ in range(world.random.randint(1, 2)):
            world.thread(process, self._jobs)
        world.thread(process, self._sweeps, delay=world.random.uniform(0, self.sweep_seconds))

    def _jobs(self) -> None:
        """One thread of a worker's pool. A job that raises is over, as in Celery."""
        while not self._here().is_stopping:
            run_id = self.broker.take()
            if self._guarded(partial(work_on_run_once, run_id, self.broker.delay)):
                self.broker.delay(run_id)

    def _sweeps(self) -> None:
        while not self._here().is_stopping:
            for run_id in self._guarded(runs_without_worker) or ():
                self.broker.delay(run_id)
            self.world.sleep(self.sweep_seconds)

    def _guarded(self, job: Callable[[], object]) -> object:
        try:
            return job()
        except Exception as error:
            self.world.note(f"a job ended with {type(error).__name__}: {error}")
            if not isinstance(error, DatabaseError):
                self.world.fail(f"a job ended with {type(error).__name__}: {error}")
            return None

    def _here(self) -> Process:
        assert self.world.process is not None, "a thread belongs to a process"
        return self.world.process

    def _alive(self) -> list[Process]:
        return [each for each in self.world.processes if each is not self.web and each.died_at is None]

    # Faults.

    def _kill(self) -> None:
        if alive := self._alive():
            victim = self.world.random.choice(alive)
            victim.died_at = self.world.now
            self.world.count("a worker is killed")
            self.world.note(f"{victim.name} is killed")
            name = victim.name.partition(".")[0]
            self.world.after(self.world.random.uniform(0.5, 10), lambda: self._start_worker(name, victim.host))

    def _freeze(self) -> None:
        if alive := self._alive():
            victim = self.world.random.choice(alive)
            seconds = self.world.random.choice((3.0, 15.0, 120.0)) * self.world.random.uniform(0.5, 1.5)
            victim.frozen_until, victim.was_frozen = self.world.now + seconds, True
            self.world.count("a worker is frozen")
            self.world.note(f"{victim.name} is frozen for {seconds:.0f} s")

    def _move_clock(self) -> None:
        self.world.wall_offset += self.world.random.choice((-3600.0, -30.0, 30.0, 100.0, 3600.0))
        self.world.count("the clock jumps")
        self.world.note(f"the clock jumps to {self.world.wall_offset:+.0f} s")

    def _act(self) -> None:
        """Somebody cancels, pauses, resumes or retries a run, or raises its budget."""
        run = Run.objects.order_by("pk")[self.world.random.randrange(3) : 3].first() or Run.objects.first()
        if run is None:
            return
        actions: dict[str, Callable[[], object]] = {
            "cancels": lambda: control.cancel_run(run),
            "pauses": lambda: control.pause_run(run),
            "resumes": lambda: control.resume_run(run),
            "retries": lambda: control.retry_failed(run),
            "pays more for": lambda: control.raise_budget(run, (run.budget_usd or 0.0) + 0.01),
        }
        name = self.world.random.choice([*actions])
        self.world.note(f"somebody {name} run {run.pk}")
        if name in ("cancels", "pauses"):
            self.world.count("user: stops a run")
        with suppress(NotPossible, DatabaseError):
            actions[name]()
            self.world.count(f"user: {name} a run")

    # The end.

    def _calm_down(self) -> None:
        """No more faults: whatever is left has to end now."""
        self.database.fault_rate = self.broker.fault_rate = self.endpoint.fault_rate = 0.0
        self.database.slow_rate, self.sweep_seconds = 0.0, SWEEP_SECONDS
        self.world.note("no more faults")
        if not self._alive():
            self._start_worker("worker-9", "host-1")

    def _is_quiet(self) -> bool:
        """Whether nothing will happen any more before the calm."""
        return "people" not in self.kinds and self.world.now > LAST_START_SECONDS and self._is_over()

    def _is_over(self) -> bool:
        live = Run.objects.filter(Q(status__in=LIVE) | Q(summarized_at=None))
        return not live.exists() and not Lease.objects.exists()


def clean() -> None:
    """Delete what a seed left behind, so that the next one begins with the same rows and IDs."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA foreign_keys = OFF")
        for name in USED:
            cursor.execute(f"DELETE FROM benchmarks_{name}")
        cursor.execute(
            "DELETE FROM sqlite_sequence WHERE name IN ('benchmarks_run', 'benchmarks_result', 'benchmarks_score')"
        )
        cursor.execute("PRAGMA foreign_keys = ON")


def try_seed(seed: int, dataset: Dataset) -> Outcome:
    """What comes of a seed. One that goes on and on without time passing is broken, too."""
    clean()
    scenario = Scenario(seed, dataset)
    signal.signal(signal.SIGALRM, lambda *_: scenario.world.fail("no time passes"))
    signal.alarm(MOST_REAL_SECONDS)
    try:
        return scenario.run()
    finally:
        signal.alarm(0)
