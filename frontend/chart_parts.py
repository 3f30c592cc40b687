"""What charts consist of: the chart itself, its measure, and the parts of Vega-Lite that several charts share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from benchmarks.presentation.sentences import n_of_expected, n_of_mean
from benchmarks.summary import Expected

Spec = dict[str, Any]
Cell = str | float | None
INTERVAL_COLUMNS = ("Mean", "Low", "High", "n")
"""Heads of a mean with its interval in the table of a chart."""
FIGURES = ("mean", "low", "high", "n")


def figures(level: Expected, metric: str = "") -> Spec:
    """Mean, bounds, and n of N in words, as the tables and tooltips of charts show them; without a metric, of an
    average over datasets."""
    n_of = n_of_mean(metric, level) if metric else n_of_expected(level.n, level.n_expected)
    return {"mean": level.mean, "low": level.low, "high": level.high, "n": n_of}


_AXIS_COLORS = {"labelColor": "var(--ink-soft)", "titleColor": "var(--ink-soft)", "titleFontWeight": "normal"}
_CONFIG: Spec = {
    "background": "transparent",
    "font": "system-ui, -apple-system, Segoe UI, Roboto, Helvetica Neue, Arial, sans-serif",
    "view": {"stroke": None},
    "axis": _AXIS_COLORS
    | {
        "gridColor": "var(--line)",
        "domainColor": "var(--line-strong)",
        "tickColor": "var(--line-strong)",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "labelLimit": 220,
        "labelFlush": False,
        "labelSeparation": 6,
    },
    "legend": _AXIS_COLORS
    | {
        "labelColor": "var(--ink)",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "labelLimit": 260,
        "symbolOpacity": 1,
        "orient": "bottom",
    },
    "text": {"color": "var(--ink)", "fontSize": 12},
}


@dataclass(frozen=True, slots=True)
class Chart:
    """``title`` states what is shown, ``note`` its units and what the marks mean; ``rows`` are the same numbers."""

    name: str
    title: str
    note: str
    spec: Spec
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    links: tuple[str, ...] = ()
    """For each row, the address of what is behind it: for readers who do not point at marks."""
    drawn: SafeString | None = None
    """The chart as the page has it; without one, the browser draws the spec."""

    @property
    def sentence(self) -> str:
        return f"{self.title}. {self.note.rstrip('.')}. The table below has the same numbers."

    @property
    def drawing(self) -> Spec:
        """The spec with the sentence for screen readers."""
        return {**self.spec, "description": self.sentence}

    @property
    def linked_rows(self) -> list[tuple[tuple[Cell, ...], str]]:
        """The rows, each with its address or an empty text."""
        return list(zip(self.rows, self.links or [""] * len(self.rows), strict=True))


@dataclass(frozen=True, slots=True)
class Measure:
    """The metric a chart shows. ``bounded`` scores have an axis from 0 to 1."""

    name: str
    title: str
    unit: str = ""
    bounded: bool = True

    @property
    def axis(self) -> str:
        return f"{self.title} ({self.unit})" if self.unit else self.title


def spec_of(values: Sequence[Mapping[str, Any]], **parts: Any) -> Spec:
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": "container",
        "data": {"values": list(values)},
        "config": _CONFIG,
        **parts,
    }


def layer(mark: str, encoding: Spec, **options: Any) -> Spec:
    return {"mark": {"type": mark, **options}, "encoding": encoding}


def quantity(field: str, title: str | None = None, **options: Any) -> Spec:
    named = {} if title is None else {"title": title}
    return {"field": field, "type": "quantitative", **named, **options}


def whole_numbers(low: float, high: float, most: int = 10) -> Spec:
    """An axis with at most ``most`` steps, at whole numbers only. Vega's own ``tickMinStep`` halves a single step."""
    least = max(1.0, (high - low) / most)
    power = 10 ** math.floor(math.log10(least))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)
    return {"values": list(range(math.ceil(low / step) * step, math.floor(high) + 1, step)), "format": ",d"}


def category(field: str, names: Sequence[str] = (), colors: Sequence[str] = (), **options: Any) -> Spec:
    """A nominal field without a title, in the order of the data or of ``names``; ``colors`` are one a name."""
    if not names:
        return {"field": field, "type": "nominal", "sort": None, "title": None, **options}
    scale = {"domain": list(names), "range": list(colors)} if colors else {"domain": list(names)}
    return {"field": field, "type": "nominal", "title": None, "scale": scale, **options}


def multiples(values: Sequence[Mapping[str, Any]], layers: Sequence[Spec]) -> Spec:
    """One small plot for each ``group`` of the values, on common axes. The page chooses the number of columns."""
    spec = {key: part for key, part in spec_of(values).items() if key != "width"}
    header = {
        "labelFontSize": 13,
        "labelColor": "var(--ink)",
        "labelAnchor": "start",
        "labelLimit": 190,
        "labelPadding": 8,
    }
    groups = list(dict.fromkeys(value["group"] for value in values))
    return spec | {
        "facet": category("group", sort=groups, header=header),
        "columns": 3,
        "resolve": {"axis": {"x": "independent"}},
        "bounds": "flush",
        "spacing": {"row": 56, "column": 32},
        "spec": {"width": 190, "height": 120, "layer": list(layers)},
    }


def score_of(field: str, measure: Measure) -> Spec:
    """The axis of the score. That of a bounded score has no title: the title of the chart names the metric."""
    if not measure.bounded:
        return quantity(field, measure.axis, scale={"zero": False})
    return {**quantity(field), "title": None, "scale": {"domain": [0, 1]}, "axis": {"values": [0, 0.5, 1]}}


def score_words(mean: float, measure: Measure) -> str:
    """A mean as it is written beside its mark."""
    return f"{mean:.3f}" if measure.bounded else f"{mean:,.3g}"


def tooltip(*fields: str) -> list[Spec]:
    """The fields, then mean, bounds and n."""
    numbers = [quantity(name, format=".3f") for name in FIGURES[:3]]
    return [*({"field": name} for name in fields), *numbers, {"field": "n", "type": "nominal"}]


def dots_with_intervals(x: Spec, color: str = "var(--accent)") -> list[Spec]:
    """A line from low to high and a dot at the mean for each ``level``, and its ``words`` at the right.

    ``x`` is the axis of the mean.
    """
    y = category("level")
    return [
        layer(
            "rule",
            {"x": x | {"field": "low"}, "x2": {"field": "high"}, "y": y},
            color="var(--ink-soft)",
            strokeWidth=2,
        ),
        layer(
            "point",
            {"x": x, "y": y, "tooltip": tooltip("level")},
            filled=True,
            size=60,
            color=color,
            opacity=1,
        ),
        layer(
            "text",
            {"x": {"value": "width"}, "y": y, "text": {"field": "words"}},
            align="left",
            dx=8,
            aria=False,
        ),
    ]
