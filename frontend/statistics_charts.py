"""Charts of thresholds: scores over difficulty with the fitted curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.statistics.psychometric import share_right
from frontend.chart_parts import SERIES, Chart, Spec, spec_of

POINTS = 60
_TITLES = {
    "n_shapes": ("shapes", "number of shapes", "Shapes on the canvas"),
    "tracking_steps": ("tracking", "changes to track", "Changes to track"),
    "inference_steps": ("inference", "steps to infer", "Steps to infer"),
}


def threshold_charts(thresholds: Sequence[Mapping[str, Any]]) -> list[Chart | None]:
    """One chart for each measure of difficulty: dots for the scores, a line for each fitted curve."""
    measures = dict.fromkeys(one["measure"] for one in thresholds)
    return [_chart(measure, [one for one in thresholds if one["measure"] == measure]) for measure in measures]


def _chart(measure: str, found: Sequence[Mapping[str, Any]]) -> Chart | None:
    shown = [one for one in found if one["status"] == "fitted"]
    if not shown:
        return None
    name, words, title = _TITLES[measure]
    names = [_label(one) for one in shown]
    color = {
        "field": "group",
        "type": "nominal",
        "title": None,
        "scale": {"domain": names, "range": [SERIES[place % len(SERIES)] for place in range(len(names))]},
    }
    x = {"type": "quantitative", "title": title, "scale": {"zero": False, "nice": False}, "axis": {"tickMinStep": 1}}
    y = {"type": "quantitative", "title": "Share right", "scale": {"domain": [0, 1]}}
    return Chart(
        f"threshold-{name}",
        f"Where scores fall with the {words}",
        "Dot: mean score, line: fitted curve; the threshold is half way between guessing and perfect",
        spec_of(
            [row for one in shown for row in _dots(one)],
            height=260,
            layer=[
                {
                    "data": {"values": [row for one in shown for row in _curve(one)]},
                    "mark": {"type": "line", "strokeWidth": 2},
                    "encoding": {"x": x | {"field": "x"}, "y": y | {"field": "share"}, "color": color},
                },
                {
                    "mark": {"type": "point", "filled": True, "size": 40, "opacity": 1},
                    "encoding": {
                        "x": x | {"field": "x"},
                        "y": y | {"field": "share"},
                        "color": color,
                        "shape": {"field": "group", "type": "nominal", "title": None, "scale": {"domain": names}},
                        "tooltip": [{"field": "group"}, {"field": "x"}, {"field": "share", "format": ".3f"}],
                    },
                },
            ],
        ),
        ("Task class", title, "Mean", "Fitted", "n"),
        tuple(
            (_label(one), level["difficulty"], level["mean"], _fitted(one, level["difficulty"]), level["n"])
            for one in shown
            for level in one["levels"]
        ),
    )


def _label(found: Mapping[str, Any]) -> str:
    return str(found["group"]).replace("_", " ") or "all task classes"


def _dots(found: Mapping[str, Any]) -> list[Spec]:
    return [
        {"group": _label(found), "x": level["difficulty"], "share": level["mean"], "n": level["n"]}
        for level in found["levels"]
    ]


def _curve(found: Mapping[str, Any]) -> list[Spec]:
    tried = [level["difficulty"] for level in found["levels"]]
    step = (max(tried) - min(tried)) / POINTS
    places = [min(tried) + step * place for place in range(POINTS + 1)]
    return [{"group": _label(found), "x": round(x, 3), "share": round(_fitted(found, x), 4)} for x in places]


def _fitted(found: Mapping[str, Any], difficulty: float) -> float:
    return share_right(
        difficulty,
        threshold=found["threshold"],
        slope=found["slope"],
        lapse=found["lapse"],
        guess_rate=found["guess"],
    )
