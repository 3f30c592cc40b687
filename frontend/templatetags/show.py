"""Filters and small components of the templates. What they format is in ``frontend.formatting``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import wraps
from typing import Any

from django import template
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from benchmarks.models import Outcome
from frontend import formatting
from frontend.drawing import BUNDLE_VERSION, drawable
from frontend.texts import Excerpt, excerpt

register = template.Library()


def _known(format_value: Callable[..., str]) -> Callable[..., str]:
    """Templates hand over "" for what is not there, which is unknown."""

    @wraps(format_value)
    def formatted(value: Any, *arguments: Any) -> str:
        return format_value(None if value == "" else value, *arguments)

    return formatted


for _format in (
    formatting.number,
    formatting.score,
    formatting.money,
    formatting.duration,
    formatting.milliseconds,
    formatting.p_value,
):
    register.filter(_format.__name__, _known(_format))
register.filter("words", formatting.words)
register.filter("drawable", drawable)

# One outline for each state, so that none is told by its colour alone. Drawn in a 12 × 12 box.
_SOLID = {
    "correct": "M6 1a5 5 0 1 0 0 10A5 5 0 1 0 6 1z",
    "partial": "M6 1a5 5 0 0 0 0 10z",
    "provider_error": "M6 1 11.5 11H.5z",
    "judge_error": "M6 1 11 6 6 11 1 6z",
    "cancelled": "M1 5h10v2H1z",
    "answered": "M1 3h10v6H1z",
    "completed": "M6 1a5 5 0 1 0 0 10A5 5 0 1 0 6 1z",
    "completed_with_errors": "M6 1a5 5 0 0 0 0 10z",
    "paused": "M2 1h3v10H2zM7 1h3v10H7z",
    "running": "M2 1 11 6 2 11z",
    "truncated": "M1 1h6v2H1zM1 5h10v2H1zM1 9h3v2H1z",
}
_LINES = {
    "wrong": "M2 2l8 8M10 2l-8 8",
    "failed": "M2 2l8 8M10 2l-8 8",
    "unparsable": "M3.5 4a2.5 2.5 0 1 1 3.2 2.4c-.5.2-.7.5-.7 1.4M6 10.2v.6",
    "refused": "M6 1.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 1 0 0-9zM3 9l6-6",
    "queued": "M6 1.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 1 0 0-9zM6 3.5V6l2 1.5",
    "preparing": "M6 1.5a4.5 4.5 0 1 0 4.5 4.5",
    "pending": "M6 1.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 1 0 0-9z",
}


def _shape(name: str) -> SafeString:
    if name in _SOLID:
        return format_html(
            '<svg viewBox="0 0 12 12" aria-hidden="true"><path stroke="none" d="{}"/></svg>', _SOLID[name]
        )
    line = _LINES.get(name, _LINES["pending"])
    return format_html(
        '<svg viewBox="0 0 12 12" aria-hidden="true"><path fill="none" stroke-width="2" d="{}"/></svg>', line
    )


@register.simple_tag
def badge(state: str) -> SafeString:
    """A state (of a run) or an outcome (of a result): its shape, its colour and its word."""
    state = state or "pending"
    return format_html(
        '<span class="mark is-{}">{}<span>{}</span></span>', state, _shape(state), formatting.words(state)
    )


@register.simple_tag
def interval(mean: float | None, low: float | None, high: float | None) -> SafeString:
    """A mean with its 95 % interval behind it."""
    if mean is None or low is None or high is None:
        return format_html("{}", formatting.score(mean))
    return format_html(
        '{} <span class="interval" title="95 % interval">{} to {}</span>',
        formatting.score(mean),
        formatting.score(low),
        formatting.score(high),
    )


@register.simple_tag
def interval_bar(mean: float | None, low: float | None, high: float | None) -> SafeString:
    """The same mean and interval drawn on a line from 0 to 1; nothing where there is no mean in that range."""
    if mean is None or not 0 <= mean <= 1:
        return SafeString("")
    low, high = (mean if low is None else low), (mean if high is None else high)
    return format_html(
        '<svg class="interval-bar" viewBox="-4 0 108 14" preserveAspectRatio="none" aria-hidden="true">'
        '<line class="ground" x1="0" x2="100" y1="7" y2="7"/><line class="span" x1="{}" x2="{}" y1="7" y2="7"/>'
        '<rect class="mean" x="{}" y="3" width="3" height="8"/></svg>',
        *(f"{100 * value:.1f}" for value in (low, high)),
        f"{100 * mean - 1.5:.1f}",
    )


@register.simple_tag
def stacked_outcomes(counts: Mapping[str, int]) -> SafeString:
    """Outcomes as one bar, each part as wide as its share, in the fixed order of outcomes."""
    total = sum(counts.values())
    if not total:
        return SafeString("")
    left, parts = 0.0, []
    for outcome in Outcome.values:
        width = 1000 * counts.get(outcome, 0) / total
        if width:
            parts.append((outcome, f"{left:.2f}", f"{width:.2f}", formatting.words(outcome), counts[outcome]))
        left += width
    return format_html(
        '<svg class="stacked" viewBox="0 0 1000 16" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>',
        ", ".join(f"{count} {word}" for _, _, _, word, count in parts),
        format_html_join(
            "",
            '<rect class="fill-{}" x="{}" y="0" width="{}" height="16"><title>{}: {}</title></rect>',
            parts,
        ),
    )


@register.simple_tag
def charts_script() -> str:
    """The address of the script that draws charts; it changes with the script, so browsers may keep it."""
    return reverse("frontend:charts-script", args=(BUNDLE_VERSION,))


@register.filter
def cell(value: object) -> str:
    """A cell of a chart's table: numbers short, texts with nothing unseen in them."""
    if isinstance(value, int):
        return formatting.number(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    return formatting.NOTHING if value is None else formatting.visible(str(value))


@register.simple_tag
def when(moment: datetime | None) -> SafeString:
    """A relative time with the exact one on hover and for machines."""
    if moment is None:
        return SafeString(formatting.NOTHING)
    local = timezone.localtime(moment)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        moment.isoformat(timespec="seconds"),
        local.strftime("%Y-%m-%d %H:%M:%S %Z"),
        formatting.ago(moment, timezone.now()),
    )


@register.filter
def visible(text: object) -> str:
    """Untrusted text with its invisible characters made visible; the template still escapes it."""
    return formatting.visible(str(text))


@register.filter
def as_json(value: Any) -> str:
    """Readable JSON of an untrusted value; the template still escapes it."""
    return formatting.visible(json.dumps(value, ensure_ascii=False, indent=2, default=str))


@register.inclusion_tag("frontend/components/text.html")
def long_text(text: str | Excerpt | None, whole_url: str = "") -> dict[str, object]:
    """An untrusted text: escaped, whitespace kept, cut where it is long, with a link to the whole of it."""
    shown = text if isinstance(text, Excerpt) else excerpt(text or "")
    return {"excerpt": shown, "whole_url": whole_url}


@register.simple_tag
def diff_marks(segments: Sequence[tuple[str, str]]) -> SafeString:
    """Segments of a difference, ``(kind, text)`` with kind same, added or removed, as ``ins`` and ``del``."""
    tags = {"added": "ins", "removed": "del", "same": "span"}
    return format_html_join(
        "",
        "{}{}{}",
        (
            (mark_safe(f"<{tags[kind]}>"), formatting.visible(text), mark_safe(f"</{tags[kind]}>"))
            for kind, text in segments
        ),
    )
