"""The tables of runs compared with others, and with their scorings on another version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.analysis.comparisons import Compared
from benchmarks.models import Run
from benchmarks.presentation.cells import Cell, Link, Mean, Words, run_link, tag
from benchmarks.presentation.labels import metric_title
from benchmarks.presentation.numbers import MISSING, interval, p_value, score, signed_points
from benchmarks.presentation.tables import Column, Shown, Table
from benchmarks.queries.tables.runs import left_out, model_link, origin
from benchmarks.statistics.intervals import Interval


def _model(row: Compared) -> Cell:
    marks = map(tag, [*origin(row.b), *left_out(row.b)])
    return [model_link(row.b.model), *marks, run_link(row.b.pk, "small nowrap")]


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


def _test(row: Compared) -> str:
    found = row.comparison
    return f"{found.method}; {found.note}" if found.note else found.method


def difference_table(first: str) -> Table[Compared]:
    """Of runs compared with the ``first`` one of their pairs."""
    return Table(
        "Means on shared tasks with a score in both runs, with 95% intervals",
        [
            Column("Run", lambda row: row.name_b, "name", only="text"),
            Column(first, lambda row: row.name_a, only="text", given="pairs_vary"),
            Column("Metric", lambda row: row.metric, only="text", given="pairs_vary"),
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
            Column("Test", _test, look="small soft wide-only", only="page", given="tests_differ"),
        ],
        captioned=True,
    )


PAIRS = difference_table("Reference run")
"""Of pairs with any run as the first."""


def differences_from(first: Run, rows: Sequence[Compared]) -> Shown[Compared]:
    """The ``rows`` compare runs with ``first`` by one metric. A test that all share is named once."""
    tests = sorted({_test(row) for row in rows})
    caption = f"Difference: this run minus run {first.pk}, in points with 95% interval."
    shared = f" Test: {tests[0]}." if len(tests) == 1 else ""
    table = difference_table(f"Run {first.pk}").where(pairs_vary=False, tests_differ=len(tests) > 1)
    return table.of(rows, title=caption + shared)


def other_metrics(first: Run, rows: Sequence[Compared], query: Mapping[str, str]) -> Shown[Compared]:
    """The ``rows`` compare runs with ``first`` by several metrics, each of which leads to the comparison by it, whose
    address has ``query``."""

    def difference(row: Compared) -> Cell:
        found = row.comparison
        if found.difference is None:
            return MISSING
        value = Words(signed_points(found.difference), "is-clear" if row.is_clear else "nowrap")
        return [value, Words(interval(found.low, found.high, signed_points), "interval")]

    def metric(row: Compared) -> Cell:
        return Link(metric_title(row.metric), "compare", (), {**query, "metric": row.metric})

    others = list(dict.fromkeys(row.b.pk for row in rows))
    metrics = list(dict.fromkeys(row.metric for row in rows))
    one = len(others) == 1
    table = Table[Compared](
        "Other shared metrics",
        [
            Column("Metric", metric, "name"),
            Column("Run", lambda row: [model_link(row.b.model), run_link(row.b.pk, "small nowrap")], given="several"),
            Column("Shared tasks", lambda row: row.shared_of_common, "number", "nowrap"),
            Column(f"Run {first.pk}", lambda row: _mean(row.comparison.interval_a), look="nowrap"),
            Column(f"Run {others[0]}" if one else "Mean", lambda row: _mean(row.comparison.interval_b), look="nowrap"),
            Column("Difference", difference, look="nowrap"),
            Column("p (Holm)", lambda row: p_value(row.p_adjusted), "number", info="holm"),
        ],
        captioned=True,
    )
    of = f"run {others[0]}" if one else "the run"
    title = f"Difference: {of} minus run {first.pk}, in points with 95% interval. Bold: significant."
    return table.where(several=not one).of(sorted(rows, key=lambda row: metrics.index(row.metric)), title=title)


@dataclass(frozen=True, slots=True)
class MovedRow:
    """A run on one version, and the latest scoring of its answers on the version ``new``, which may be in progress."""

    run: Run
    again: Run | None
    new: int
    may_rescore: bool

    @property
    def before(self) -> Mean:
        return mean_of(self.run, self.run.headline)

    @property
    def after(self) -> Mean | None:
        again, metric = self.again, self.run.headline
        return mean_of(again, metric) if again and again.summary and metric in again.all_metrics else None

    @property
    def change(self) -> float | None:
        before, after = self.before.mean, self.after.mean if self.after else None
        return None if before is None or after is None else after - before


def mean_of(run: Run, metric: str) -> Mean:
    of = run.numbers_of(metric)
    return Mean(of.mean, of.low, of.high)


def _moved_run(row: MovedRow) -> Cell:
    return [Link(row.run.name or str(row.run), "run", (row.run.pk,)), Words(row.run.model_label, "small")]


def _on_new(row: MovedRow) -> Cell:
    if row.after and row.again:
        bounds = Words(interval(row.after.low, row.after.high), "interval")
        return [Link(score(row.after.mean), "run", (row.again.pk,)), bounds]
    if row.again:
        return run_link(row.again.pk)
    return Link("Rescore", "rescore", (row.run.pk,), {"version": row.new}) if row.may_rescore else MISSING


def moved_table(old: int, new: int) -> Table[MovedRow]:
    """Of runs on version ``old`` whose answers may be scored on version ``new``."""
    return Table(
        "Runs with their score on each version",
        [
            Column("Run", _moved_run, "name"),
            Column("Metric", lambda row: metric_title(row.run.headline)),
            Column(f"Version {old}", lambda row: row.before, look="nowrap"),
            Column(f"Version {new}", _on_new, look="nowrap"),
            Column("Change, points", lambda row: signed_points(row.change), "number"),
        ],
        region=True,
    )
