"""The charts of one run, from its stored summary and breakdown."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from django.urls import reverse

from benchmarks.models import Run
from frontend import charts
from frontend.chart_parts import Chart, Level
from frontend.charts import SurfaceCell
from frontend.view_models import MetricRow, metric_rows

_LEVELS = (("difficulty", "difficulty"), ("group", "task class"), ("n_shapes", "number of shapes"))


def run_charts(run: Run, metric: str = "") -> list[Chart]:
    """By difficulty, task class and number of shapes where there is more than one of them, and the spread of scores.

    Of all metrics, or of one alone.
    """
    rows = [row for row in metric_rows(run) if row.mean is not None and metric in ("", row.name)]
    found = [chart for row in rows for chart in (*_breakdowns(run, row), _spread(run, row))]
    return [chart for chart in found if chart is not None]


def surface_charts(run: Run, metric: str, others: Sequence[Run] = ()) -> list[Chart]:
    """The difficulty surface of a run on a canvas set; empty where the run has none.

    First the heat map and the lines of the run, then, where the model was asked in other ways too (``others``, each
    another representation or number of examples), all the ways side by side, and the heat map of each other way.
    """
    row = next((row for row in metric_rows(run) if row.name == metric), None)
    if row is None:
        return []
    cells = surface_cells(run, metric)
    found = [charts.surface_heat_map(cells, row.measure), charts.surface_lines(cells, row.measure)]
    if others:
        ways = [cell for one in (run, *others) for cell in _way_cells(one, metric)]
        found += [
            charts.surface_heat_map(ways, row.measure, "ways", "way of asking"),
            charts.surface_lines(ways, row.measure, "ways-lines", "way of asking"),
        ]
    for other in others:
        by = f"task class, asked {way_of(other)}"
        found.append(charts.surface_heat_map(surface_cells(other, metric), row.measure, f"surface-{other.pk}", by))
    return [chart for chart in found if chart is not None]


def way_of(run: Run) -> str:
    """How a canvas set was shown to the model."""
    return f"{run.representation or 'full'}, {'few-shot' if run.few_shot else 'zero-shot'}"


def surface_cells(run: Run, metric: str) -> list[SurfaceCell]:
    """The scored cells of the surface by task class, then by number of shapes."""
    cells = [
        _cell(run, cell, cell["group"], group=cell["group"], n_shapes=cell["n_shapes"])
        for cell in run.breakdown.get("surface", ())
        if cell["metric"] == metric and cell["mean"] is not None
    ]
    return sorted(cells, key=lambda cell: (cell.group, cell.n_shapes))


def _way_cells(run: Run, metric: str) -> list[SurfaceCell]:
    """All task classes of a run together, by number of shapes; the group is the way of asking."""
    levels = {int(n_shapes): row.get(metric, {}) for n_shapes, row in run.breakdown.get("n_shapes", {}).items()}
    return [
        _cell(run, levels[n_shapes], way_of(run), n_shapes=n_shapes)
        for n_shapes in sorted(levels)
        if levels[n_shapes].get("mean") is not None
    ]


def _cell(run: Run, level: Level, name: str, n_shapes: int, **filters: str) -> SurfaceCell:
    """``filters`` and the number of shapes lead to the results of the cell."""
    query = urlencode({**filters, "n_shapes": n_shapes})
    return SurfaceCell(
        n_shapes=n_shapes,
        group=name,
        mean=level["mean"],
        low=level["low"],
        high=level["high"],
        n=level["n"],
        url=f"{reverse('frontend:run', args=(run.pk,))}?{query}#results",
    )


def _breakdowns(run: Run, row: MetricRow) -> list[Chart | None]:
    found = []
    for key, words in _LEVELS:
        levels = {level: by_metric.get(row.name, {}) for level, by_metric in run.breakdown.get(key, {}).items()}
        if len(levels) > 1:
            title = f"{row.title} by {words}"
            found.append(charts.by_level(f"{key}-{row.name}", title, words.capitalize(), _sorted(levels), row.measure))
    return found


def _sorted(levels: dict[str, Level]) -> dict[str, Level]:
    """Easy before hard, 3 shapes before 12, task classes by name."""
    known = ["easy", "medium", "hard"]

    def place(level: str) -> tuple[int, str]:
        if level in known:
            return known.index(level), level
        return (int(level), "") if level.isdigit() else (0, level)

    return {level: levels[level] for level in sorted(levels, key=place)}


def _spread(run: Run, row: MetricRow) -> Chart | None:
    spread = run.summary.get("histograms", {}).get(row.name)
    if not spread:
        return None
    return charts.histogram(f"spread-{row.name}", spread["edges"], spread["counts"], row.measure)
