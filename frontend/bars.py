"""Small drawings inside tables and lines of text, as SVG: bars of intervals and shares, and trends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from benchmarks.presentation import labels
from benchmarks.queries.history import Point
from frontend.view_models import OutcomeCount

_FEWEST_POINTS, _MOST_POINTS = 3, 6
"""Runs that a small trend shows."""
_STEP, _WIDTH = 8, 48
"""Of a small trend, in pixels."""


def spark(points: Sequence[Point], direction: str = "") -> SafeString:
    """The latest means from 0 to 1, the newest beside its number; gray without a direction. Two means are no trend yet:
    nothing is drawn."""
    shown = points[-_MOST_POINTS:]
    if any(not 0 <= point.mean <= 1 for point in shown):
        return SafeString("")
    places = [(4 + _STEP * number, f"{25 - 22 * point.mean:.1f}") for number, point in enumerate(shown)]
    line = format_html(
        '<path d="M{}"/><circle cx="{}" cy="{}" r="3"/>', "L".join(f"{x} {y}" for x, y in places), *places[-1]
    )
    width = _WIDTH if len(shown) >= _FEWEST_POINTS else 0
    return format_html(
        '<svg class="spark {}" width="{}" height="28" viewBox="0 0 {} 28" aria-hidden="true">{}</svg>',
        direction or "quiet",
        width,
        _WIDTH,
        line if width else "",
    )


def split_bar(counts: Mapping[str, int]) -> SafeString:
    """What two runs have in common and what not, in parts, each as wide as its share."""
    total = sum(counts.values())
    if not total:
        return SafeString("")
    left, parts = 0.0, []
    for name, count in counts.items():
        parts.append((name, f"{1000 * left:.1f}", f"{1000 * count / total:.1f}"))
        left += count / total
    return format_html(
        '<svg class="stacked split" viewBox="0 0 1000 30" preserveAspectRatio="none" aria-hidden="true">{}</svg>',
        format_html_join(
            "",
            '<rect class="part-{}" x="{}" y="0" width="{}" height="30"/>',
            parts,
        ),
    )


def stacked_outcomes(outcomes: Sequence[OutcomeCount] | Literal[""], unfinished: int = 0) -> SafeString:
    """Outcomes as one bar in their fixed order, each part as wide as its share, its end underlined as far as people
    contradict it; the rest for what is not finished."""
    if not outcomes:
        return SafeString("")
    total = sum(each.count for each in outcomes) + unfinished
    left, said, parts = 0.0, [], []
    for each in outcomes:
        width, disputed = 1000 * each.count / total, 1000 * each.disputed / total
        words = f"{labels.OUTCOME[each.outcome]}: {each.count}"
        said.append(f"{words}, {each.disputed} of them disputed by people" if disputed else words)
        parts.append((each.outcome, f"{left:.2f}", 0, f"{width:.2f}", 16, words))
        left += width
        if disputed:
            words = f"Disputed by people: {each.disputed}"
            parts.append(("partial", f"{left - disputed:.2f}", 10, f"{disputed:.2f}", 6, words))
    return format_html(
        '<svg class="stacked" viewBox="0 0 1000 16" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>',
        "; ".join(said),
        format_html_join(
            "",
            '<rect class="fill-{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>',
            parts,
        ),
    )
