"""The rules that every history must keep, read from the rows after each step and at the end."""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from django.db import connection

from benchmarks.engine.execution.request_pool import UNKNOWN_SECONDS
from tests.simulation.endpoint import Endpoint
from tests.simulation.world import Process, World

ARCHITECTURE = Path(__file__).resolve().parents[2] / "docs" / "architecture.md"
CENT = 1e-9
"""Sums of floats leave dust behind."""
ENDED = {"completed", "completed_with_errors", "failed", "cancelled"}
STOPS = {"user: stops a run", "the clock jumps"}
"""What may end a hold on a result for everybody"""
SLACK_SECONDS = 4.0
"""A step that is slow delays what a worker knows."""


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


class Checker:
    """Looks at the rows of the runs after each step of the database."""

    def __init__(self, world: World, endpoint: Endpoint) -> None:
        self.world, self.endpoint = world, endpoint
        self.statuses: dict[int, str] = {}
        self.states: dict[int, str] = {}
        self.held_at: dict[tuple[str, str], float] = {}
        """When a process was last seen to have claimed a result of a task"""
        self.fingerprints: dict[int, str] = {}
        self.stored: set[str] = set()
        endpoint.on_sent = self.sent

    # After each step.

    def step(self) -> None:
        runs = _rows(
            "SELECT id, status, done, errors, total, concurrency, cost_usd, judge_cost_usd, reserved_usd, budget_usd"
            " FROM benchmarks_run"
        )
        leases = _rows("SELECT id, run_id, worker, slots FROM benchmarks_lease WHERE run_id IS NOT NULL")
        results = _rows(
            "SELECT r.id, r.run_id, r.state, r.outcome, r.claimed_by, r.response_fingerprint, t.task_id"
            " FROM benchmarks_result r JOIN benchmarks_task t ON t.id = r.task_id"
        )
        self._statuses(runs)
        self._states(results, {lease[0]: lease for lease in leases})
        self._counters(runs, results)
        self._slots(runs, leases)

    def _statuses(self, runs: list[Any]) -> None:
        for pk, status, *_ in runs:
            before = self.statuses.get(pk, status)
            if before != status:
                self.world.note(f"run {pk}: {before} → {status}")
                self._require((before, status) in RUN_CHANGES, f"run {pk} changed from {before} to {status}")
            self.statuses[pk] = status

    def _states(self, results: list[Any], leases: dict[str, Any]) -> None:
        for pk, run, state, _, claimed_by, fingerprint, task in results:
            before = self.states.get(pk, state)
            if before != state:
                self._require((before, state) in RESULT_CHANGES, f"result {pk} changed from {before} to {state}")
            self.states[pk] = state
            self._require(
                (claimed_by is not None) == (state in ("claimed", "judging")),
                f"result {pk} is {state} and claimed by {claimed_by}",
            )
            if claimed_by is not None:
                lease = leases.get(claimed_by)
                self._require(lease is not None and lease[1] == run, f"result {pk} is claimed by a lease that is gone")
                self.held_at[lease[2] if lease else "", task] = self.world.now
            known = self.fingerprints.get(pk)
            if fingerprint and fingerprint != known:
                self._require(fingerprint not in self.stored, f"the answer {fingerprint} is stored twice")
                self._require(not known, f"result {pk} lost its answer {known} to {fingerprint}")
                self._require(
                    any(call.fingerprint == fingerprint and call.task == task for call in self.endpoint.answered),
                    f"result {pk} has the answer {fingerprint}, which was given to another task",
                )
                self.fingerprints[pk] = fingerprint
                self.stored.add(fingerprint)
            else:
                self._require(bool(fingerprint) or not known, f"result {pk} lost its answer {known}")

    def _counters(self, runs: list[Any], results: list[Any]) -> None:
        ended: Counter[int] = Counter()
        errors: Counter[int] = Counter()
        for _, run, state, outcome, *_ in results:
            is_error = state == "error" and outcome != "cancelled"
            ended[run] += state == "done" or is_error
            errors[run] += is_error
        for pk, _, done, failed, _, _, cost, judge_cost, reserved, budget in runs:
            self._require(done == ended[pk], f"run {pk} counts {done} results as ended, and has {ended[pk]}")
            self._require(failed == errors[pk], f"run {pk} counts {failed} errors, and has {errors[pk]}")
            self._require(reserved > -CENT, f"run {pk} has {reserved} reserved")
            spent = (cost or 0.0) + (judge_cost or 0.0)
            self._require(budget is None or spent <= budget + CENT, f"run {pk} has spent {spent} of {budget}")

    def _slots(self, runs: list[Any], leases: list[Any]) -> None:
        taken: Counter[int] = Counter()
        for _, run, _, slots in leases:
            taken[run] += slots
        for run in runs:
            self._require(taken[run[0]] <= run[5], f"run {run[0]} has leases with {taken[run[0]]} slots of {run[5]}")

    # At the endpoint.

    def sent(self, process: Process, task: str) -> None:
        held = self.held_at.get((process.worker, task))
        age = None if held is None else self.world.now - held
        self._require(
            age is not None and age <= UNKNOWN_SECONDS + SLACK_SECONDS,
            f"{process.name} asks {task}, which it last held {'never' if age is None else f'{age:.1f} s ago'}",
        )

    # At the end.

    def end(self) -> None:
        self.step()
        for pk, status, summarized in _rows("SELECT id, status, summarized_at FROM benchmarks_run"):
            self._require(status in ENDED or status == "paused", f"run {pk} never ended: it is {status}")
            self._require(summarized is not None, f"run {pk} ended without its numbers")
        self._require(not _rows("SELECT id FROM benchmarks_lease"), "a lease is left")
        waiting = _rows(
            "SELECT r.id FROM benchmarks_result r JOIN benchmarks_run u ON u.id = r.run_id"
            " WHERE u.status != 'paused' AND r.state NOT IN ('done', 'error')"
        )
        self._require(not waiting, f"results {[row[0] for row in waiting]} wait in runs that have ended")
        self._sums()
        self._summaries()
        self._scores()
        self._lost()

    def _sums(self) -> None:
        """Tokens and money of the runs are those of their results."""
        trials = 0.0
        for row in _rows(
            "SELECT u.id, u.tokens_in, u.cost_usd, u.judge_cost_usd, SUM(COALESCE(r.tokens_in, 0)),"
            " SUM(COALESCE(r.cost_usd, 0)), SUM(COALESCE(r.judge_cost_usd, 0))"
            " FROM benchmarks_run u JOIN benchmarks_result r ON r.run_id = u.id GROUP BY u.id"
        ):
            pk, tokens, cost, judge_cost, of_results, cost_of_results, judge_cost_of_results = row
            self._require(tokens == of_results, f"run {pk} counts {tokens} tokens, and its results {of_results}")
            self._require(
                abs((cost or 0) - cost_of_results) < CENT, f"run {pk} cost {cost}, and its results {cost_of_results}"
            )
            trials += (judge_cost or 0) - judge_cost_of_results
            self._require(trials > -CENT, f"judging run {pk} cost {judge_cost}, its results {judge_cost_of_results}")
        # Trials of a judge cost money that no result has.
        paid = sum(call.cost_usd for call in self.endpoint.answered if call.is_judge and "task-" not in call.task)
        self._require(trials <= paid + CENT, f"trials of judges cost {trials}, and {paid} was paid for them")

    def _summaries(self) -> None:
        """The stored numbers of a run are those of its rows."""
        for pk, summary in _rows("SELECT id, summary FROM benchmarks_run"):
            rows = _rows(
                f"SELECT outcome, COUNT(*) FROM benchmarks_result WHERE run_id = {pk} AND outcome != '' GROUP BY 1"
            )  # a number
            counted = json.loads(summary).get("outcomes", {})
            self._require(
                counted == dict(rows), f"the numbers of run {pk} are of {counted}, and its results {dict(rows)}"
            )

    def _scores(self) -> None:
        orphans = _rows(
            "SELECT s.id FROM benchmarks_score s LEFT JOIN benchmarks_transcript t ON t.result_id = s.result_id"
            " WHERE t.result_id IS NULL"
        )
        self._require(not orphans, "a score has no answer")
        unscored = _rows(
            "SELECT r.id FROM benchmarks_result r LEFT JOIN benchmarks_score s ON s.result_id = r.id"
            " WHERE r.state = 'done' AND s.id IS NULL"
        )
        self._require(not unscored, f"results {unscored} are done without a score")

    def _lost(self) -> None:
        """A paid answer is stored, unless its worker died or lost its hold, or the run was stopped meanwhile."""
        for call in self.endpoint.answered:
            if call.is_judge or call.fingerprint in self.stored:
                continue
            process = call.process
            excused = process.died_at is not None or process.was_frozen or self.world.counts.keys() & STOPS
            self._require(bool(excused), f"the answer {call.fingerprint} to {call.task} was paid and is not stored")

    def _require(self, holds: bool, rule: str) -> None:
        if not holds:
            self.world.fail(rule)


def _rows(sql: str) -> list[Any]:
    """Read below Django, whose wrappers would make this a step of its own."""
    connection.ensure_connection()
    with closing(connection.connection.cursor()) as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())
