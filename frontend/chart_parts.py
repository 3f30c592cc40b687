"""What charts are made of: the chart itself, its measure, and the pieces of Vega-Lite that several charts share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Spec = dict[str, Any]
Cell = str | float | None
Level = Mapping[str, Any]
"""``{"mean", "n", "low", "high"}`` of one level of a breakdown."""

SERIES = tuple(f"var(--series-{number})" for number in range(1, 7))

_CONFIG: Spec = {
    "background": "transparent",
    "font": "system-ui, -apple-system, Segoe UI, Roboto, Helvetica Neue, Arial, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--ink-soft)",
        "titleColor": "var(--ink-soft)",
        "gridColor": "var(--line)",
        "domainColor": "var(--line-strong)",
        "tickColor": "var(--line-strong)",
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "labelLimit": 220,
        "labelFlush": False,
        "labelSeparation": 6,
    },
    "legend": {
        "labelColor": "var(--ink)",
        "titleColor": "var(--ink-soft)",
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "labelLimit": 260,
        "symbolOpacity": 1,
        "orient": "bottom",
    },
    "text": {"color": "var(--ink)", "fontSize": 12},
}


@dataclass(frozen=True, slots=True)
class Chart:
    """What a reader sees: ``title`` states what is shown, ``note`` the units and what the lines mean."""

    name: str
    title: str
    note: str
    spec: Spec
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


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


def score_axis(measure: Measure) -> Spec:
    return {"title": measure.axis, "scale": {"domain": [0, 1]} if measure.bounded else {"zero": False}}


def dots_with_intervals(measure: Measure, color: str, x: Spec | None = None) -> list[Spec]:
    axis = x or {"type": "quantitative", **score_axis(measure)}
    return [
        {
            "mark": {"type": "rule", "color": "var(--ink-soft)", "strokeWidth": 2},
            "encoding": {"x": {"field": "low", **axis}, "x2": {"field": "high"}},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 60, "color": color, "opacity": 1},
            "encoding": {"x": {"field": "mean", **axis}, "tooltip": tooltip("level")},
        },
    ]


def y_level() -> Spec:
    return {"y": {"field": "level", "type": "nominal", "sort": None, "title": None}}


def tooltip(*names: str) -> list[Spec]:
    figures = [{"field": name, "format": ".3f", "type": "quantitative"} for name in ("mean", "low", "high")]
    return [*({"field": name} for name in names), *figures, {"field": "n", "type": "quantitative"}]
