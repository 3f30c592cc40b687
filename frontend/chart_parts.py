"""What charts consist of: the chart itself, its measure, and a mean with its interval."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from benchmarks.presentation.sentences import n_of_expected, n_of_mean
from benchmarks.summary import Expected
from frontend.plots import UNIT, Axis, round_axis

Row = dict[str, Any]
Cell = str | float | None
INTERVAL_COLUMNS = ("Mean", "Low", "High", "n")
"""Heads of a mean with its interval in the table of a chart."""
FIGURES = ("mean", "low", "high", "n")


def figures(level: Expected, metric: str = "") -> Row:
    """Mean, bounds, and n of N in words, as the tables and tooltips of charts show them; without a metric, of an
    average over datasets."""
    n_of = n_of_mean(metric, level) if metric else n_of_expected(level.n, level.n_expected)
    return {"mean": level.mean, "low": level.low, "high": level.high, "n": n_of}


@dataclass(frozen=True, slots=True)
class Chart:
    """``title`` states what is shown, ``note`` its units and what the marks mean; ``rows`` are the same numbers.

    ``panels`` are its drawings: one, or a small one for each group.
    """

    name: str
    title: str
    note: str
    panels: tuple[SafeString, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    links: tuple[str, ...] = ()
    """For each row, the address of what is behind it: for readers who do not point at marks."""
    key: tuple[str, ...] = ()
    """The names of points that phones show as numbers, from 1."""
    is_crowded: bool = False
    """Whether pages show them as numbers on every screen; files have room for names on lines to their points."""

    @property
    def linked_rows(self) -> list[tuple[tuple[Cell, ...], str]]:
        """The rows, each with its address or an empty text."""
        return list(zip(self.rows, self.links or [""] * len(self.rows), strict=True))


def sentence(title: str, note: str) -> str:
    """What a drawing shows, for screen readers."""
    return f"{title}. {note.rstrip('.')}. The table below has the same numbers."


@dataclass(frozen=True, slots=True)
class Measure:
    """The metric a chart shows. ``bounded`` scores have an axis from 0 to 1."""

    name: str
    title: str
    unit: str = ""
    bounded: bool = True

    def axis(self, values: Iterable[float | None]) -> Axis:
        """An axis with room for the values; of others than bounded scores, around the values alone."""
        known = [value for value in values if value is not None]
        return UNIT if self.bounded else round_axis(known)

    def words(self, mean: float) -> str:
        """A mean as it is written beside its mark."""
        if self.bounded:
            return f"{mean:.3f}"
        return f"{mean:,.3g} {self.unit}".rstrip()


def tooltip(row: Row, measure: Measure, *before: object) -> str:
    """The mean of a row with its bounds and n, after what says which row it is."""
    bounds = "" if row["low"] is None else f" ({measure.words(row['low'])} to {measure.words(row['high'])})"
    return f"{', '.join(map(str, before))}: {measure.words(row['mean'])}{bounds}, n = {row['n']}"
