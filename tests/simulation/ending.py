"""The rules for the rows when all is over."""

from __future__ import annotations

import json

from benchmarks.engine.summary.summarize import summarize
from benchmarks.models import Run
from tests.simulation.checker import DUST, Checker
from tests.simulation.endpoint import PREFERRED_VALUE
from tests.simulation.rows import rows

COMPLETED = {"completed", "completed_with_errors"}
ENDED = COMPLETED | {"failed", "cancelled"}
STOPS = {"user: stops a run", "the clock jumps"}
"""What may end a hold on a result for everybody"""
LOSSES = STOPS | {"a worker is killed", "a worker is frozen", "a thread is held up"}
"""What may cost answers and verdicts that were paid for"""


def check_end(checker: Checker) -> None:
    checker.step()
    for pk, status, summarized, reserved in rows("SELECT id, status, summarized_at, reserved_usd FROM benchmarks_run"):
        checker.require(status in ENDED or status == "paused", f"run {pk} never ended: it is {status}")
        checker.require(summarized is not None, f"run {pk} ended without its numbers")
        checker.require(reserved < DUST, f"run {pk} ended with {reserved} reserved")
    checker.require(not rows("SELECT id FROM benchmarks_lease"), "a lease is left")
    waiting = rows(
        "SELECT r.id FROM benchmarks_result r JOIN benchmarks_run u ON u.id = r.run_id"
        " WHERE u.status != 'paused' AND r.state NOT IN ('done', 'error')"
    )
    checker.require(not waiting, f"results {[row[0] for row in waiting]} wait in runs that have ended")
    _sums(checker)
    _numbers(checker)
    _scores(checker)
    _lost(checker)
    for events in (checker.deliveries, checker.schedules):
        if events:
            events.end()


def _sums(checker: Checker) -> None:
    """Tokens and money of the runs are those of their results."""
    trials = 0.0
    for row in rows(
        "SELECT u.id, u.tokens_in, u.cost_usd, u.judge_cost_usd, SUM(COALESCE(r.tokens_in, 0)),"
        " SUM(COALESCE(r.cost_usd, 0)), SUM(COALESCE(r.judge_cost_usd, 0))"
        " FROM benchmarks_run u JOIN benchmarks_result r ON r.run_id = u.id GROUP BY u.id"
    ):
        pk, tokens, cost, judge_cost, of_results, cost_of_results, judge_cost_of_results = row
        checker.require(tokens == of_results, f"run {pk} counts {tokens} tokens, and its results {of_results}")
        same = abs((cost or 0) - cost_of_results) < DUST
        checker.require(same, f"run {pk} cost {cost}, and its results {cost_of_results}")
        trials += (judge_cost or 0) - judge_cost_of_results
        checker.require(trials > -DUST, f"judging run {pk} cost {judge_cost}, its results {judge_cost_of_results}")
    # Trials of a judge cost money that no result has.
    paid = sum(call.cost_usd for call in checker.endpoint.answered if call.is_judge and "task-" not in call.task)
    checker.require(trials <= paid + DUST, f"trials of judges cost {trials}, and {paid} was paid for them")


def _numbers(checker: Checker) -> None:
    """The stored numbers of a run are those of its rows, all that are computed at its end among them."""
    for run in Run.objects.select_related("dataset", "dataset_version"):
        if run.is_replay and run.status == "failed":
            continue  # its numbers were computed while it was running; what was judged counts only then
        computed = json.loads(json.dumps(summarize(run)))
        checker.require(computed == [run.summary, run.breakdown], f"run {run.pk} keeps numbers that are not its last")
    for pk, status, compared, summary in rows("SELECT id, status, preference, summary FROM benchmarks_run"):
        numbers = json.loads(summary)
        of_verdicts = status not in COMPLETED or compared is None or numbers.get("preference")
        checker.require(of_verdicts, f"preference run {pk} has completed without the numbers of its verdicts")
        counted = numbers.get("outcomes", {})
        outcomes = dict(
            rows(f"SELECT outcome, COUNT(*) FROM benchmarks_result WHERE run_id = {pk} AND outcome != '' GROUP BY 1")
        )
        checker.require(counted == outcomes, f"the numbers of run {pk} are of {counted}, and its results {outcomes}")


def _scores(checker: Checker) -> None:
    orphans = rows(
        "SELECT s.id FROM benchmarks_score s LEFT JOIN benchmarks_transcript t ON t.result_id = s.result_id"
        " WHERE t.result_id IS NULL"
    )
    checker.require(not orphans, "a score has no answer")
    unscored = rows(
        "SELECT r.id FROM benchmarks_result r LEFT JOIN benchmarks_score s ON s.result_id = r.id"
        " WHERE r.state = 'done' AND s.id IS NULL"
    )
    checker.require(not unscored, f"results {unscored} are done without a score")
    for value, reason in rows(
        "SELECT value, reason FROM benchmarks_score WHERE metric = 'preference' AND status = 'scored'"
    ):
        given = value == PREFERRED_VALUE or "identical" in reason
        checker.require(given, f"a preference of {value} is stored, which no judge gave")


def _lost(checker: Checker) -> None:
    """What was paid is stored, unless a worker died or lost its hold, or a run was stopped meanwhile."""
    calls, faults = checker.endpoint.answered, checker.world.counts.keys()
    for call in calls:
        stored = call.is_judge or call.fingerprint in checker.stored
        lost = call.process.died_at is not None or call.process.was_held_up or faults & STOPS
        checker.require(
            bool(stored or lost), f"the answer {call.fingerprint} to {call.task} was paid and is not stored"
        )
    if faults & LOSSES:
        return
    paid, spent = sum(call.cost_usd for call in calls), sum(run.spent for run in checker.before.runs.values())
    checker.require(abs(paid - spent) < DUST, f"answers and verdicts cost {paid}, and the runs count {spent}")
