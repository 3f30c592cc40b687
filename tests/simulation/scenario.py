"""One seed: a workload, the workers, and the faults that meet them."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from django.db import DatabaseError

from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.engine.execution.sweeper import runs_without_worker
from benchmarks.engine.webhooks.delivery import send_due
from benchmarks.models import COMPLETED, LIVE, STOPPED, TO_DO, Dataset
from benchmarks.worker import DELIVERY_SECONDS, follow_schedules
from tests.simulation import ports
from tests.simulation.checker import Checker
from tests.simulation.ending import check_end
from tests.simulation.endpoint import Endpoint
from tests.simulation.faults import Faults
from tests.simulation.ports import Broker, Database
from tests.simulation.receiver import Receiver
from tests.simulation.rows import rows
from tests.simulation.workload import Workload
from tests.simulation.world import Broken, Process, World

EARLY_SECONDS = 15.0
"""When what comes at any moment comes: deaths, jumps of the clock, people"""
FAULTY_SECONDS = 60.0
"""How long anything may fail, if so long something is left to do"""
CALM_SECONDS = 600.0
"""How long everything may take to end after that."""
SWEEP_SECONDS = 8.0
MOST_PROCESSOR_SECONDS = 60
MOST_REAL_SECONDS = 600
"""One that waits for PostgreSQL, or for its turn on a busy machine, takes longer than its processor time."""
LIVE_STATUSES, COMPLETED_STATUSES, STOPPED_STATUSES, TO_DO_STATES = (
    ", ".join(f"'{each}'" for each in sorted(chosen)) for chosen in (LIVE, COMPLETED, STOPPED, TO_DO)
)
UNFINISHED = (
    f"SELECT 1 FROM benchmarks_run WHERE status IN ({LIVE_STATUSES}) OR summarized_at IS NULL LIMIT 1",
    "SELECT 1 FROM benchmarks_lease LIMIT 1",
    # Of a run that was stopped just when its worker was about to insert them; the next sweep settles them.
    "SELECT 1 FROM benchmarks_result t JOIN benchmarks_run r ON r.id = t.run_id"
    f" WHERE r.status IN ({STOPPED_STATUSES}) AND t.state IN ({TO_DO_STATES}) LIMIT 1",
    "SELECT 1 FROM benchmarks_scheduledrun s JOIN benchmarks_run r ON r.id = s.run_id"
    f" WHERE s.compared_at IS NULL AND r.status IN ({COMPLETED_STATUSES}) LIMIT 1",
)


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
        self.web = Process("web", "web", 1, "web")
        world.processes.append(self.web)
        world.become = ports.become
        self.workload = Workload(world, self.web, dataset)
        self.faults = Faults(world, self.web, self._start_worker)
        self.endpoint = Endpoint(world)
        self.receiver = Receiver(world) if self.workload.has_webhook else None
        has_schedules = self.workload.kind == "schedule"
        self.checker = Checker(world, self.endpoint, self.receiver, has_schedules=has_schedules)
        self.checker.on_change, self.checker.on_sent = self.faults.changed, self.faults.asked
        self.database = Database(world, self.checker.step)
        self.database.on_begin = self.faults.stepped
        self.broker = Broker(world)
        self.sweep_seconds = random.choice((3.0, SWEEP_SECONDS))
        self.summary_seconds = random.choice((0.5, 2.0, 10.0, 10.0))
        self.in_step = random.random() < 0.3
        """Whether what is periodic in the workers happens at the same moments in all of them"""

    def run(self) -> Outcome:
        world = self.world
        outcome = Outcome(world.seed)
        try:
            with ports.ports(
                world, self.endpoint, self.receiver, self.database, self.broker, summary_seconds=self.summary_seconds
            ):
                try:
                    self._begin()
                    world.run(EARLY_SECONDS, self._is_quiet)
                    world.run(FAULTY_SECONDS, self._is_over)
                    self._calm_down()
                    world.run(world.now + CALM_SECONDS, self._is_over)
                    check_end(self.checker)
                finally:
                    world.end()
        except Broken as broken:
            outcome.broken = str(broken)
        except Exception as error:
            outcome.broken = f"{type(error).__name__}: {error}"
        outcome.history = list(world.history)
        outcome.counts, outcome.seconds, outcome.calls = world.counts, world.now, len(self.endpoint.answered)
        return outcome

    def _begin(self) -> None:
        random = self.world.random
        self.workload.begin()
        for number in range(random.choice((1, 2, 2, 3))):
            self._start_worker(f"worker-{number + 1}", f"host-{random.randint(1, 2)}")
        kinds = self.faults.kinds
        if "database" in kinds:
            self.database.fault_rate = random.choice((0.0, 0.005, 0.05, 0.2))
            self.database.lost_rate = random.choice((0.0, 0.02, 0.1, 0.3))
        if "slow" in kinds:
            self.database.slow_rate = random.choice((0.05, 0.1, 0.3))
        if "broker" in kinds:
            self.broker.fault_rate = random.choice((0.05, 0.4))
        self.faults.draw(EARLY_SECONDS, FAULTY_SECONDS)

    # Workers.

    def _start_worker(self, name: str, host: str) -> None:
        world, random = self.world, self.world.random
        number = len(world.processes)
        process = Process(f"{name}.{number}", host, 100 + number, f"t{number}")
        world.processes.append(process)
        world.note(f"{process.name} starts on {host}")
        for _ in range(random.randint(1, 2)):
            world.thread(process, self._jobs)
        self._periodic(process, self._sweep)
        if self.workload.kind == "schedule":
            self._periodic(process, follow_schedules)
        if self.receiver:
            self._periodic(process, send_due, DELIVERY_SECONDS)

    def _periodic(self, process: Process, work: Callable[[], object], seconds: float | None = None) -> None:
        """A periodic thread of a worker; by default at the interval of sweeps."""

        def pause() -> float:
            period = seconds or self.sweep_seconds
            return period - self.world.now % period if self.in_step else period

        def repeat() -> None:
            while True:
                self._guarded(work)
                self.world.sleep(pause())

        self.world.thread(process, repeat, delay=pause() * (1.0 if self.in_step else self.world.random.random()))

    def _jobs(self) -> None:
        """One thread of a worker's pool. A job that raises is over, as in Celery."""
        while True:
            run_id = self.broker.take()
            if self._guarded(partial(work_on_run_once, run_id, self.broker.delay)):
                self.broker.delay(run_id)

    def _sweep(self) -> None:
        for run_id in runs_without_worker():
            self.broker.delay(run_id)

    def _guarded(self, job: Callable[[], object]) -> object:
        try:
            return job()
        except DatabaseError as error:
            self.world.note(f"a job ended with {type(error).__name__}: {error}")
        except Exception as error:
            self.world.fail(f"a job ended with {type(error).__name__}: {error}")
        return None

    # The end.

    def _calm_down(self) -> None:
        """No more faults: whatever is left has to end now."""
        self.database.fault_rate = self.database.lost_rate = self.broker.fault_rate = 0.0
        self.endpoint.calm_down()
        self.database.slow_rate, self.sweep_seconds = 0.0, SWEEP_SECONDS
        self.checker.calm_at = self.world.now
        self.world.note("no more faults")
        if not self.faults.alive():
            self._start_worker("worker-9", "host-1")
        self.workload.calm_down()

    def _is_quiet(self) -> bool:
        """Whether nothing will happen any more before the calm."""
        return "people" not in self.faults.kinds and not self.workload.is_waiting() and self._is_over()

    def _is_over(self) -> bool:
        if self.workload.is_waiting() or any(rows(sql) for sql in UNFINISHED):
            return False
        if self.checker.deliveries and self.checker.deliveries.waiting():
            return False
        # Whoever is held up has to see that all is over.
        return not self.faults.let_go()


def try_seed(seed: int, dataset: Dataset) -> Outcome:
    """What comes of a seed, in an empty database. One that goes on and on without time passing is broken, too."""
    scenario = Scenario(seed, dataset)
    limits = {
        signal.ITIMER_PROF: (signal.SIGPROF, MOST_PROCESSOR_SECONDS),
        signal.ITIMER_REAL: (signal.SIGALRM, MOST_REAL_SECONDS),
    }
    for timer, (sign, seconds) in limits.items():
        signal.signal(sign, lambda *_: scenario.world.fail("no time passes"))
        signal.setitimer(timer, seconds)
    try:
        return scenario.run()
    finally:
        for timer in limits:
            signal.setitimer(timer, 0)
