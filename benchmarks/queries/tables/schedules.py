"""The table of schedules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from benchmarks.models import COMPLETED, Run
from benchmarks.presentation.cells import (
    Cell,
    Group,
    Link,
    Mean,
    Moment,
    Part,
    Strip,
    Words,
    run_link,
    soft,
    state_of,
    tag,
)
from benchmarks.presentation.labels import dataset_title
from benchmarks.presentation.numbers import MISSING, ahead, plural, points, score
from benchmarks.presentation.tables import Column, Table
from benchmarks.presentation.timetables import in_words
from benchmarks.queries.schedules import Nights
from benchmarks.queries.tables.runs import headline

WIDTH = 150


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """A schedule of ``with_latest_run``, that run, and its nights so far. ``is_told``: a notice above the table says
    how much the latest run dropped."""

    schedule: Any
    latest: Run | None
    nights: Nights | None
    is_told: bool = False


def _name(row: ScheduleRow) -> Cell:
    attention = [tag("Needs attention")] if row.schedule.last_problem else []
    when = Group([soft(in_words(row.schedule.when))], block=True)
    return [Link(row.schedule.name, "schedule", (row.schedule.pk,)), *attention, when]


def _asks(row: ScheduleRow) -> Cell:
    slug = row.schedule.request["dataset"]
    dataset = Link(dataset_title(row.schedule.dataset_name or "", slug), "dataset", (slug,), typed=slug)
    return [row.schedule.request["model"], Group([soft("on "), dataset], "small", block=True)]


def _next(row: ScheduleRow) -> Cell:
    at = row.schedule.next_run_at
    if at is None:
        return "Paused"
    return [ahead(at, timezone.now()), Group([soft(Moment(at, exact=True).text)], block=True)]


def _drawn(row: ScheduleRow) -> Part:
    if row.nights is None:
        return ""
    means = row.nights.means
    label = f"Scores of {plural(len(means), 'run')}, the latest {score(means[-1])}"
    numbers = row.latest.numbers_of(row.latest.headline) if row.latest else None
    is_last = numbers is not None and numbers.mean == means[-1]
    best = Mean(means[-1], numbers.low, numbers.high) if numbers and is_last else Mean(means[-1])
    return Strip(means[:-1], best, None, label, width=WIDTH)


def _score(row: ScheduleRow) -> Cell:
    run = row.latest
    if run is None:
        return ""
    mean, what = headline(run)
    return [mean if run.status in COMPLETED else tag("Provisional"), Group([soft(what)], block=True)]


def _change(row: ScheduleRow) -> Cell:
    if row.nights is None:
        return MISSING
    if row.is_told:
        return soft("See above")
    if row.nights.drop is not None:
        return Words(f"▼ {points(abs(row.nights.drop))} points", "down")
    return Words("No significant drop" if len(row.nights.means) > 1 else "First run", "soft")


def _latest(row: ScheduleRow) -> Cell:
    run = row.latest
    return [run_link(run.pk, "nowrap"), Group([state_of(run)], block=True)] if run else MISSING


SCHEDULES = Table[ScheduleRow](
    "Schedules",
    [
        Column("Schedule", _name, "name"),
        Column("Change", _change, look="nowrap", given="change"),
        Column("Latest score", _score, look="nowrap"),
        Column("Scores, 0 to 1", _drawn, only="page", look="nowrap"),
        Column("Asks", _asks, look="anywhere"),
        Column("Latest run", _latest, look="nowrap"),
        Column("Next run", _next, look="nowrap"),
    ],
    look="scheduled",
)
"""With the history of each."""
