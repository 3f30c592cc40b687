"""Charts of canvas runs: scores by task class and number of shapes, and curves fitted to difficulty."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.presentation.labels import DIFFICULTY, sentence_case
from benchmarks.presentation.sentences import n_of_expected
from benchmarks.statistics.psychometric import ThresholdStatus, share_right
from benchmarks.summary import Threshold
from frontend.chart_parts import (
    FIGURES,
    INTERVAL_COLUMNS,
    Chart,
    Measure,
    Spec,
    category,
    layer,
    multiples,
    quantity,
    score_of,
    score_words,
    spec_of,
    tooltip,
    whole_numbers,
)

_CURVE_POINTS = 60
CHART = {"n_shapes": "shapes", "tracking_steps": "tracking", "inference_steps": "inference"}
"""Measure of difficulty → the name of its chart."""


def surface_heat_map(
    cells: Sequence[Spec], measure: Measure, name: str = "surface", by: str = "task class"
) -> Chart | None:
    """Mean score by number of shapes and by what ``group`` is; each cell links to its results.

    A cell has ``group``, ``n_shapes``, ``FIGURES``, and the ``url`` of the results behind it.
    """
    if not cells:
        return None
    ramp = ["var(--tint-1)", "var(--tint-3)", "var(--tint-5)"]
    # Every cell has its value, so the colors need no legend.
    color = quantity("mean", scale={"domain": [0, 0.5, 1], "interpolate": "rgb", "range": ramp}, legend=None)
    return _surface(
        name,
        f"{measure.title} by number of shapes and {by}",
        "Each cell is a mean. Select a cell, or its row in the table, to see its results.",
        by,
        cells,
        spec=spec_of(
            cells,
            height=32 * len({cell["group"] for cell in cells}),
            encoding={
                "x": {"field": "n_shapes", "type": "ordinal", "title": "Number of shapes", "axis": {"labelAngle": 0}},
                "y": category("group"),
                "href": {"field": "url"},
                "tooltip": tooltip("group", "n_shapes"),
            },
            layer=[
                layer("rect", {"color": color}, cursor="pointer", stroke="var(--surface)"),
                layer(
                    "text", {"text": quantity("mean", format=".2f"), "color": {"value": "var(--ink)"}}, cursor="pointer"
                ),
            ],
        ),
    )


def surface_lines(
    cells: Sequence[Spec], measure: Measure, name: str = "surface-lines", by: str = "task class"
) -> Chart | None:
    """The same means as a line over the number of shapes for each group, with a band for the intervals.

    The first and the last value of a group are at its line.
    """
    if len({cell["n_shapes"] for cell in cells}) < 2:
        return None
    first = {cell["group"]: cell["n_shapes"] for cell in reversed(cells)}
    last = {cell["group"]: cell["n_shapes"] for cell in cells}
    values = [
        {
            **cell,
            "words": score_words(cell["mean"], measure),
            "side": "left" if cell["n_shapes"] == first[cell["group"]] else "right",
        }
        if cell["n_shapes"] in (first[cell["group"]], last[cell["group"]])
        else cell
        for cell in cells
    ]
    x = _difficulty_axis("n_shapes", [cell["n_shapes"] for cell in cells])
    mean = {"x": x, "y": score_of("mean", measure)}
    return _surface(
        name,
        f"{measure.title} by number of shapes, by {by}",
        "From left to right: more shapes. Line: mean. Band: 95% interval.",
        by,
        cells,
        spec=multiples(
            values,
            [
                layer(
                    "area",
                    {"x": x, "y": score_of("low", measure), "y2": {"field": "high"}},
                    color="var(--accent)",
                    opacity=0.15,
                ),
                layer("line", mean, color="var(--accent)"),
                layer(
                    "point",
                    mean | {"tooltip": tooltip("group", "n_shapes")},
                    filled=True,
                    size=40,
                    color="var(--accent)",
                    opacity=1,
                ),
                {
                    "transform": [{"filter": "isValid(datum.words)"}],
                    **layer(
                        "text",
                        mean | {"text": {"field": "words"}},
                        align={"expr": "datum.side"},
                        dy={"expr": "datum.mean > 0.7 ? 15 : -11"},
                        aria=False,
                    ),
                },
            ],
        ),
    )


def _surface(name: str, title: str, note: str, by: str, cells: Sequence[Spec], *, spec: Spec) -> Chart:
    return Chart(
        name,
        title,
        note,
        spec,
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
    groups = [sentence_case(row.group) or "All task classes" for row in rows]
    tested = [level.difficulty for row in rows for level in row.levels]
    encoding = {"x": _difficulty_axis("x", tested), "y": score_of("share", Measure("score", "Mean score"))}
    dots, curves, table = [], [], []
    for group, row in zip(groups, rows, strict=True):
        for level in row.levels:
            difficulty, mean = level.difficulty, level.mean
            n_of = n_of_expected(level.n, level.n_expected)
            dots.append({"group": group, "x": difficulty, "share": mean, "n": n_of})
            table.append((group, difficulty, mean, _fitted(row, difficulty), n_of))
        lowest, highest = (bound(level.difficulty for level in row.levels) for bound in (min, max))
        for index in range(_CURVE_POINTS + 1):
            place = lowest + (highest - lowest) * index / _CURVE_POINTS
            curves.append(
                {"group": group, "x": round(place, 3), "share": round(_fitted(row, place), 4), "fitted": True}
            )
    shown = [{"field": "group"}, {"field": "x"}, {"field": "share", "format": ".3f"}, {"field": "n", "type": "nominal"}]
    return Chart(
        f"threshold-{name}",
        f"Score by {words}",
        f"From left to right: more {words.removeprefix('number of ')}. Dot: mean. Line: fitted curve. "
        "The threshold is halfway between guessing and perfect.",
        multiples(
            [*dots, *curves],
            [
                {"transform": [{"filter": "datum.fitted"}], **layer("line", encoding, color="var(--accent)")},
                {
                    "transform": [{"filter": "!datum.fitted"}],
                    **layer(
                        "point",
                        encoding | {"tooltip": shown},
                        filled=True,
                        size=40,
                        color="var(--accent)",
                        opacity=1,
                    ),
                },
            ],
        ),
        ("Task class", sentence_case(words), "Mean", "Fitted", "n"),
        tuple(table),
    )


def _fitted(row: Threshold, difficulty: float) -> float:
    threshold, slope, lapse = row.threshold or 0.0, row.slope or 0.0, row.lapse or 0.0
    return share_right(difficulty, threshold=threshold, slope=slope, lapse=lapse, guess_rate=row.guess)


def _difficulty_axis(field: str, levels: Sequence[float]) -> Spec:
    ticks = whole_numbers(min(levels), max(levels), most=6)
    return {**quantity(field), "title": None, "scale": {"zero": False, "nice": False}, "axis": ticks}
