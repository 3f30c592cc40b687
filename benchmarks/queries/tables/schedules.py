"""The table of schedules."""

from __future__ import annotations

from typing import Any

from benchmarks.models import COMPLETED, Run
from benchmarks.presentation.cells import Cell, Link, Moment, run_link, run_state, soft, tag
from benchmarks.presentation.labels import dataset_title, metric_title
from benchmarks.presentation.numbers import MISSING
from benchmarks.presentation.tables import Column, Table
from benchmarks.presentation.timetables import in_words
from benchmarks.queries.tables.runs import headline

Row = tuple[Any, Run | None]
"""A schedule of ``with_latest_run`` and that run."""


def _name(row: Row) -> Cell:
    attention = [tag("Needs attention")] if row[0].last_problem else []
    return [Link(row[0].name, "schedule", (row[0].pk,)), *attention]


def _dataset(row: Row) -> Cell:
    slug = row[0].request["dataset"]
    return Link(dataset_title(row[0].dataset_name or "", slug), "dataset", (slug,), typed=slug)


def _score(row: Row) -> Cell:
    run = row[1]
    if run is None:
        return ""
    return [headline(run)[0] if run.status in COMPLETED else tag("Provisional"), soft(metric_title(run.headline))]


SCHEDULES = Table[Row](
    "Schedules",
    [
        Column("Schedule", _name, "name"),
        Column("Model", lambda row: row[0].request["model"], look="anywhere"),
        Column("Benchmark", _dataset, look="anywhere"),
        Column("When", lambda row: in_words(row[0].when)),
        Column(
            "Next run",
            lambda row: Moment(row[0].next_run_at, exact=True) if row[0].next_run_at else "Paused",
            look="nowrap",
        ),
        Column("Latest run", lambda row: run_link(row[1].pk) if row[1] else MISSING, look="nowrap"),
        Column("Status", lambda row: run_state(row[1].status, row[1].errors) if row[1] else ""),
        Column("Score", _score, look="nowrap"),
    ],
)
"""Of schedules with the latest run of each."""
