"""The ruler, the one drawing of a score: an axis with three marks, the 95% interval as a pale band with its inner half
darker, a tick at the mean, and a dotted line at what guessing scores.

SVG in pixels, whose colors ``app.css`` sets by class. Drawings beside their numbers are hidden from screen readers, the
others have a label.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from benchmarks.presentation.cells import Mean

WIDTH = 120
_HEIGHT, _EDGE = 18, 1


@dataclass(frozen=True, slots=True)
class Axis:
    """A line of ``width`` pixels from the value ``low`` to the value ``high``."""

    width: float = WIDTH
    low: float = 0.0
    high: float = 1.0

    def x(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(_EDGE + min(1.0, max(0.0, share)) * (self.width - 2 * _EDGE), 1)

    def drawn(self) -> SafeString:
        left, middle, right = (self.x(value) for value in (self.low, (self.low + self.high) / 2, self.high))
        return format_html(
            '<path class="axis" d="M{0} 9H{2}M{0} 6v6M{1} 6v6M{2} 6v6"/>', _short(left), _short(middle), _short(right)
        )


def ruler(mean: float | None, low: float | None, high: float | None, guess: float | None = None) -> SafeString:
    """A score from 0 to 1 in a line of a table; empty without a mean in that range."""
    if mean is None or not 0 <= mean <= 1:
        return SafeString("")
    axis = Axis()
    return _svg(axis, [_guess(axis, guess), *_level(axis, mean, low, high)])


def difference_ruler(mean: float, low: float, high: float, bound: float) -> SafeString:
    """A difference and its interval on a line from minus ``bound`` to ``bound``, with zero in the middle."""
    axis = Axis(low=-(bound or 1.0), high=bound or 1.0)
    return _svg(axis, _level(axis, mean, low, high))


def ends(bounds: Iterable[float]) -> float:
    """Where a line of differences ends: the widest of their bounds, up to whole five points."""
    return math.ceil(round(20 * max(bounds, default=0.0), 9)) / 20


def difference_scale(bound: float) -> SafeString:
    """What the ends and the middle of a line of differences are, in points."""
    most = f"{100 * (bound or 1.0):g}"
    texts = (("0%", "start", f"−{most}"), ("50%", "middle", "0"), ("100%", "end", f"+{most}"))
    marks = format_html_join("", '<text x="{}" y="11" text-anchor="{}">{}</text>', texts)
    return format_html('<svg class="ruler" width="{}" height="14" aria-hidden="true">{}</svg>', WIDTH, marks)


def strip(others: Sequence[float], best: Mean | None, guess: float | None, label: str, width: float) -> SafeString:
    """The means of several models on one ruler, the best with its interval; ``label`` says what it shows."""
    axis = Axis(width)
    ticks = [_tick(axis, mean, "other", 4, 10) for mean in others]
    lead = _level(axis, best.mean, best.low, best.high) if best and best.mean is not None else ()
    return _svg(axis, [_guess(axis, guess), *ticks, *lead], label)


def _svg(axis: Axis, parts: Iterable[SafeString], label: str = "") -> SafeString:
    spoken = format_html('role="img" aria-label="{}"', label) if label else mark_safe('aria-hidden="true"')
    return format_html(
        '<svg class="ruler" width="{0}" height="{1}" viewBox="0 0 {0} {1}" preserveAspectRatio="none" {2}>{3}</svg>',
        _short(axis.width),
        _HEIGHT,
        spoken,
        mark_safe("".join((axis.drawn(), *parts))),
    )


def _level(axis: Axis, mean: float, low: float | None, high: float | None) -> list[SafeString]:
    return [*_bands(axis, mean, low, high), _tick(axis, mean, "lead", 2, 14)]


def _bands(axis: Axis, mean: float, low: float | None, high: float | None) -> list[SafeString]:
    """The interval, and its inner half: half the way from the mean to each bound."""
    if low is None or high is None:
        return []
    inner = ((low + mean) / 2, (mean + high) / 2)
    return [
        format_html(
            '<rect class="{}" x="{}" y="4" width="{}" height="10" rx="4"/>',
            name,
            _short(axis.x(left)),
            _short(axis.x(right) - axis.x(left)),
        )
        for name, left, right in (("band", low, high), ("half", *inner))
    ]


def _tick(axis: Axis, value: float, name: str, top: int, height: int) -> SafeString:
    return format_html('<path class="{}" d="M{} {}v{}"/>', name, _short(axis.x(value)), top, height)


def _guess(axis: Axis, guess: float | None) -> SafeString:
    return SafeString("") if guess is None else _tick(axis, guess, "guess", 1, 16)


def _short(value: float) -> str:
    """A coordinate in as few characters as it needs."""
    return f"{value:.1f}".removesuffix(".0")
