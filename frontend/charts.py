"""Charts as Vega-Lite specs: pure functions from stored numbers to a ``Chart``, or ``None`` if there are too few.

Colors are written as ``var(--token)``, the names of ``css/tokens.css``; the page and ``frontend.drawing`` insert the
values of the theme. Every chart carries a table of its numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.safestring import SafeString

from benchmarks.presentation.labels import sentence_case
from benchmarks.summary import Expected
from frontend import tradeoffs
from frontend.chart_parts import (
    FIGURES,
    INTERVAL_COLUMNS,
    Chart,
    Measure,
    Spec,
    category,
    dots_with_intervals,
    figures,
    layer,
    quantity,
    score_of,
    score_words,
    spec_of,
    tooltip,
    whole_numbers,
)
from frontend.label_places import FAR, LONGEST, PLACES, label_places, share_of
from frontend.large_ruler import MOST_MARKS, LargeRuler, Scored

_STEP = 24
"""Pixels of height for each row of a chart."""
_FRONTIER = ("On the frontier", "Behind the frontier")
_AGAINST = {
    "cost": ("cost", "Cost per 1,000 answers (USD)", "price", "'$' + format(datum.value, ',~r')"),
    "latency": (
        "latency",
        "Median latency (s)",
        "speed",
        "datum.value < 1 ? format(1000 * datum.value, ',~r') + ' ms' : format(datum.value, ',~r') + ' s'",
    ),
}
"""Axis → its name, its column, what is best at each of its values, and the text of a tick."""


@dataclass(frozen=True, slots=True)
class Contender:
    """One row of a leaderboard. Cost is US dollars per 1,000 answers, latency the median in milliseconds.

    A line joins those of one ``model``.
    """

    label: str
    score: Expected
    cost: float | None
    latency: float | None
    model: str = ""


def by_level(name: str, title: str, level_title: str, levels: Mapping[str, Expected], measure: Measure) -> Chart | None:
    """A mean with its interval for each level that has one."""
    shown = {level: figures(row) for level, row in levels.items()}
    return _levels_chart((name, title, level_title), levels, measure, shown)


def breakdown(key: str, words: str, levels: Mapping[str, Expected], row: Measure) -> Chart | None:
    """``by_level`` of a metric of a run, by what ``words`` say; its n is that of the metric's own scores."""
    head = f"{key}-{row.name}", f"{row.title} by {words}", sentence_case(words)
    return _levels_chart(head, levels, row, {level: figures(each, row.name) for level, each in levels.items()})


def _levels_chart(
    head: tuple[str, str, str], levels: Mapping[str, Expected], measure: Measure, shown: Mapping[str, Spec]
) -> Chart | None:
    """``head`` has the name, the title and what the levels are; ``shown`` the ``figures`` of each."""
    name, title, level_title = head
    values: list[Spec] = [{"level": level, **shown[level]} for level, row in levels.items() if row.mean is not None]
    table = tuple(tuple(row.values()) for row in values)
    for row in values:
        row["words"] = f"{score_words(row['mean'], measure)} (n = {row['n']})"
    if not values:
        return None
    return Chart(
        name,
        title,
        "Dot: mean." + ("" if all(row["low"] is None for row in values) else " Line: 95% interval."),
        spec_of(values, height=_STEP * len(values), layer=dots_with_intervals(score_of("mean", measure))),
        (level_title, *INTERVAL_COLUMNS),
        table,
        drawn=_ruler(levels) if measure.bounded else None,
    )


def _or(bound: float | None, mean: float) -> float:
    return mean if bound is None else bound


def _ruler(levels: Mapping[str, Expected]) -> SafeString | None:
    """The levels as the page has them, unless there are too many; one without an interval has a mark alone."""
    scored = [
        Scored(level, "", mean, _or(row.low, mean), _or(row.high, mean), more=f"(n = {row.n})")
        for level, row in levels.items()
        if (mean := row.mean) is not None
    ]
    return LargeRuler(scored).drawn if len(scored) <= MOST_MARKS else None


def histogram(name: str, edges: Sequence[float], counts: Sequence[int], measure: Measure) -> Chart | None:
    """How many results have which score."""
    if not sum(counts):
        return None
    rows = tuple(zip(edges, edges[1:], counts, strict=False))
    return Chart(
        name,
        f"Distribution of {measure.title}",
        "Number of results per score range",
        spec_of(
            [dict(zip(("from", "to", "count"), row, strict=True)) for row in rows],
            height=140,
            encoding={"y": quantity("count", "Results", axis=whole_numbers(0, max(counts), most=5))},
            layer=[
                layer(
                    "bar",
                    {"x": quantity("from", measure.axis, bin={"binned": True}), "x2": {"field": "to"}},
                    color="var(--accent)",
                    tooltip=True,
                    binSpacing=1,
                ),
                {
                    "transform": [
                        {"filter": "datum.count > 0"},
                        {"calculate": "(datum.from + datum.to) / 2", "as": "middle"},
                    ],
                    **layer("text", {"x": quantity("middle"), "text": {"field": "count"}}, dy=-8, aria=False),
                },
            ],
        ),
        ("From", "To", "Results"),
        rows,
    )


def score_over_time(name: str, title: str, points: Sequence[Spec], measure: Measure) -> Chart:
    """The mean and interval of each run.

    ``points`` have ``FIGURES``, ``at`` (ISO 8601), ``run``, ``version``, and ``is_new`` where the version changed.
    """
    x: Spec = {"field": "at", "type": "temporal", "title": None, "axis": _time_axis([point["at"] for point in points])}
    y = score_of("mean", measure)
    new = {"transform": [{"filter": "datum.is_new"}]}
    shown = [{"field": "at", "type": "temporal", "format": "%Y-%m-%d %H:%M"}, *tooltip("run", "version")]
    new_versions = [
        new | layer("rule", {"x": x}, color="var(--line-strong)", strokeDash=[4, 3], aria=False),
        new
        | layer(
            "text",
            {"x": x, "y": {"value": 6}, "text": {"field": "version"}},
            align="left",
            dx=4,
            color="var(--ink-soft)",
        ),
    ]
    has_new = any(point["is_new"] for point in points)
    latest = {"words": score_words(points[-1]["mean"], measure)}
    return Chart(
        name,
        title,
        "Dot: mean. Line: 95% interval." + (" Dashed: another version from here on." if has_new else ""),
        spec_of(
            [*points[:-1], points[-1] | latest],
            height=160,
            layer=[
                *(new_versions if has_new else ()),  # Vega warns of a layer without data
                layer("line", {"x": x, "y": y}, color="var(--line-strong)"),
                layer(
                    "rule",
                    {"x": x, "y": y | {"field": "low"}, "y2": {"field": "high"}},
                    color="var(--ink-soft)",
                    strokeWidth=2,
                ),
                layer(
                    "point", {"x": x, "y": y, "tooltip": shown}, filled=True, size=50, color="var(--accent)", opacity=1
                ),
                {
                    "transform": [{"filter": "isValid(datum.words)"}],
                    **layer("text", {"x": x, "y": y, "text": {"field": "words"}}, align="left", dx=8, aria=False),
                },
            ],
        ),
        ("Run", "Time", "Version", *INTERVAL_COLUMNS),
        tuple(
            (point["run"], point["at"][:16].replace("T", " "), point["version"], *(point[name] for name in FIGURES))
            for point in points
        ),
    )


def _time_axis(moments: Sequence[str]) -> Spec:
    """An axis with at most six ticks; of runs that are minutes apart, at whole seconds and with the time of day."""
    first, last = (datetime.fromisoformat(moment) for moment in (min(moments), max(moments)))
    seconds = int((last - first).total_seconds())
    # More ticks than seconds would be at fractions of them.
    axis: Spec = {"tickCount": max(1, min(6, seconds)), "labelOverlap": True}
    return axis | {"format": "%H:%M:%S"} if seconds < 600 else axis


def ranking(contenders: Sequence[Contender], measure: Measure) -> Chart | None:
    """One line a model, best first, with its interval drawn."""
    levels = {row.label: row.score for row in contenders}
    return by_level("ranking", f"{measure.title} by model", "Model", levels, measure)


_MARGIN = 1.15
"""By which the axis of costs or latencies reaches beyond the marks."""


def quality_against(by: str, contenders: Sequence[Contender], measure: Measure) -> Chart | None:
    """Quality versus ``cost`` or ``latency`` of at least two contenders, with the efficient frontier.

    What is free stands in a strip of its own beside a logarithmic axis. Baselines are not models to choose from.
    """
    contenders = [row for row in contenders if not (row.model or row.label).startswith("baseline/")]
    words, column, *_ = _AGAINST[by]
    points = _points(by, contenders, measure)
    if len(points) < 2:
        return None
    best = frontier([(point["x"], point["mean"]) for point in points])
    scale = _scale([point["x"] for point in points])
    for index, point in enumerate(points):
        point |= {"frontier": _FRONTIER[index not in best], "at": point["x"] or scale.free or 0.0}
    _place_labels(points, best, scale.domain, log=scale.log)
    unknown = [row.label for row in contenders if _expense(row, by) is None]
    title, note = f"{measure.title} versus {words}", _note(by, points, unknown)
    ticks = _written(by, scale.domain[1], scale.ticks, scale.free)
    axis = tradeoffs.Axis(scale.domain[0], scale.domain[1], ticks, log=scale.log)
    return Chart(
        f"quality-against-{by}",
        title,
        note,
        spec_of(points, height=280, layer=_tradeoff_layers(by, points, best, scale, score_of("mean", measure))),
        ("Model", column, *INTERVAL_COLUMNS, "Efficient frontier"),
        tuple(tuple(point[key] for key in ("label", "x", *FIGURES, "frontier")) for point in points),
        drawn=tradeoffs.drawn(points, best, axis, _levels(points), f"{title}. {note}"),
    )


def _points(by: str, contenders: Sequence[Contender], measure: Measure) -> list[Spec]:
    """The contenders whose expense is known."""
    return [
        {
            "label": row.label,
            "words": f"{row.label} {score_words(row.score.mean or 0.0, measure)}",
            "model": row.model or row.label,
            "x": expense,
            **figures(row.score),
        }
        for row in contenders
        if (expense := _expense(row, by)) is not None
    ]


@dataclass(frozen=True, slots=True)
class _Scale:
    """An axis of expenses. A logarithmic one has ``ticks``, and ``free`` is where 0 stands on it."""

    domain: list[float]
    log: bool
    ticks: Sequence[float] | None = None
    free: float | None = None


def _scale(expenses: Sequence[float]) -> _Scale:
    paid = [expense for expense in expenses if expense > 0]
    lowest, highest = min(paid, default=0.0), max(paid, default=0.0)
    # A linear axis would press all cheap models against its left end if one costs far more.
    if not (lowest > 0 and highest > 20 * lowest):
        return _Scale([0.0, highest * _MARGIN or 1.0], log=False)
    free = lowest / 5 if len(paid) < len(expenses) else None
    # Over more than two powers of ten, the steps between them would write over each other.
    steps = (1, 2, 5) if highest < 100 * lowest else (1,)
    ticks = [power * step for power in _powers(lowest, highest) for step in steps]
    within = [tick for tick in ticks if lowest * 0.9 <= tick <= highest * 1.1]
    first = lowest if free is None else free
    return _Scale([first / _MARGIN, highest * _MARGIN], True, [*([] if free is None else [free]), *within], free)


def _x(by: str, scale: _Scale) -> Spec:
    _, column, _, tick_words = _AGAINST[by]
    kind = {"type": "log"} if scale.log else {}
    x = quantity("at", column.partition(" (")[0], scale={"domain": scale.domain, "nice": False} | kind)
    label = tick_words if scale.free is None else f"datum.value < {scale.free * 4.5:g} ? 'Free' : {tick_words}"
    ticks = {"tickCount": 5} if scale.ticks is None else {"values": [*scale.ticks]}
    x["axis"] = {**ticks, "labelExpr": label}
    return x


def _note(by: str, points: Sequence[Spec], unknown: Sequence[str]) -> str:
    words, _, each, _ = _AGAINST[by]
    notes = [f"Line: best score at each {each}."]
    if len({point["model"] for point in points}) < len(points):
        notes.append("Dashed: variants of one model.")
    if not all(point["place"] for point in points):
        notes.append("Names that would overlap appear only in the table.")
    if unknown:
        notes.append(f"Not drawn, {words} unknown: {', '.join(unknown)}.")
    return " ".join(notes)


def _tradeoff_layers(by: str, points: Sequence[Spec], best: Sequence[int], scale: _Scale, y: Spec) -> list[Spec]:
    x = _x(by, scale)
    dot = {
        "x": x,
        "y": y,
        "shape": category("frontier", _FRONTIER, ("circle", "diamond"), legend=None),
        "color": category("frontier", _FRONTIER, ("var(--accent)", "var(--ink-soft)"), legend=None),
        "tooltip": [*tooltip("label"), {"field": "x", "title": _AGAINST[by][1], "format": ".3~g"}],
    }
    steps = {"values": [{"at": points[index]["at"], "mean": points[index]["mean"]} for index in best]}
    joined = {"x": x, "y": y, "detail": {"field": "model", "type": "nominal"}}
    places = dict.fromkeys(point["place"] for point in points if point["place"])
    return [
        layer("line", joined, strokeDash=[2, 3], color="var(--line-strong)"),
        {"data": steps} | layer("line", {"x": x, "y": y}, interpolate="step-after", color="var(--line-strong)"),
        layer("rule", {"x": x, "y": y | {"field": "low"}, "y2": {"field": "high"}}, color="var(--line-strong)"),
        layer("point", dot, filled=True, size=70, opacity=1),
        *(labels for place in places for labels in _label_layers(place, x, y)),
    ]


def _written(by: str, high: float, values: Sequence[float] | None, free: float | None) -> list[tuple[float, str]]:
    """The ticks with their texts; ``values`` are those of a logarithmic axis."""
    ticks = values or tradeoffs.linear_ticks(high)
    return [(tick, "Free" if tick == free else _tick(by, tick)) for tick in ticks]


def _levels(points: Sequence[Spec]) -> tradeoffs.Axis:
    """The axis of the scores, from 0 to 1 or as far as they reach."""
    bottom, top = _reach(points)
    return tradeoffs.Axis(bottom, top, [(at, f"{at:,.3g}") for at in (bottom, (bottom + top) / 2, top)])


def _reach(points: Sequence[Spec]) -> tuple[float, float]:
    return min(0.0, *(point["mean"] for point in points)), max(1.0, *(point["mean"] for point in points))


def _tick(by: str, value: float) -> str:
    if by == "cost":
        return f"${value:,.6g}"
    return f"{1000 * value:,.6g} ms" if value < 1 else f"{value:,.6g} s"


def _powers(low: float, high: float) -> list[float]:
    """The powers of ten around a range."""
    return [10.0**power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def deltas(rows: Sequence[tuple[str, float, float, float, int]], against: str, measure: Measure) -> Chart | None:
    """Differences ``(label, mean, low, high, n)`` from the run ``against`` on shared tasks, in points, around a line
    at zero.
    """
    if not rows:
        return None
    in_points = [(label, 100 * mean, 100 * low, 100 * high, n) for label, mean, low, high, n in rows]
    # Symmetric around zero, so that both directions look alike; never so narrow that noise fills the chart.
    bound = max(5.0, *(abs(bound) for row in in_points for bound in row[2:4])) * 1.1
    axis = {"scale": {"domain": [-bound, bound]}, "axis": {"tickCount": 9, "format": "+.0f"}}
    x = quantity("mean", "Points", **axis)
    zero = {"x": {key: part for key, part in x.items() if key != "field"} | {"datum": 0}}
    return Chart(
        "deltas",
        f"{measure.title}: difference from {against} on shared tasks, in points",
        f"Right of zero: better than {against}. Dot: mean difference. Line: 95% interval.",
        spec_of(
            [
                dict(zip(("level", *FIGURES), row, strict=True))
                | {"words": f"{row[1]:+.1f} (n = {row[4]})".replace("-", "−")}
                for row in in_points
            ],
            height=_STEP * len(rows),
            layer=[layer("rule", zero, color="var(--line-strong)", aria=False), *dots_with_intervals(x)],
        ),
        ("Run", "Difference", "Low", "High", "Shared tasks"),
        tuple(in_points),
    )


def frontier(points: Sequence[tuple[float, float]]) -> list[int]:
    """Indexes of the points ``(cost, quality)``, cheapest first, that no other beats in both."""
    best, indexes = float("-inf"), []
    for index in sorted(range(len(points)), key=lambda index: (points[index][0], -points[index][1])):
        if points[index][1] > best:
            best = points[index][1]
            indexes.append(index)
    return indexes


def _expense(row: Contender, by: str) -> float | None:
    """The cost, or the latency in seconds."""
    if by == "cost":
        return row.cost
    return None if row.latency is None else row.latency / 1000


def _place_labels(points: Sequence[Spec], best: Sequence[int], domain: Sequence[float], *, log: bool) -> None:
    """Set the ``place`` of each point's label."""
    low, high = domain
    bottom, top = _reach(points)
    spots = [(share_of(p["at"], low, high, log=log), share_of(p["mean"], bottom, top)) for p in points]
    for point, place in zip(points, label_places([p["words"] for p in points], spots, best), strict=True):
        point["place"] = place


def _label_layers(place: str, x: Spec, y: Spec) -> list[Spec]:
    """The labels at that place, each on a rim in the color of the ground, so that lines do not cross it."""
    where = PLACES[place]
    options = {"limit": LONGEST, "align": where.align, "dx": where.dx, "dy": where.dy}
    rim = {"stroke": "var(--paper)", "strokeWidth": 4, "strokeJoin": "round", "color": "var(--paper)", "aria": False}
    chosen = {"transform": [{"filter": {"field": "place", "equal": place}}]}
    encoding = {"x": x, "y": y, "text": {"field": "words"}}
    texts = [chosen | layer("text", encoding, **options, **colors) for colors in (rim, {})]
    if abs(where.dy) not in FAR:
        return texts
    ends = {"x": x, "y": y, "x2": {"field": "at"}, "y2": {"field": "mean"}}
    offsets = {"x2Offset": where.dx, "y2Offset": where.dy}
    return [chosen | layer("rule", ends, **offsets, color="var(--ink-soft)", opacity=0.6, aria=False), *texts]
