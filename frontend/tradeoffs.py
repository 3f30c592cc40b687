"""Quality against cost or latency: a dot a contender, its interval, and the frontier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from benchmarks.presentation.texts import cut, visible
from frontend.chart_parts import Row
from frontend.label_places import CHARACTER, FAR, HEIGHT, LONGEST, PLACES
from frontend.plots import Axis, Plot

_MOST_CHARACTERS = int(LONGEST / CHARACTER)
_ANCHOR = {"left": "start", "right": "end"}


def drawn(
    points: Sequence[Row], best: Sequence[int], x: Axis, y: Axis, sentence: str, *, is_crowded: bool
) -> SafeString:
    """The plot of ``points``, which have ``at``, ``mean``, ``low``, ``high``, ``words`` and ``place``, and ``short``
    and ``narrow`` in their place on phones, and on every page if it ``is_crowded``; ``best`` are those on the frontier,
    the cheapest first."""
    plot = Plot(x, y)
    parts = (*_joined(points, plot), *_frontier(points, best, plot), *_dots(points, best, plot))
    return plot.drawn(parts, sentence, height=int(HEIGHT), look="plot names crowded" if is_crowded else "plot names")


def _spot(point: Row) -> tuple[float, float]:
    return point["at"], point["mean"]


def joins(points: Sequence[Row]) -> list[tuple[int, int]]:
    """The variants of one model, each with the next one to the right, by number."""
    of_model: dict[str, list[int]] = {}
    for index in sorted(range(len(points)), key=lambda index: float(points[index]["at"])):
        of_model.setdefault(points[index]["model"], []).append(index)
    return [pair for members in of_model.values() for pair in pairwise(members)]


def _joined(points: Sequence[Row], plot: Plot) -> Iterator[SafeString]:
    """Dashed lines between the variants of one model."""
    for here, there in joins(points):
        yield plot.line("joined", _spot(points[here]), _spot(points[there]))


def _frontier(points: Sequence[Row], best: Sequence[int], plot: Plot) -> Iterator[SafeString]:
    for here, there in pairwise(_spot(points[index]) for index in best):
        corner = (there[0], here[1])
        yield from plot.joined("front", (here, corner, there))


def _dots(points: Sequence[Row], best: Sequence[int], plot: Plot) -> Iterator[SafeString]:
    for index, point in enumerate(points):
        kind = "best" if index in best else "behind"
        yield plot.line(f"span {kind}", (point["at"], point["low"]), (point["at"], point["high"]))
        yield plot.dot(*_spot(point), point["words"], kind)
    for point in points:
        if point["place"]:
            yield _name(point, plot, "name", point["place"], cut(visible(point["words"]), _MOST_CHARACTERS))
        if point["narrow"]:
            yield _name(point, plot, "name narrow", point["narrow"], visible(point["short"]))


def _name(point: Row, plot: Plot, look: str, key: str, words: str) -> SafeString:
    """The name at its place, with a line to its dot if it stands far from it."""
    place, at = PLACES[key], plot.spot(*_spot(point))
    leader = format_html_join(
        "",
        '<svg x="{}" y="{}" overflow="visible"><path class="{}" d="M0 0L{} {}"/></svg>',
        [(*at, look.replace("name", "leader"), place.dx, place.dy)] if abs(place.dy) in FAR else [],
    )
    return format_html(
        '{}<text class="{}" x="{}" y="{}" dx="{}" dy="{}" text-anchor="{}">{}</text>',
        *(leader, look, *at),
        place.dx,
        place.dy + 4,
        _ANCHOR[place.align],
        words,
    )
