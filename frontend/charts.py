"""Charts as Vega-Lite specs: pure functions from query rows to a ``Chart``.

Colours are written as ``var(--token)``, the names of ``css/tokens.css``; the page and ``frontend.drawing`` put in the
values of the theme. Every chart carries the table of its numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from frontend.chart_parts import (
    SERIES,
    Cell,
    Chart,
    Level,
    Measure,
    Spec,
    dots_with_intervals,
    score_axis,
    spec_of,
    tooltip,
    y_level,
)
from frontend.label_places import LONGEST, PLACES, label_places, share_of

_STEP = 24


@dataclass(frozen=True, slots=True)
class SurfaceCell:
    """The mean score of one task class at one number of shapes, and the address of the results behind it."""

    n_shapes: int
    group: str
    mean: float
    low: float
    high: float
    n: int
    url: str


@dataclass(frozen=True, slots=True)
class Contender:
    """One row of a leaderboard. Cost is US dollars per 1,000 answers, latency the median in milliseconds."""

    label: str
    mean: float
    low: float
    high: float
    n: int
    cost: float | None
    latency: float | None


def by_level(name: str, title: str, level_title: str, levels: Mapping[str, Level], measure: Measure) -> Chart | None:
    """Means with their intervals, a line for each level; ``None`` where no level has a mean."""
    values = [
        {"level": level, "mean": row["mean"], "low": row["low"], "high": row["high"], "n": row["n"]}
        for level, row in levels.items()
        if row.get("mean") is not None
    ]
    if not values:
        return None
    return Chart(
        name,
        title,
        f"{measure.axis}; dot: mean" + ("" if all(row["low"] is None for row in values) else ", line: 95 % interval"),
        spec_of(
            values,
            height=_STEP * len(values),
            encoding=y_level(),
            layer=dots_with_intervals(measure, "var(--accent)"),
        ),
        (level_title, "Mean", "Low", "High", "n"),
        tuple((row["level"], row["mean"], row["low"], row["high"], row["n"]) for row in values),
    )


def histogram(name: str, edges: Sequence[float], counts: Sequence[int], measure: Measure) -> Chart | None:
    """How many results have which score; ``None`` where nothing was scored."""
    if not counts or not sum(counts):
        return None
    values = [
        {"from": low, "to": high, "count": count} for low, high, count in zip(edges, edges[1:], counts, strict=False)
    ]
    return Chart(
        name,
        f"How the scores of {measure.title} are spread",
        "Number of results in each range of scores",
        spec_of(
            values,
            height=140,
            mark={"type": "bar", "color": "var(--accent)", "tooltip": True, "binSpacing": 1},
            encoding={
                "x": {"field": "from", "type": "quantitative", "bin": {"binned": True}, "title": measure.axis},
                "x2": {"field": "to"},
                "y": {"field": "count", "type": "quantitative", "title": "Results", "axis": {"tickMinStep": 1}},
            },
        ),
        ("From", "To", "Results"),
        tuple((row["from"], row["to"], row["count"]) for row in values),
    )


def surface_heat_map(
    cells: Sequence[SurfaceCell], measure: Measure, name: str = "surface", by: str = "task class"
) -> Chart | None:
    """Mean score by number of shapes and by what ``group`` is; each cell is a link to its results."""
    if not cells:
        return None
    x = {"field": "n_shapes", "type": "ordinal", "title": "Shapes on the canvas", "axis": {"labelAngle": 0}}
    y = {"field": "group", "type": "nominal", "sort": None, "title": None}
    return Chart(
        name,
        f"{measure.title} by number of shapes and {by}",
        "Mean of each cell; choose one to see its results",
        spec_of(
            [_surface_row(cell) | {"url": cell.url} for cell in cells],
            height=32 * len({cell.group for cell in cells}),
            encoding={"x": x, "y": y, "href": {"field": "url"}, "tooltip": tooltip("group", "n_shapes")},
            layer=[
                {
                    "mark": {"type": "rect", "cursor": "pointer", "stroke": "var(--surface)"},
                    "encoding": {
                        "color": {
                            "field": "mean",
                            "type": "quantitative",
                            "title": "Mean",
                            "scale": {
                                "domain": [0, 0.5, 1],
                                "interpolate": "rgb",
                                "range": ["var(--ramp-low)", "var(--ramp-middle)", "var(--ramp-high)"],
                            },
                        }
                    },
                },
                {
                    "mark": {"type": "text", "cursor": "pointer"},
                    "encoding": {
                        "text": {"field": "mean", "type": "quantitative", "format": ".2f"},
                        "color": {
                            "condition": {"test": "datum.mean > 0.87", "value": "var(--ramp-high-ink)"},
                            "value": "var(--ink)",
                        },
                    },
                },
            ],
        ),
        (by.partition(",")[0].capitalize(), *_SURFACE_COLUMNS),
        _surface_table(cells),
    )


def surface_lines(
    cells: Sequence[SurfaceCell], measure: Measure, name: str = "surface-lines", by: str = "task class"
) -> Chart | None:
    """The same means as lines over the number of shapes, with bands for their intervals."""
    if len({cell.n_shapes for cell in cells}) < 2:
        return None
    groups = list(dict.fromkeys(cell.group for cell in cells))
    color = {
        "field": "group",
        "type": "nominal",
        "title": None,
        "scale": {"domain": groups, "range": [SERIES[place % len(SERIES)] for place in range(len(groups))]},
        "legend": {"columns": 2},
    }
    x = {"field": "n_shapes", "type": "quantitative", "title": "Shapes on the canvas", "axis": {"tickMinStep": 1}}
    x["scale"] = {"zero": False, "nice": False}
    return Chart(
        name,
        f"{measure.title} as canvases fill up, by {by}",
        "Line: mean, band: 95 % interval",
        spec_of(
            [_surface_row(cell) for cell in cells],
            height=260,
            encoding={"x": x, "color": color},
            layer=[
                {
                    "mark": {"type": "area", "opacity": 0.1},
                    "encoding": {
                        "y": {"field": "low", "type": "quantitative", **score_axis(measure)},
                        "y2": {"field": "high"},
                    },
                },
                {
                    "mark": {"type": "line", "point": {"size": 40, "filled": True}},
                    "encoding": {
                        "y": {"field": "mean", "type": "quantitative", **score_axis(measure)},
                        "shape": {"field": "group", "type": "nominal", "title": None, "scale": {"domain": groups}},
                        "tooltip": tooltip("group", "n_shapes"),
                    },
                },
            ],
        ),
        (by.partition(",")[0].capitalize(), *_SURFACE_COLUMNS),
        _surface_table(cells),
    )


def ranking(contenders: Sequence[Contender], measure: Measure) -> Chart | None:
    """One line a model, best first, with its interval drawn."""
    return by_level(
        "ranking",
        f"{measure.title} of each model",
        "Model",
        {row.label: {"mean": row.mean, "low": row.low, "high": row.high, "n": row.n} for row in contenders},
        measure,
    )


def quality_against(by: str, contenders: Sequence[Contender], measure: Measure) -> Chart | None:
    """Quality against ``cost`` or ``latency``, with the efficient frontier: models that no other beats in both.

    ``None`` where fewer than two contenders have the figure.
    """
    title, column = {
        "cost": ("cost", "US dollars per 1,000 answers"),
        "latency": ("latency", "Median seconds per answer"),
    }[by]
    points: list[Spec] = [
        {"label": row.label, "x": x, "mean": row.mean, "low": row.low, "high": row.high, "n": row.n}
        for row, x in ((row, _figure(row, by)) for row in contenders)
        if x is not None
    ]
    if len(points) < 2:
        return None
    best = frontier([(point["x"], point["mean"]) for point in points])
    for place, point in enumerate(points):
        point["frontier"] = "on the frontier" if place in best else "behind it"
    log = min(p["x"] for p in points) > 0 and max(p["x"] for p in points) > 20 * min(p["x"] for p in points)
    _place_labels(points, best, log=log)
    steps = [{"x": points[place]["x"], "mean": points[place]["mean"]} for place in best]
    scale: Spec = {"type": "log"} if log else {"zero": True, "nice": True}
    x_axis: Spec = {"field": "x", "type": "quantitative", "title": column, "scale": scale}
    y_axis = {"field": "mean", "type": "quantitative", **score_axis(measure)}
    return Chart(
        f"quality-against-{by}",
        f"{measure.title} against {title}",
        f"{column}; line: efficient frontier (nothing is both better and {'cheaper' if by == 'cost' else 'faster'}), "
        "upright: 95 % interval"
        + ("" if all(p["place"] for p in points) else "; a name that would cover another stands in the table alone"),
        spec_of(
            points,
            height=280,
            layer=[
                {
                    "data": {"values": steps},
                    "mark": {"type": "line", "interpolate": "step-after", "color": "var(--line-strong)"},
                    "encoding": {"x": x_axis, "y": y_axis},
                },
                {
                    "mark": {"type": "rule", "color": "var(--line-strong)"},
                    "encoding": {"x": x_axis, "y": y_axis | {"field": "low"}, "y2": {"field": "high"}},
                },
                {
                    "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
                    "encoding": {
                        "x": x_axis,
                        "y": y_axis,
                        "shape": _frontier_scale(["circle", "diamond"]),
                        "color": _frontier_scale(["var(--accent)", "var(--ink-soft)"]),
                        "tooltip": [*tooltip("label"), {"field": "x", "title": column, "format": ".3~g"}],
                    },
                },
                *(
                    layer
                    for place in dict.fromkeys(point["place"] for point in points if point["place"])
                    for layer in _label_layers(place, x_axis, y_axis)
                ),
            ],
        ),
        ("Model", column, "Mean", "Low", "High", "n", "Efficient frontier"),
        tuple((p["label"], p["x"], p["mean"], p["low"], p["high"], p["n"], p["frontier"]) for p in points),
    )


def deltas(rows: Sequence[tuple[str, float, float, float, int]], against: str, measure: Measure) -> Chart | None:
    """Differences ``(label, mean, low, high, n)`` from the run ``against`` on shared tasks, around a line at none."""
    if not rows:
        return None
    values = [dict(zip(("level", "mean", "low", "high", "n"), row, strict=True)) for row in rows]
    bound = max(0.05, *(abs(bound) for row in rows for bound in row[2:4])) * 1.1
    x = {
        "type": "quantitative",
        "title": f"Difference in {measure.axis}",
        "scale": {"domain": [-bound, bound]},
        "axis": {"tickCount": 9, "format": "+.2f"},
    }
    return Chart(
        "deltas",
        f"{measure.title}: difference from {against} on shared tasks",
        "Right of the line: better than it; dot: mean difference, line: 95 % interval",
        spec_of(
            values,
            height=_STEP * len(values),
            layer=[
                {
                    "mark": {"type": "rule", "color": "var(--line-strong)", "aria": False},
                    "encoding": {"x": {"datum": 0, **x}},
                },
                *(
                    layer | {"encoding": layer["encoding"] | y_level()}
                    for layer in dots_with_intervals(measure, "var(--accent)", x)
                ),
            ],
        ),
        ("Run", "Difference", "Low", "High", "Shared tasks"),
        tuple(rows),
    )


def frontier(points: Sequence[tuple[float, float]]) -> list[int]:
    """Places of the points, cheapest first, that no other point beats: none costs as little and is better.

    A point is ``(cost, quality)``.
    """
    best, places = float("-inf"), []
    for place in sorted(range(len(points)), key=lambda place: (points[place][0], -points[place][1])):
        if points[place][1] > best:
            best = points[place][1]
            places.append(place)
    return places


_SURFACE_COLUMNS = ("Shapes", "Mean", "Low", "High", "n")


def _frontier_scale(values: list[str]) -> Spec:
    return {
        "field": "frontier",
        "type": "nominal",
        "title": None,
        "scale": {"domain": ["on the frontier", "behind it"], "range": values},
    }


def _place_labels(points: Sequence[Spec], best: Sequence[int], *, log: bool) -> None:
    """Set the ``place`` of each point's label. The axis begins at none, or at the least where it is logarithmic."""
    low, high = min(point["x"] for point in points) if log else 0.0, max(point["x"] for point in points)
    bottom = min(0.0, *(point["mean"] for point in points))
    top = max(1.0, *(point["mean"] for point in points))
    spots = [(share_of(p["x"], low, high, log=log), share_of(p["mean"], bottom, top)) for p in points]
    for point, place in zip(points, label_places([p["label"] for p in points], spots, best), strict=True):
        point["place"] = place


def _label_layers(place: str, x_axis: Spec, y_axis: Spec) -> list[Spec]:
    """The labels that stand at that place, each on a rim of the ground's colour, so that lines do not cross it."""
    where = PLACES[place]
    text = {"type": "text", "limit": LONGEST, "align": where.align, "dx": where.dx, "dy": where.dy}
    rim = {"stroke": "var(--paper)", "strokeWidth": 4, "strokeJoin": "round", "color": "var(--paper)"}
    return [
        {
            "transform": [{"filter": {"field": "place", "equal": place}}],
            "mark": {**text, **colours},
            "encoding": {"x": x_axis, "y": y_axis, "text": {"field": "label"}},
        }
        for colours in ({**rim, "aria": False}, {})
    ]


def _figure(row: Contender, by: str) -> float | None:
    if by == "cost":
        return row.cost
    return None if row.latency is None else row.latency / 1000


def _surface_row(cell: SurfaceCell) -> Spec:
    return {
        "n_shapes": cell.n_shapes,
        "group": cell.group,
        "mean": cell.mean,
        "low": cell.low,
        "high": cell.high,
        "n": cell.n,
    }


def _surface_table(cells: Sequence[SurfaceCell]) -> tuple[tuple[Cell, ...], ...]:
    return tuple((cell.group, cell.n_shapes, cell.mean, cell.low, cell.high, cell.n) for cell in cells)
