"""Plots as SVG: two axes with their grid, and what stands between them.

Places are shares of the plot, so it fills whatever width it has while its texts keep their size. ``drawings.css`` sets
the colors by class.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from benchmarks.presentation.texts import visible
from frontend.label_places import share_of

_NEAR_END = 0.75
"""Share of the width after which a text stands to the left of what it is about."""
_AT_END = 0.96
"""Share of the width after which the text of a tick ends at it."""


def percent(share: float) -> str:
    return f"{100 * min(1.0, max(0.0, share)):.2f}%"


@dataclass(frozen=True, slots=True)
class Axis:
    """From ``low`` to ``high`` with ``ticks``, each a value and its text."""

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    log: bool = False

    def share(self, value: float) -> float:
        return share_of(value, self.low, self.high, log=self.log)

    def at(self, value: float) -> str:
        return percent(self.share(value))


UNIT = Axis(0.0, 1.0, ((0.0, "0"), (0.5, "0.5"), (1.0, "1")))
"""That of a score."""


def round_step(length: float, most: int) -> float:
    """The smallest of 1, 2, 5 times a power of ten of which at most ``most`` fit."""
    power = 10.0 ** math.floor(math.log10(length / most))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power * most >= length * (1 - 1e-9))


def round_axis(reached: Iterable[float], *, most: int = 4, whole: bool = False, inside: bool = False) -> Axis:
    """An axis with round ticks around the values that are ``reached``, at ``whole`` numbers if so asked.

    With ``inside``, it begins and ends with the values, and has only the ticks between them.
    """
    known = list(reached)
    low, high = min(known), max(known)
    if low == high and not inside:
        low, high = low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2
    step = round_step(high - low, most) if high > low else 1.0
    step = max(1.0, step) if whole else step
    first, last = (math.ceil, math.floor) if inside else (math.floor, math.ceil)
    # A bound that is a multiple of the step must not become the next one by rounding.
    ticks = range(first(round(low / step, 9)), last(round(high / step, 9)) + 1)
    values = [float(f"{step * place:.12g}") for place in ticks]
    shown = [(value, f"{value:,.10g}".replace("-", "−")) for value in values]
    return Axis(low, high, shown) if inside else Axis(shown[0][0], shown[-1][0], shown)


@dataclass(frozen=True, slots=True)
class Plot:
    """What stands at which places between two axes; every method returns parts of the drawing."""

    x: Axis
    y: Axis

    def drawn(self, parts: Iterable[SafeString], label: str, *, height: int, look: str = "plot") -> SafeString:
        return svg(look, height, label, (*self._grid(), *parts))

    def spot(self, x: float, y: float) -> tuple[str, str]:
        return self.x.at(x), percent(1 - self.y.share(y))

    def line(self, look: str, here: tuple[float, float], there: tuple[float, float]) -> SafeString:
        return line(look, self.spot(*here), self.spot(*there))

    def joined(self, look: str, points: Sequence[tuple[float, float]]) -> Iterator[SafeString]:
        for here, there in pairwise(points):
            yield self.line(look, here, there)

    def dot(self, x: float, y: float, words: str, look: str = "best", radius: float = 4.5) -> SafeString:
        """A dot with its tooltip."""
        circle = '<circle class="{}" cx="{}" cy="{}" r="{}"><title>{}</title></circle>'
        return format_html(circle, look, *self.spot(x, y), radius, visible(words))

    def words(self, x: float, y: float, text: str, *, dy: int = -9) -> SafeString:
        """Beside a dot, on the side where there is room."""
        anchor, dx = ("end", -8) if self.x.share(x) > _NEAR_END else ("start", 8)
        shown = '<text class="name" x="{}" y="{}" dx="{}" dy="{}" text-anchor="{}">{}</text>'
        return format_html(shown, *self.spot(x, y), dx, dy, anchor, visible(text))

    def band(self, edges: Sequence[tuple[float, float, float]]) -> SafeString:
        """The area between the lower and the upper edge: each ``(x, low, high)``."""
        above = [(x, high) for x, _, high in edges]
        below = [(x, low) for x, low, _ in reversed(edges)]
        corners = " ".join(f"{self.x.share(x):.4f},{1 - self.y.share(y):.4f}" for x, y in (*above, *below))
        return format_html(
            '<svg width="100%" height="100%" viewBox="0 0 1 1" preserveAspectRatio="none">'
            '<polygon class="band" points="{}"/></svg>',
            corners,
        )

    def _grid(self) -> Iterator[SafeString]:
        for value, text in self.y.ticks:
            at = percent(1 - self.y.share(value))
            yield line("axis", ("0%", at), ("100%", at))
            yield format_html('<text x="0%" y="{}" dx="-8" dy="4" text-anchor="end">{}</text>', at, text)
        for value, text in self.x.ticks:
            at = self.x.at(value)
            # A long text at the end of the axis would reach beyond the drawing.
            anchor = "end" if self.x.share(value) > _AT_END and len(text) > 3 else "middle"
            yield line("axis", (at, "0%"), (at, "100%"))
            yield format_html('<text x="{}" y="100%" dy="18" text-anchor="{}">{}</text>', at, anchor, text)


def svg(look: str, height: int, label: str, parts: Iterable[SafeString], role: str = "img") -> SafeString:
    """A drawing as wide as its place; ``label`` is for screen readers."""
    begin = '<svg class="{}" height="{}" role="{}" aria-label="{}">{}</svg>'
    return format_html(begin, look, height, role, visible(label), mark_safe("".join(parts)))


def line(look: str, here: tuple[str, str], there: tuple[str, str]) -> SafeString:
    return format_html('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>', look, *here, *there)
