"""The rules that every history must keep, read from the rows after each step of the database.

They are the guarantees of ``docs/reliability.md`` and the changes of ``docs/architecture.md``. What must hold when all
is over is in ``ending``; what runs set off, in ``events``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from django.utils import timezone

from benchmarks.engine.execution.request_pool import UNKNOWN_SECONDS
from tests.simulation.endpoint import Endpoint
from tests.simulation.events import Deliveries, Schedules
from tests.simulation.ports import LEASE_SECONDS
from tests.simulation.receiver import Receiver
from tests.simulation.rows import as_moment, rows
from tests.simulation.world import Process, World

ARCHITECTURE = Path(__file__).resolve().parents[2] / "docs" / "architecture.md"
DUST = 1e-9
"""Sums of floats leave it behind."""
SLACK_SECONDS = 4.0
"""A step that is slow delays what a worker knows."""
STOP_SECONDS = 1.5
"""How long requests may still be sent for a run that was stopped"""
SILENT_SECONDS = 30.0
"""More than many slow steps take"""
DEAD_SECONDS = LEASE_SECONDS + 20.0
"""How long the lease of a dead worker is there at most: the documented time, and that of a sweep."""
UNPREPARED = ("queued", "preparing")


def documented_changes() -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """The changes of a run's status and of a result's state that ``docs/architecture.md`` allows."""
    text = ARCHITECTURE.read_text(encoding="utf-8")
    blocks = re.findall(r"```\n(.*?)```", text.partition("\n## States\n")[2], re.DOTALL)
    return _changes(blocks[0]), _changes(blocks[1])


def _changes(block: str) -> set[tuple[str, str]]:
    """``a, b → c, d   why`` and ``a → b; c → d   why``, line by line."""
    found = set()
    for line in block.splitlines():
        for part in re.split(r"\s{3,}", line.strip())[0].split(";"):
            before, _, after = part.partition("→")
            found |= {(a.strip(), b.strip()) for a in before.split(",") for b in after.split(",") if b.strip()}
    return found


RUN_CHANGES, RESULT_CHANGES = documented_changes()


class RunRow(NamedTuple):
    id: int
    status: str
    done: int
    errors: int
    concurrency: int
    cost_usd: float | None
    judge_cost_usd: float | None
    reserved_usd: float
    budget_usd: float | None
    experiment_id: int | None
    experiment_budget: float | None
    model: str
    judge_model: str

    @property
    def spent(self) -> float:
        return (self.cost_usd or 0.0) + (self.judge_cost_usd or 0.0)


class LeaseRow(NamedTuple):
    id: str
    run_id: int | None
    worker: str
    slots: int
    heartbeat_at: Any


class ResultRow(NamedTuple):
    id: int
    run_id: int
    state: str
    outcome: str
    claimed_by: str | None
    fingerprint: str
    task: str

    @property
    def is_error(self) -> bool:
        return self.state == "error" and self.outcome != "cancelled"

    @property
    def is_ended(self) -> bool:
        return self.state == "done" or self.is_error


class Moment(NamedTuple):
    """The rows after a step."""

    runs: dict[int, RunRow]
    leases: dict[str, LeaseRow]
    results: dict[int, ResultRow]

    def is_finished(self, run_id: int) -> bool:
        states = {result.state for result in self.results.values() if result.run_id == run_id}
        return states <= {"done", "error"} and run_id not in {lease.run_id for lease in self.leases.values()}

    def held_by(self, worker: str, run_id: int) -> bool:
        return any(lease.worker == worker and lease.run_id == run_id for lease in self.leases.values())


def moment() -> Moment:
    return Moment(
        _by_id(
            RunRow,
            "SELECT r.id, status, done, errors, concurrency, cost_usd, judge_cost_usd, reserved_usd, r.budget_usd,"
            " e.id, e.budget_usd, r.model, r.judge_model"
            " FROM benchmarks_run r LEFT JOIN benchmarks_experiment e ON e.id = r.experiment_id",
        ),
        _by_id(LeaseRow, "SELECT id, run_id, worker, slots, heartbeat_at FROM benchmarks_lease"),
        _by_id(
            ResultRow,
            "SELECT r.id, r.run_id, r.state, r.outcome, r.claimed_by, r.response_fingerprint, t.task_id"
            " FROM benchmarks_result r JOIN benchmarks_task t ON t.id = r.task_id",
        ),
    )


def _by_id(kind: Any, sql: str) -> dict[Any, Any]:
    return {row[0]: kind._make(row) for row in rows(sql)}


class Checker:
    """Compares the rows after each step with those before it."""

    def __init__(self, world: World, endpoint: Endpoint, receiver: Receiver | None, *, has_schedules: bool) -> None:
        self.world, self.endpoint = world, endpoint
        self.before = Moment({}, {}, {})
        self.held_at: dict[tuple[str, str], float] = {}
        """When a worker was last seen to have claimed a result of a task"""
        self.known_at: dict[tuple[str, int], float] = {}
        """When a worker last renewed its lease on a run, or claimed results under it"""
        self.stopped_at: dict[int, float] = {}
        """When runs that are not running stopped"""
        self.stored: set[str] = set()
        self.left_behind: set[int] = set()
        """Runs of which a lease ended with claims, whose reservations stay until nothing is in flight"""
        self.calm_at: float | None = None
        self.on_change: Any = lambda run_id, is_status: None
        self.on_sent: Any = lambda process: None
        self.began: dict[str, float] = {}
        """When each lease was first seen"""
        self.deliveries = Deliveries(world, receiver, self.require) if receiver else None
        self.schedules = Schedules(world, self.require) if has_schedules else None
        endpoint.on_sent = self.sent

    def step(self) -> None:
        before, now = self.before, moment()
        changes = list(self._statuses(before, now))
        touched = set(self._states(before, now))
        self._renewals(before, now)
        either = before.leases | now.leases
        touched |= {either[id].run_id for id in before.leases.keys() ^ now.leases.keys() if either[id].run_id}
        self._counters(now)
        self._budgets(now)
        self._leases(before, now)
        self._heartbeats(now)
        self._reservations(before, now)
        if self.deliveries:
            self.deliveries.step(changes)
        if self.schedules:
            self.schedules.step()
        self.before = now
        moved = {run_id for run_id, _ in changes}
        for run_id in sorted(touched | moved):
            self.on_change(run_id, is_status=run_id in moved)

    def _statuses(self, before: Moment, now: Moment) -> Iterator[tuple[int, str]]:
        """Statuses change as documented; stops and costs are written by those who hold a lease, and by people."""
        for pk, run in now.runs.items():
            was = before.runs.get(pk, run)
            if was.status != run.status:
                self.world.note(f"run {pk}: {was.status} → {run.status}")
                self.require(
                    (was.status, run.status) in RUN_CHANGES, f"run {pk} changed from {was.status} to {run.status}"
                )
                self.stopped_at.pop(pk, None)
                if was.status == "running":
                    self.stopped_at[pk] = self.world.now
                yield pk, run.status
            by_holder = run.status == "paused" or (was.status, run.status) == ("preparing", "running")
            # Whoever finishes a run, when no lease and nothing to do is left, may find that it has failed.
            by_holder |= run.status == "failed" and not before.is_finished(pk)
            if (by_holder and was.status != run.status) or run.spent != was.spent:
                self._require_lease(before, pk, f"changed run {pk}")
            if run.reserved_usd > was.reserved_usd + DUST:
                self._require_lease(before, pk, f"reserved {run.reserved_usd - was.reserved_usd} for run {pk}")

    def _require_lease(self, before: Moment, run_id: int, what: str) -> None:
        process = self.world.process
        if process is not None and process.name != "web":
            self.require(before.held_by(process.worker, run_id), f"{process.name} {what} without a lease on it")

    def _states(self, before: Moment, now: Moment) -> Iterator[int]:
        """States change as documented, claims belong to leases, and only the lease that claimed a result ends it."""
        for pk, result in now.results.items():
            was = before.results.get(pk, result)
            if was is result or was == result:
                self._claim(now, result)
                continue
            yield result.run_id
            change = (was.state, result.state)
            self.require(
                was.state == result.state or change in RESULT_CHANGES,
                f"result {pk} changed from {change[0]} to {change[1]}",
            )
            if was.claimed_by and (result.is_ended or change == ("claimed", "judging")):
                process = self.world.process
                lease = before.leases.get(was.claimed_by)
                held = lease is not None and process is not None and lease.worker == process.worker
                self.require(held, f"result {pk} is ended by {process and process.name}, whose claim it was not")
            self._answer(was, result)
            self._claim(now, result)

    def _renewals(self, before: Moment, now: Moment) -> None:
        """Note what the process at work learned of its leases."""
        process = self.world.process
        if process is None:
            return
        claiming = {
            result.claimed_by
            for pk, result in now.results.items()
            if result.claimed_by and (pk not in before.results or before.results[pk] != result)
        }
        for id, lease in now.leases.items():
            if lease.worker == process.worker and lease.run_id is not None:
                was = before.leases.get(id)
                if was is None or was.heartbeat_at != lease.heartbeat_at or id in claiming:
                    self.known_at[process.worker, lease.run_id] = self.world.now

    def _claim(self, now: Moment, result: ResultRow) -> None:
        is_claimed = result.state in ("claimed", "judging")
        self.require(
            (result.claimed_by is not None) == is_claimed,
            f"result {result.id} is {result.state} and claimed by {result.claimed_by}",
        )
        if result.claimed_by is not None:
            lease = now.leases.get(result.claimed_by)
            if lease is None or lease.run_id != result.run_id:
                self.world.fail(f"result {result.id} is claimed by a lease that is gone")
            else:
                self.held_at[lease.worker, result.task] = self.world.now

    def _answer(self, was: ResultRow, result: ResultRow) -> None:
        """A paid answer is stored once, for its task, and stays."""
        known, new = was.fingerprint, result.fingerprint
        if new == known:
            return
        self.require(not known, f"result {result.id} lost its answer {known} to {new}")
        self.require(new not in self.stored, f"the answer {new} is stored twice")
        call = self.endpoint.by_fingerprint.get(new)
        self.require(
            call is not None and call.task == result.task,
            f"result {result.id} has the answer {new}, which was given to another task",
        )
        self.stored.add(new)

    def _counters(self, now: Moment) -> None:
        ended = Counter(result.run_id for result in now.results.values() if result.is_ended)
        errors = Counter(result.run_id for result in now.results.values() if result.is_error)
        for pk, run in now.runs.items():
            self.require(run.done == ended[pk], f"run {pk} counts {run.done} results as ended, and has {ended[pk]}")
            self.require(run.errors == errors[pk], f"run {pk} counts {run.errors} errors, and has {errors[pk]}")

    def _budgets(self, now: Moment) -> None:
        bound: Counter[int | None] = Counter()
        for pk, run in now.runs.items():
            self.require(run.reserved_usd > -DUST, f"run {pk} has {run.reserved_usd} reserved")
            of_run = run.spent + run.reserved_usd
            within = run.budget_usd is None or of_run <= run.budget_usd + DUST
            self.require(within, f"run {pk} has spent {run.spent} and reserved {run.reserved_usd} of {run.budget_usd}")
            bound[run.experiment_id] += of_run  # type: ignore[assignment]  # sums of money
        for run in now.runs.values():
            budget, of_all = run.experiment_budget, bound[run.experiment_id]
            within = budget is None or of_all <= budget + DUST
            self.require(within, f"an experiment has spent and reserved {of_all} of {budget}")

    def _leases(self, before: Moment, now: Moment) -> None:
        """No more slots than a run has, and no lease of a worker that is dead for long."""
        taken: Counter[int | None] = Counter()
        for lease in now.leases.values():
            taken[lease.run_id] += lease.slots
        for pk, run in now.runs.items():
            self.require(
                taken[pk] <= run.concurrency, f"run {pk} has leases with {taken[pk]} slots of {run.concurrency}"
            )
        holders = Counter(lease.run_id for lease in now.leases.values())
        for pk, run in now.runs.items():
            self.require(run.status not in UNPREPARED or holders[pk] <= 1, "two workers prepare one run")
        if self.calm_at is not None and "the clock jumps" not in self.world.counts:
            alive = [each.held_up_until for each in self.world.processes[1:] if each.died_at is None]
            awake_at = min(alive, default=self.world.now)
            for process in self.world.processes:
                since = max(process.died_at or 0.0, self.calm_at, awake_at)
                if process.died_at is None or self.world.now < since + DEAD_SECONDS:
                    continue
                left = [lease.id for lease in now.leases.values() if lease.worker == process.worker]
                self.require(
                    not left, f"{process.name} died {self.world.now - process.died_at:.0f} s ago and has a lease"
                )

    def _heartbeats(self, now: Moment) -> None:
        """A worker that nothing keeps from it says again and again that it lives."""
        self.began = {id: self.began.get(id, self.world.now) for id in now.leases}
        if self.world.counts.keys() & {"the clock jumps", "database: a step fails"}:
            return
        working = {each.worker for each in self.world.processes if each.died_at is None and not each.was_held_up}
        for id, lease in now.leases.items():
            if lease.worker in working and self.world.now - self.began[id] > SILENT_SECONDS:
                silent = (timezone.now() - as_moment(lease.heartbeat_at)).total_seconds()
                self.require(
                    silent < SILENT_SECONDS, f"{lease.worker} lives, and its lease is silent for {silent:.0f} s"
                )

    def _reservations(self, before: Moment, now: Moment) -> None:
        """What is reserved is for something in flight."""
        claimed = {result.run_id for result in now.results.values() if result.claimed_by}
        for pk, run in now.runs.items():
            gone = {id for id, lease in before.leases.items() if lease.run_id == pk} - now.leases.keys()
            if any(result.claimed_by in gone for result in before.results.values() if result.claimed_by):
                self.left_behind.add(pk)
            if run.reserved_usd < DUST:
                self.left_behind.discard(pk)
            elif run.status == "running" and pk not in self.left_behind:
                self.require(pk in claimed, f"run {pk} has {run.reserved_usd} reserved, and nothing in flight")

    def sent(self, process: Process, model: str, task: str) -> None:
        """Whoever asks has known for ten seconds at most that it holds the run, which was not stopped a second ago."""
        name = f"sim/{model}"
        runs = [run for run in self.before.runs.values() if name in (run.model, run.judge_model)]
        ages = [self.world.now - self.known_at.get((process.worker, run.id), -LEASE_SECONDS) for run in runs]
        what = f"{process.name} asks the {model} {task}"
        self.require(
            min(ages) <= UNKNOWN_SECONDS + SLACK_SECONDS, f"{what}, and last knew of a lease {min(ages):.1f} s ago"
        )
        # Not of one that could not look since: it was held up, or a step was slow or failed.
        unheard = max(process.held_up_until, process.disturbed_until)
        stops = [max(self.stopped_at.get(run.id, self.world.now), unheard) for run in runs]
        silent = self.world.now - max(stops)
        self.require(silent <= STOP_SECONDS, f"{what}, {silent:.1f} s after its run was stopped")
        if name == runs[0].judge_model:
            return
        held = self.held_at.get((process.worker, task))
        age = None if held is None else self.world.now - held
        what += f", which it last held {'never' if age is None else f'{age:.1f} s ago'}"
        self.require(age is not None and age <= UNKNOWN_SECONDS + SLACK_SECONDS, what)
        if process.frozen_at is not None and process.frozen_until - process.frozen_at > UNKNOWN_SECONDS:
            claims = (result.claimed_by for result in self.before.results.values() if result.task == task)
            holds = any(claim and self.before.leases[claim].worker == process.worker for claim in claims)
            self.require(holds or (held or 0.0) >= process.frozen_until, f"{what}, before it woke")
        self.on_sent(process)

    def require(self, holds: bool, rule: str) -> None:
        if not holds:
            self.world.fail(rule)
