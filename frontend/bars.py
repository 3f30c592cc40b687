"""Small drawings inside tables and lines of text, as SVG: bars of intervals and shares, and trends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from benchmarks.models import Outcome
from benchmarks.presentation import labels, numbers
from benchmarks.queries.history import Point
from benchmarks.queries.task_grid import SharedTasks


def spark(points: Sequence[Point], direction: str = "") -> SafeString:
    """Means from 0 to 1 over the runs, left to right, with the band of their intervals; gray without a direction."""
    if any(not 0 <= point.mean <= 1 for point in points):
        return SafeString(numbers.MISSING)

    def place(number: int, value: float) -> str:
        return f"{4 + 142 * number / (len(points) - 1):.1f} {49 - 46 * value:.1f}"

    rows = [
        (point.mean if p is None else p, point.mean, point.mean if q is None else q)
        for point in points
        for p, q in ((point.low, point.high),)
    ]
    line = "L".join(place(number, mean) for number, (_, mean, _) in enumerate(rows))
    upper = [place(number, high) for number, (_, _, high) in enumerate(rows)]
    lower = [place(number, low) for number, (low, _, _) in enumerate(rows)]
    x, y = place(len(rows) - 1, rows[-1][1]).split()
    return format_html(
        '<svg class="spark {}" viewBox="0 0 150 52" role="img" aria-label="{} runs, last {}">'
        '<path class="grid" d="M0 49H150M0 3H150"/><path class="band" d="M{}Z"/><path class="line" d="M{}"/>'
        '<circle class="dot" cx="{}" cy="{}" r="3.5"/></svg>',
        direction or "quiet",
        len(points),
        numbers.score(points[-1].mean),
        "L".join([*upper, *reversed(lower)]),
        line,
        x,
        y,
    )


def split_bar(shared: SharedTasks) -> SafeString:
    """The shared tasks of two runs in four parts, each as wide as its share."""
    total = sum(shared)
    if not total:
        return SafeString("")
    left, parts = 0.0, []
    for name, count in shared._asdict().items():
        parts.append((name, f"{1000 * left:.1f}", f"{1000 * count / total:.1f}", name.replace("_", " "), count))
        left += count / total
    return format_html(
        '<svg class="stacked split" viewBox="0 0 1000 30" preserveAspectRatio="none" aria-hidden="true">{}</svg>',
        format_html_join(
            "",
            '<rect class="part-{}" x="{}" y="0" width="{}" height="30"><title>{}: {}</title></rect>',
            parts,
        ),
    )


def stacked_outcomes(counts: Mapping[str, int] | Literal[""], unfinished: int = 0) -> SafeString:
    """Outcomes as one bar in their fixed order, each part as wide as its share; the rest for what is not finished."""
    if not counts or not (total := sum(counts.values()) + unfinished):
        return SafeString("")
    left, parts = 0.0, []
    for outcome in Outcome.values:
        width = 1000 * counts.get(outcome, 0) / total
        if width:
            parts.append((outcome, f"{left:.2f}", f"{width:.2f}", labels.OUTCOME[outcome], counts[outcome]))
        left += width
    return format_html(
        '<svg class="stacked" viewBox="0 0 1000 16" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>',
        ", ".join(f"{label}: {count}" for _, _, _, label, count in parts),
        format_html_join(
            "",
            '<rect class="fill-{}" x="{}" y="0" width="{}" height="16"><title>{}: {}</title></rect>',
            parts,
        ),
    )
