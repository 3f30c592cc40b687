"""The table of histories of two runs, which are too few to draw over time."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.analysis.comparisons import Compared
from benchmarks.presentation.cells import Bar, Cell, Group, Link, Mean, Moment, run_link, soft
from benchmarks.presentation.labels import metric_title
from benchmarks.presentation.numbers import interval, plural, signed_points
from benchmarks.presentation.sentences import n_of_mean
from benchmarks.presentation.tables import Column, Table
from benchmarks.queries.history import History, Point


@dataclass(frozen=True, slots=True)
class PointRow:
    """A run of a history, by what that is called, and how it compares with the run before, if there is one."""

    of: str
    history: History
    point: Point
    change: Compared | None


def _run(row: PointRow) -> Cell:
    return [run_link(row.point.run.pk), Group([Moment(row.point.run.created_at, exact=True)], "soft small", block=True)]


def _bar(row: PointRow) -> Cell:
    return Bar(Mean(row.point.mean, row.point.numbers.low, row.point.numbers.high))


def _score(row: PointRow) -> Cell:
    of = row.point.numbers
    what = soft(f"n = {n_of_mean(row.history.metric, of)}")
    return [Group([Mean(row.point.mean, of.low, of.high)], "mean"), Group([what], block=True)]


def _change(row: PointRow) -> Cell:
    if row.change is None or row.change.comparison.difference is None:
        return ""
    of = row.change.comparison
    look = ("down" if row.change.is_drop else "up") if row.change.is_clear else ""
    words = f"{signed_points(of.difference)} points"
    runs = f"{row.change.a.pk},{row.change.b.pk}"
    facts = [] if row.change.is_clear else ["not significant"]
    facts += [] if of.low is None else [f"95% interval {interval(of.low, of.high, signed_points)}"]
    facts += [plural(of.n_shared, "shared task")]
    return [Link(words, "compare", query={"runs": runs}, look=look), Group([soft(", ".join(facts))], block=True)]


def _group(row: PointRow) -> str:
    return " · ".join(filter(None, [row.of, metric_title(row.history.metric), row.history.setting]))


TWO_RUNS = Table[PointRow](
    "Histories of two runs",
    [
        Column("Run", _run, "name"),
        Column("Scores, 0 to 1", _bar, only="page", bare=True),
        Column("Score", _score, look="finding", bare=True),
        Column("Change", _change, look="change", bare=True),
    ],
    look="leads",
    group=_group,
)
