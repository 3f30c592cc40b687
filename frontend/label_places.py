"""Where the names of a chart's points are written, so that none covers another. Pure: from points to places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

WIDTH, HEIGHT = 480.0, 224.0
"""The plot in pixels, as one of two in a row. Elsewhere it has this height and is wider."""
PHONE_WIDTH = 290.0
"""That of a plot on a phone, which has names of its own."""
CHARACTER, LINE = 6.6, 14.0
LONGEST = 240.0
"""Pixels after which a name is cut off."""
_DOT = 6.0
_GAP = 8.0
"""Pixels between two names on one line."""
_APART = 5.0
"""Pixels between a name and those above and below, if there is room."""
_BLOCKED = 100.0
"""The cost of a place that covers a dot or another name, or leaves the plot: from this cost on it is not used."""

_ASTRAY = 3.0
"""The cost of a name without a line that begins nearer to another dot than to its own, of which it would be read."""
_CROSSED = 10.0
"""The cost of a line to a far name that crosses another name."""
FAR = tuple(range(36, 260, 14))
"""Pixels above or below a dot at which its name is written if there is no room beside it."""


ASIDE = FAR[1]
"""The most pixels above or below a dot at which a name on a line to it is still seen as that of the dot."""


class Place(NamedTuple):
    """How the text is aligned beside the point, and its distance from it in pixels."""

    align: str
    dx: float
    dy: float


PLACES = {
    "right, above": Place("left", 8, -9),
    "right, below": Place("left", 8, 10),
    "left, above": Place("right", -8, -9),
    "left, below": Place("right", -8, 10),
    "right": Place("left", 10, 0),
    "left": Place("right", -10, 0),
    "far above": Place("left", 4, -22),
    "far below": Place("left", 4, 23),
} | {
    f"{side}, {abs(dy)} {direction}": Place(align, dx, dy)
    for dy, direction in ((sign * distance, word) for distance in FAR for sign, word in ((-1, "above"), (1, "below")))
    for side, align, dx in (("right", "left", 14), ("left", "right", -14))
}
"""Near ones first; those of ``FAR`` need a line from the dot to the name."""


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: _Box) -> bool:
        apart = self.right <= other.left or other.right <= self.left
        return not (apart or self.bottom <= other.top or other.bottom <= self.top)


def label_places(
    labels: Sequence[str],
    points: Sequence[tuple[float, float]],
    steps: Sequence[int] = (),
    spans: Sequence[tuple[float, float]] = (),
    *,
    width: float = WIDTH,
    joins: Sequence[tuple[int, int]] = (),
) -> list[str | None]:
    """A key of ``PLACES`` for each label, ``None`` if it would cover something at every place.

    ``points`` are (x, y) from 0 to 1, from the lower left corner. A line with steps through the points numbered in
    ``steps``, from left to right, is avoided if possible, and so are the vertical ``spans`` through the points, each
    from a low to a high y, the lines that join the points numbered in ``joins``, and those to names that stand far from
    their points. The labels of the points on the line are placed first.
    """
    spots = [(x * width, (1 - y) * HEIGHT) for x, y in points]
    dots = [_Box(x - _DOT, y - _DOT, x + _DOT, y + _DOT) for x, y in spots]
    line = [part for here, there in pairwise(steps) for part in _step(spots[here], spots[there])]
    # A name on an interval, or on the line to another name, is misread: it costs twice what it costs on other lines.
    line += 2 * [
        _Box(x - 1, (1 - high) * HEIGHT, x + 1, (1 - low) * HEIGHT)
        for (x, _), (low, high) in zip(spots, spans, strict=False)
    ]
    line += [part for here, there in joins for part in _along(spots[here], spots[there])]
    chosen: list[str | None] = [None] * len(labels)
    taken: list[_Box] = []
    # Greedy: a label is placed once and never moved, the best points first, so that those keep their names.
    for index in sorted(range(len(labels)), key=lambda index: (index not in steps, -points[index][1])):
        occupied = [*(dot for other, dot in enumerate(dots) if other != index), *taken]
        boxes, costs = dict[str, _Box](), dict[str, float]()
        for name, place in PLACES.items():
            boxes[name] = _box(labels[index], spots[index], place)
            costs[name] = _cost(boxes[name], occupied, line, width) + _distance(place)
            if abs(place.dy) in FAR:
                costs[name] += _CROSSED * _n_crossed(_to_name(spots[index], place), taken)
            elif _is_astray(place, index, spots):
                costs[name] += _ASTRAY
            if not costs[name]:
                break  # nothing is nearer and free
        best = min(costs, key=lambda name: costs[name])
        if costs[best] < _BLOCKED:
            chosen[index] = best
            box = boxes[best]._replace(left=boxes[best].left - _GAP, right=boxes[best].right + _GAP)
            taken.append(box)
            line.append(box._replace(top=box.top - _APART, bottom=box.bottom + _APART))
            if abs(PLACES[best].dy) in FAR:
                line += 2 * _to_name(spots[index], PLACES[best])
    return chosen


def is_near(key: str | None, most: float = FAR[0] - 1) -> bool:
    """Whether a name has a place, and one beside its point: at ``most`` so many pixels above or below it."""
    return key is not None and abs(PLACES[key].dy) <= most


def share_of(value: float, low: float, high: float, *, log: bool = False) -> float:
    """The position of a value on an axis, from 0 to 1; the middle if the axis has no length."""
    if log:
        value, low, high = math.log(value), math.log(low), math.log(high)
    return (value - low) / (high - low) if high > low else 0.5


def _box(label: str, spot: tuple[float, float], place: Place) -> _Box:
    width = min(LONGEST, CHARACTER * len(label))
    left = spot[0] + place.dx - (width if place.align == "right" else 0)
    middle = spot[1] + place.dy
    return _Box(left, middle - LINE / 2, left + width, middle + LINE / 2)


def _step(here: tuple[float, float], there: tuple[float, float]) -> tuple[_Box, _Box]:
    """A line that runs horizontally to below (or above) the next point, then vertically to it."""
    horizontal = _Box(here[0], here[1] - 1, there[0], here[1] + 1)
    vertical = _Box(there[0] - 1, min(here[1], there[1]), there[0] + 1, max(here[1], there[1]))
    return horizontal, vertical


def _along(here: tuple[float, float], there: tuple[float, float]) -> list[_Box]:
    """A line as points on it, a line of text apart."""
    n = max(1, round(math.dist(here, there) / LINE))
    shares = [place / n for place in range(1, n)]
    spots = [(here[0] + share * (there[0] - here[0]), here[1] + share * (there[1] - here[1])) for share in shares]
    return [_Box(x - 1, y - 1, x + 1, y + 1) for x, y in spots]


def _to_name(spot: tuple[float, float], place: Place) -> list[_Box]:
    return _along(spot, (spot[0] + place.dx, spot[1] + place.dy))


def _n_crossed(line: Sequence[_Box], names: Sequence[_Box]) -> int:
    return sum(any(part.overlaps(name) for part in line) for name in names)


def _is_astray(place: Place, index: int, spots: Sequence[tuple[float, float]]) -> bool:
    begins = spots[index][0] + place.dx, spots[index][1] + place.dy
    return any(math.dist(begins, spot) < math.hypot(place.dx, place.dy) for spot in spots)


def _distance(place: Place) -> float:
    """The cost of a line to a far name: that of the nearest is as bad as covering a part of the line of steps."""
    return abs(place.dy) / FAR[0] if abs(place.dy) in FAR else 0.0


def _cost(box: _Box, occupied: Sequence[_Box], line: Sequence[_Box], width: float) -> float:
    outside = box.left < 0 or box.right > width or box.top < 0 or box.bottom > HEIGHT
    covered = sum(box.overlaps(other) for other in occupied)
    return _BLOCKED * (covered + outside) + 2 * sum(box.overlaps(part) for part in line)
