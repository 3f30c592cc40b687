"""Charts of a judge's calibration: pure functions from its findings to charts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from frontend.calibrations import VERDICTS, Findings, Verdicts
from frontend.chart_parts import Chart, Measure, Spec, spec_of
from frontend.charts import by_level

RIGHTLY = Measure("accuracy", "Share judged rightly")
ROOM_FOR_A_NUMBER, ROOM_FOR_WORDS = 0.1, 0.35
"""The shares of a bar from which on the number of answers, and what they were called, fit above it on a phone."""

_COLOURS = {"correct": "var(--correct)", "partial": "var(--partial)", "wrong": "var(--wrong)"}


def calibration_charts(findings: Findings | None) -> list[Chart]:
    """The verdicts by truth, and how rightly each wording is judged. Empty where nothing was found (yet)."""
    if findings is None:
        return []
    phrasings = {
        share.title: {"mean": share.mean, "low": share.low, "high": share.high, "n": share.n}
        for share in findings.by_wording
    }
    found = (
        verdicts_by_truth(findings.verdicts),
        by_level("phrasings", "Judged rightly, by wording of the answer", "Wording", phrasings, RIGHTLY),
    )
    return [chart for chart in found if chart is not None]


def verdicts_by_truth(rows: Sequence[Verdicts]) -> Chart | None:
    """One bar for right and one for wrong answers, parted by what the judge called them; ``None`` without answers."""
    values = [part for row in rows for part in _parts(row)]
    if not values:
        return None
    y = {"field": "truth", "type": "nominal", "sort": None, "title": None}
    x = {"type": "quantitative", "title": "Share of the answers", "scale": {"domain": [0, 1]}, "axis": {"format": "%"}}
    colour = {
        "field": "verdict",
        "type": "nominal",
        "title": "Called",
        "scale": {"domain": list(VERDICTS), "range": [_COLOURS[verdict] for verdict in VERDICTS]},
    }
    return Chart(
        "verdicts",
        "What right and wrong answers were called",
        "Share of the answers of each kind; above the bars: how many answers",
        spec_of(
            values,
            height=56 * len({part["truth"] for part in values}),
            encoding={"y": y},
            layer=[
                {
                    "mark": {"type": "bar", "height": {"band": 0.4}, "stroke": "var(--surface)"},
                    "encoding": {
                        "x": {"field": "from", **x},
                        "x2": {"field": "to"},
                        "color": colour,
                        "tooltip": [{"field": name} for name in ("truth", "verdict", "answers")],
                    },
                },
                {
                    "mark": {"type": "text", "dy": -20},
                    "encoding": {"x": {"field": "middle", **x}, "text": {"field": "label"}},
                },
            ],
        ),
        ("Answers", "Called", "Number", "Share"),
        tuple((part["truth"], part["verdict"], part["answers"], part["to"] - part["from"]) for part in values),
    )


def _parts(row: Verdicts) -> Iterator[Spec]:
    """The parts of a bar from left to right, empty ones left out."""
    before = 0
    for verdict, answers in row.counts:
        if answers:
            start, end = before / row.total, (before + answers) / row.total
            yield {
                "truth": f"{row.truth} answers",
                "verdict": verdict,
                "answers": answers,
                "from": start,
                "to": end,
                "middle": (start + end) / 2,
                "label": _label(verdict, answers, end - start),
            }
        before += answers


def _label(verdict: str, answers: int, share: float) -> str:
    if share < ROOM_FOR_A_NUMBER:
        return ""
    return str(answers) if share < ROOM_FOR_WORDS else f"{answers} {verdict}"
