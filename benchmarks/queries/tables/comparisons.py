"""The table of runs compared with others."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.analysis.comparisons import Compared
from benchmarks.models import Run
from benchmarks.presentation.cells import Cell, Mean, Words, run_link, tag
from benchmarks.presentation.numbers import MISSING, interval, p_value, plural, score, signed_points
from benchmarks.presentation.tables import Column, Shown, Table
from benchmarks.queries.tables.runs import left_out, model_link, origin
from benchmarks.statistics.intervals import Interval


def _model(row: Compared) -> Cell:
    marks = map(tag, [*origin(row.b), *left_out(row.b)])
    return [model_link(row.b.model), *marks, run_link(row.b.pk, "small")]


def _mean(of: Interval | None) -> Cell:
    return Mean(of.mean, of.low, of.high) if of else MISSING


def _difference(row: Compared) -> Cell:
    found = row.comparison
    if found.difference is None:
        return MISSING
    return [signed_points(found.difference), Words(interval(found.low, found.high, signed_points), "interval")]


def _effect(row: Compared) -> Cell:
    found = row.comparison
    if found.effect_size is None:
        return MISSING
    return [Words(found.effect_size_name, "soft small"), score(found.effect_size)]


def _test(row: Compared) -> Cell:
    found = row.comparison
    return f"{found.method}; {found.note}" if found.note else found.method


def difference_table(first: str) -> Table[Compared]:
    """Of runs compared with the ``first`` one of their pairs."""
    return Table(
        "Means on shared tasks with a score in both runs, with 95% intervals",
        [
            Column("Run", lambda row: row.name_b, "name", only="text"),
            Column(first, lambda row: row.name_a, only="text"),
            Column("Metric", lambda row: row.metric, only="text"),
            Column("Model", _model, "name", only="page"),
            Column("Shared tasks", lambda row: row.shared_of_common, "number", "nowrap"),
            Column("Mean", lambda row: _mean(row.comparison.interval_b), look="nowrap"),
            Column(first, lambda row: _mean(row.comparison.interval_a), look="nowrap", only="page"),
            Column("Difference", _difference, look="nowrap"),
            Column("Effect size", _effect, "number", "nowrap", info="effect_size"),
            Column("Better", lambda row: row.comparison.n_better, "number", only="page"),
            Column("Worse", lambda row: row.comparison.n_worse, "number", only="page"),
            Column("p", lambda row: p_value(row.comparison.p_value), "number", only="text"),
            Column("p (Holm)", lambda row: p_value(row.p_adjusted), "number", info="holm"),
            Column("Test", _test, look="small soft", only="page"),
        ],
        captioned=True,
    )


PAIRS = difference_table("Baseline")
"""Of pairs with any run as the first."""


def differences_from(first: Run, rows: Sequence[Compared]) -> Shown[Compared]:
    """The ``rows`` compare runs with ``first``."""
    table, name = difference_table(f"Run {first.pk}"), f"run {first.pk}"
    family = plural(rows[0].family_size if rows else 0, "comparison")
    caption = (
        f"{table.title}. Difference: this run minus {name}, in points with 95% interval. "
        f"p is Holm-adjusted for {family}: each run with {name} on every shared metric."
    )
    return table.of(rows, title=caption)
