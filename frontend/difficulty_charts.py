"""Charts of canvas runs: scores by task class and number of shapes, and curves fitted to difficulty."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.html import format_html
from django.utils.safestring import SafeString

from benchmarks.presentation.labels import DIFFICULTY, sentence_case
from benchmarks.presentation.sentences import n_of_expected
from benchmarks.presentation.texts import cut, visible
from benchmarks.statistics.psychometric import ThresholdStatus, share_right
from benchmarks.summary import Threshold
from frontend.chart_parts import FIGURES, INTERVAL_COLUMNS, Chart, Measure, Row, sentence, tooltip
from frontend.plots import Plot, percent, round_axis, svg

_CURVE_STEPS = 24
_CELL = 32
"""Pixels of height."""
_NAME = 22
"""Characters of the name of a row."""
CHART = {"n_shapes": "shapes", "tracking_steps": "tracking", "inference_steps": "inference"}
"""Measure of difficulty → the name of its chart."""


def surface_heat_map(
    cells: Sequence[Row], measure: Measure, name: str = "surface", by: str = "task class"
) -> Chart | None:
    """Mean score by number of shapes and by what ``group`` is; each cell links to its results.

    A cell has ``group``, ``n_shapes``, ``FIGURES``, and the ``url`` of the results behind it.
    """
    if not cells:
        return None
    title = f"{measure.title} by number of shapes and {by}"
    note = "Columns: number of shapes. Cells: mean score; each leads to its results."
    rows, columns = list(dict.fromkeys(cell["group"] for cell in cells)), sorted({cell["n_shapes"] for cell in cells})
    parts = [
        _cell(cell, measure, rows.index(cell["group"]), columns.index(cell["n_shapes"]), len(columns)) for cell in cells
    ]
    for place, row in enumerate(rows):
        head = '<text class="name" x="0%" y="{}" dx="-12" text-anchor="end">{}</text>'
        parts.append(format_html(head, _CELL * place + 20, cut(visible(row), _NAME)))
    for place, column in enumerate(columns):
        head = '<text x="{}" y="100%" dy="18" text-anchor="middle">{}</text>'
        parts.append(format_html(head, percent((place + 0.5) / len(columns)), column))
    drawn = svg("plot rows", _CELL * len(rows), sentence(title, note), parts, role="group")
    return _surface((name, title, note), by, cells, (drawn,))


def _cell(cell: Row, measure: Measure, row: int, column: int, n_columns: int) -> SafeString:
    tint = 1 + min(4, int(5 * min(1.0, max(0.0, cell["mean"]))))
    return format_html(
        '<a href="{}" aria-label="{}"><rect class="cell tint-{}" x="{}" y="{}" width="{}" height="{}"/>'
        '<text class="value" x="{}" y="{}" text-anchor="middle">{}</text></a>',
        cell["url"],
        visible(tooltip(cell, measure, cell["group"], f"{cell['n_shapes']} shapes")),
        tint,
        percent(column / n_columns),
        _CELL * row,
        percent(1 / n_columns),
        _CELL,
        percent((column + 0.5) / n_columns),
        _CELL * row + 20,
        f"{cell['mean']:.2f}" if measure.bounded else measure.words(cell["mean"]),
    )


def surface_lines(
    cells: Sequence[Row], measure: Measure, name: str = "surface-lines", by: str = "task class"
) -> Chart | None:
    """The same means as a line over the number of shapes for each group, with a band for the intervals."""
    if len({cell["n_shapes"] for cell in cells}) < 2:
        return None
    x = round_axis([cell["n_shapes"] for cell in cells], most=6, whole=True, inside=True)
    y = measure.axis(cell[figure] for cell in cells for figure in ("low", "mean", "high"))
    plot, panels = Plot(x, y), []
    for group in dict.fromkeys(cell["group"] for cell in cells):
        own = [cell for cell in cells if cell["group"] == group]
        known = [(cell["n_shapes"], cell["low"], cell["high"]) for cell in own if cell["low"] is not None]
        spots = [(cell["n_shapes"], cell["mean"]) for cell in own]
        parts = [plot.band(known), *plot.joined("curve", spots)]
        for cell in own:
            shown = tooltip(cell, measure, group, f"{cell['n_shapes']} shapes")
            parts.append(plot.dot(cell["n_shapes"], cell["mean"], shown))
        ends = {spots[0]: spots[:2][-1], spots[-1]: spots[-2:][0]}
        parts += [
            plot.words(*spot, measure.words(spot[1]), dy=_beside(y.share(spot[1]), y.share(nearest[1])))
            for spot, nearest in ends.items()
        ]
        panels.append(_panel(plot, group, parts))
    title = f"{measure.title} by number of shapes, by {by}"
    note = "From left to right: more shapes. Line: mean. Band: 95% interval."
    return _surface((name, title, note), by, cells, tuple(panels))


def _beside(height: float, of_nearest: float) -> int:
    """Pixels down to the words at the end of a line: on the side that the line does not take, if there is room."""
    is_above = height < 0.85 and (of_nearest <= height or height < 0.15)
    return -9 if is_above else 17


def _panel(plot: Plot, group: str, parts: Sequence[SafeString]) -> SafeString:
    """One of several small plots on common axes, below its name."""
    head = format_html('<text class="head" x="0%" y="-10">{}</text>', cut(visible(group), 2 * _NAME))
    return plot.drawn((head, *parts), f"{group}. The table below has the numbers.", height=120, look="plot small")


def _surface(head: tuple[str, str, str], by: str, cells: Sequence[Row], panels: tuple[SafeString, ...]) -> Chart:
    return Chart(
        *head,
        panels,
        (sentence_case(by.partition(",")[0]), "Shapes", *INTERVAL_COLUMNS),
        tuple(tuple(cell[field] for field in ("group", "n_shapes", *FIGURES)) for cell in cells),
        tuple(cell["url"] for cell in cells),
    )


def threshold_charts(thresholds: Sequence[Threshold]) -> list[Chart]:
    """For each measure of difficulty with a fitted curve: dots for the scores, a line for each curve."""
    fitted = [row for row in thresholds if row.status == ThresholdStatus.FITTED]
    return [
        _threshold_chart(measure, [row for row in fitted if row.measure == measure])
        for measure in dict.fromkeys(row.measure for row in fitted)
    ]


def _threshold_chart(measure: str, rows: Sequence[Threshold]) -> Chart:
    name, words = CHART[measure], DIFFICULTY[measure]
    tested = [level.difficulty for row in rows for level in row.levels]
    score = Measure("score", "Mean score")
    plot = Plot(round_axis(tested, most=6, whole=True, inside=True), score.axis(()))
    panels, table = [], []
    for row in rows:
        group = sentence_case(row.group) or "All task classes"
        lowest, highest = (bound(level.difficulty for level in row.levels) for bound in (min, max))
        places = [lowest + (highest - lowest) * step / _CURVE_STEPS for step in range(_CURVE_STEPS + 1)]
        parts = [*plot.joined("curve", [(place, _fitted(row, place)) for place in places])]
        for level in row.levels:
            n_of = n_of_expected(level.n, level.n_expected)
            parts.append(
                plot.dot(level.difficulty, level.mean, f"{group}, {level.difficulty:g}: {level.mean:.3f}, n = {n_of}")
            )
            table.append((group, level.difficulty, level.mean, _fitted(row, level.difficulty), n_of))
        panels.append(_panel(plot, group, parts))
    return Chart(
        f"threshold-{name}",
        f"Score by {words}",
        f"From left to right: more {words.removeprefix('number of ')}. Dot: mean. Line: fitted curve. "
        "The threshold is halfway between guessing and perfect.",
        tuple(panels),
        ("Task class", sentence_case(words), "Mean", "Fitted", "n"),
        tuple(table),
    )


def _fitted(row: Threshold, difficulty: float) -> float:
    threshold, slope, lapse = row.threshold or 0.0, row.slope or 0.0, row.lapse or 0.0
    return share_right(difficulty, threshold=threshold, slope=slope, lapse=lapse, guess_rate=row.guess)
