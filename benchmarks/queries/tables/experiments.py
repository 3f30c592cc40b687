"""The table of experiments."""

from __future__ import annotations

from benchmarks.models import Experiment
from benchmarks.presentation.cells import Link, Moment, run_state, tag
from benchmarks.presentation.numbers import number
from benchmarks.presentation.tables import Column, Table
from benchmarks.queries.experiments import Progress

EXPERIMENTS = Table[tuple[Experiment, Progress]](
    "Experiments",
    [
        Column("Experiment", lambda row: Link(row[0].name, "experiment", (row[0].pk,)), "name"),
        Column("Tags", lambda row: [*map(tag, row[0].tags)], look="anywhere"),
        Column("Status", lambda row: run_state(row[1].status, row[1].errors)),
        Column("Runs", lambda row: f"{number(row[1].ended)} of {number(row[1].runs)}", "number"),
        Column("Results", lambda row: f"{number(row[1].done)} of {number(row[1].total)}", "number"),
        Column("Cost", lambda row: row[1].cost, "number"),
        Column("Started", lambda row: Moment(row[0].created_at), look="nowrap"),
    ],
)
