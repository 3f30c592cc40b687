"""Tables of gates: series, and the checks of one."""

from __future__ import annotations

from benchmarks.models import GateCheck, GateSeries
from benchmarks.presentation.cells import Cell, Group, Moment, State, Words, run_link
from benchmarks.presentation.numbers import MISSING, number, plural, points, signed_points
from benchmarks.presentation.tables import Column, Table
from benchmarks.statistics.margins import Verdict

VERDICTS = {
    Verdict.PASS: ("completed", "Not worse"),
    Verdict.WORSE: ("failed", "Worse"),
    Verdict.UNDECIDED: ("paused", "Undecided"),
    Verdict.MISSING: ("paused", "Undecided, missing scores"),
}
"""Verdict → the mark and the words of its state."""


def _difference(check: GateCheck) -> Cell:
    if check.difference is None or check.low is None or check.high is None:
        return MISSING
    bounds = f"{signed_points(check.low)} to {signed_points(check.high)}"
    return [signed_points(check.difference), Words(bounds, "small")]


def _verdict(check: GateCheck) -> Cell:
    margin = Group([f"Margin {points(check.margin)}"], "soft small", block=True)
    return [State(*VERDICTS[Verdict(check.verdict)]), margin]


CHECKS = Table[GateCheck](
    "Checks, the latest first",
    [
        Column("Check", lambda row: number(row.number), "number"),
        Column("Verdict", _verdict, look="nowrap"),
        Column("Difference, points", _difference, look="nowrap"),
        Column("Run", lambda row: run_link(row.run_id) if row.run_id else "Deleted", look="nowrap"),
        Column("Against", lambda row: run_link(row.against_id) if row.against_id else "Deleted", look="nowrap"),
        Column("Tasks", lambda row: number(row.n), "number"),
        Column("Date", lambda row: Moment(row.created_at, exact=True), look="nowrap"),
    ],
    region=True,
)


SERIES = Table[GateSeries](
    "Series of gates",
    [
        Column("Series", lambda row: row.name, "name"),
        Column("Dataset", lambda row: f"{row.dataset}, version {row.version}" if row.dataset else MISSING),
        Column("Since", lambda row: Moment(row.begun_at, exact=True), look="nowrap"),
        Column("Checks", lambda row: plural(row.counted, "check"), look="nowrap"),
    ],
)
