"""Quality against cost or latency as SVG in the page: a dot a contender, its interval, and the frontier.

Places are shares of the plot, so it fills whatever width it has while its texts keep their size. ``app.css`` sets the
colors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from benchmarks.presentation.texts import cut, visible
from frontend.chart_parts import Spec
from frontend.label_places import CHARACTER, FAR, LONGEST, PLACES, share_of

_MOST_CHARACTERS = int(LONGEST / CHARACTER)
_ANCHOR = {"left": "start", "right": "end"}


@dataclass(frozen=True, slots=True)
class Axis:
    """From ``low`` to ``high`` with ``ticks``, each a value and its text."""

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    log: bool = False

    def share(self, value: float) -> float:
        return share_of(value, self.low, self.high, log=self.log)


def linear_ticks(high: float, most: int = 5) -> list[float]:
    """Round numbers from 0 to ``high``, at most ``most`` steps."""
    power = 10.0 ** math.floor(math.log10(high / most))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power * most >= high)
    return [step * place for place in range(math.floor(high / step + 1e-9) + 1)]


def drawn(points: Sequence[Spec], best: Sequence[int], x: Axis, y: Axis, sentence: str) -> SafeString:
    """The plot of ``points``, which have ``at``, ``mean``, ``low``, ``high``, ``words`` and ``place``; ``best`` are
    those on the frontier, the cheapest first."""
    parts = (*_grid(x, y), *_joined(points, x, y), *_frontier(points, best, x, y), *_dots(points, best, x, y))
    return format_html(
        '<svg class="tradeoff" height="280" role="img" aria-label="{}">{}</svg>',
        visible(sentence),
        mark_safe("".join(parts)),
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"


def _spot(point: Spec, x: Axis, y: Axis, value: str = "mean") -> tuple[str, str]:
    return _percent(x.share(point["at"])), _percent(1 - y.share(point[value]))


def _line(name: str, here: tuple[str, str], there: tuple[str, str]) -> SafeString:
    return format_html('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>', name, *here, *there)


def _grid(x: Axis, y: Axis) -> Iterator[SafeString]:
    for value, text in y.ticks:
        at = _percent(1 - y.share(value))
        yield _line("axis", ("0%", at), ("100%", at))
        yield format_html('<text x="0%" y="{}" dx="-8" dy="4" text-anchor="end">{}</text>', at, text)
    for value, text in x.ticks:
        at = _percent(x.share(value))
        yield _line("axis", (at, "0%"), (at, "100%"))
        yield format_html('<text x="{}" y="100%" dy="18" text-anchor="middle">{}</text>', at, text)


def _joined(points: Sequence[Spec], x: Axis, y: Axis) -> Iterator[SafeString]:
    """Dashed lines between the variants of one model."""
    of_model: dict[str, list[Spec]] = {}
    for point in sorted(points, key=lambda point: float(point["at"])):
        of_model.setdefault(point["model"], []).append(point)
    for members in of_model.values():
        for here, there in pairwise(members):
            yield _line("joined", _spot(here, x, y), _spot(there, x, y))


def _frontier(points: Sequence[Spec], best: Sequence[int], x: Axis, y: Axis) -> Iterator[SafeString]:
    for here, there in pairwise(_spot(points[index], x, y) for index in best):
        corner = (there[0], here[1])
        yield _line("front", here, corner)
        yield _line("front", corner, there)


def _dots(points: Sequence[Spec], best: Sequence[int], x: Axis, y: Axis) -> Iterator[SafeString]:
    for index, point in enumerate(points):
        kind = "best" if index in best else "behind"
        yield _line(f"span {kind}", _spot(point, x, y, "low"), _spot(point, x, y, "high"))
        yield format_html(
            '<circle class="{}" cx="{}" cy="{}" r="4.5"><title>{}</title></circle>',
            kind,
            *_spot(point, x, y),
            visible(point["words"]),
        )
    for point in points:
        if point["place"]:
            yield _name(point, x, y)


def _name(point: Spec, x: Axis, y: Axis) -> SafeString:
    """The name at its place, with a line to its dot if it stands far from it."""
    place, at = PLACES[point["place"]], _spot(point, x, y)
    leader = format_html_join(
        "",
        '<svg x="{}" y="{}" overflow="visible"><path class="leader" d="M0 0L{} {}"/></svg>',
        [(*at, place.dx, place.dy)] if abs(place.dy) in FAR else [],
    )
    return format_html(
        '{}<text class="name" x="{}" y="{}" dx="{}" dy="{}" text-anchor="{}">{}</text>',
        leader,
        *at,
        place.dx,
        place.dy + 4,
        _ANCHOR[place.align],
        cut(visible(point["words"]), _MOST_CHARACTERS),
    )
