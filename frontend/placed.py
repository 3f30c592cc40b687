"""A chart placed on a page: with the addresses at which the server draws it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from frontend.chart_parts import Chart


@dataclass(frozen=True, slots=True)
class PlacedChart:
    chart: Chart
    svg: str
    png: str


def placed(charts: Iterable[Chart | None], url: Callable[[str, str], str]) -> list[PlacedChart]:
    """The charts there are; ``url(name, format)`` gives the address of a drawn one."""
    return [PlacedChart(chart, url(chart.name, "svg"), url(chart.name, "png")) for chart in charts if chart is not None]
