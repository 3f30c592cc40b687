"""What must hold for a run that has ended, read from its rows and from the endpoint's own log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.benches.soak.asks import MARK, Ask
from tests.benches.soak.faults import Event
from tests.benches.soak.ground import Rows

UNWRITTEN_S = 10.0
"""An answer may wait so long for its write; what comes earlier is not excused by a fault."""
TERMINAL = ("completed", "completed_with_errors", "failed", "cancelled")
RUN = "SELECT status, total, done, errors FROM benchmarks_run WHERE id = {run}"
RESULTS = """
SELECT r.task_id, r.repeat, r.state, r.outcome, t.actual_output FROM benchmarks_result r
LEFT JOIN benchmarks_transcript t ON t.result_id = r.id WHERE r.run_id = {run}
"""
VERDICTS = "SELECT reason FROM benchmarks_score WHERE run_id = {run} AND metric = 'correctness'"
UNSETTLED = """
SELECT (SELECT count(*) FROM benchmarks_lease WHERE run_id = {run})
     + (SELECT count(*) FROM benchmarks_result WHERE run_id = {run}
        AND state IN ('pending', 'claimed', 'answered', 'judging'))
"""


@dataclass
class Findings:
    """Counts over runs; ``notes`` has a line for whatever should not be."""

    runs: int = 0
    results: int = 0
    lost: int = 0
    doubled: int = 0
    wrong_status: int = 0
    paid_again: int = 0
    verdicts_again: int = 0
    unexplained: int = 0
    notes: list[str] = field(default_factory=list)


def is_settled(rows: Rows, run: int) -> bool:
    return rows.certainly(UNSETTLED.format(run=run)) == [(0,)]


def check_run(rows: Rows, run: int, expected: int, asks: Sequence[Ask], events: Sequence[Event]) -> Findings:
    """Check an ended and settled run that should have ``expected`` results, given all requests for it."""
    [(status, total, done, errors)] = rows.certainly(RUN.format(run=run))
    results = rows.certainly(RESULTS.format(run=run))
    found = Findings(runs=1, results=len(results))
    states = Counter(row[2] for row in results)
    unasked = sum(row[3] == "cancelled" for row in results)

    def note(text: str) -> None:
        found.notes.append(f"run {run} ({status}): {text}")

    places = Counter((task, repeat) for task, repeat, *_ in results)
    marks = Counter(int(mark) for row in results for mark in MARK.findall(row[4] or "")[:1])
    foreign = set(marks) - {ask.number for ask in asks}
    unanswered = sum(row[2] == "done" and not MARK.search(row[4] or "") for row in results)
    found.lost = max(expected - len(places), 0) + unanswered
    found.doubled = sum(places.values()) - len(places) + sum(marks.values()) - len(marks) + len(foreign)
    if found.lost or found.doubled:
        note(f"{len(places)} of {expected} places, {unanswered} done without an answer, foreign {sorted(foreign)[:5]}")
    right = {
        "completed": states["done"] == expected,
        "completed_with_errors": unasked == 0 and states["error"] > 0,
        "failed": False,
        "cancelled": True,
    }[status]
    failed = states["error"] - unasked
    if not right or (total, done, errors) != (expected, states["done"] + failed, failed):
        found.wrong_status = 1
        note(f"total {total}, done {done}, errors {errors}; the rows say {dict(states)}, {unasked} not asked")
    answers = [ask for ask in asks if ask.answer is None and ask.number not in marks]
    kept = {int(mark) for (reason,) in rows.certainly(VERDICTS.format(run=run)) for mark in MARK.findall(reason)}
    verdicts = [ask for ask in asks if ask.answer is not None and ask.number not in kept]
    found.paid_again, found.verdicts_again = len(answers), len(verdicts)
    unexplained = [ask for ask in (*answers, *verdicts) if not is_explained(ask, events)]
    found.unexplained = len(unexplained)
    for ask in unexplained[:5]:
        note(f"{'verdict' if ask.answer else 'answer'} {ask.number} at {ask.at:.1f} was paid for and is not stored")
    return found


def is_explained(ask: Ask, events: Sequence[Event]) -> bool:
    """Whether a worker was killed or frozen while this answer could have been on its way to the database.

    Answers wait for a database that is unavailable, so a kill after an outage can lose what came during it.
    """
    outages = [event for event in events if event.kind in ("database", "disk")]
    for event in events:
        if event.kind not in ("kill", "freeze"):
            continue
        began = event.began - UNWRITTEN_S
        for outage in outages:
            if outage.began <= event.ended and outage.ended + UNWRITTEN_S >= event.began:
                began = min(began, outage.began - UNWRITTEN_S)
        if began <= ask.at <= event.ended:
            return True
    return False
