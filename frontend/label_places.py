"""Where the names of a chart's points are written, so that none covers another. Pure: from points to places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

WIDTH, HEIGHT = 420.0, 280.0
"""The plot on a wide page, in pixels. Elsewhere it is as high and nearly always wider."""
CHARACTER, LINE = 6.6, 14.0
LONGEST = 240.0
"""Pixels after which a name is cut off."""
_DOT = 6.0
_IN_THE_WAY = 10.0
"""What a place costs that covers a dot or another name, or leaves the plot: it is not taken."""


@dataclass(frozen=True, slots=True)
class Place:
    """Beside the point: how the text is aligned there, and how far off it stands, in pixels."""

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
}


@dataclass(frozen=True, slots=True)
class _Box:
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: _Box) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def label_places(
    labels: Sequence[str], points: Sequence[tuple[float, float]], steps: Sequence[int] = ()
) -> list[str | None]:
    """A key of ``PLACES`` for each label, ``None`` where it would cover something wherever it stood.

    ``points`` are (x, y) from 0 to 1, from the lower left corner. A line with steps through the points numbered in
    ``steps``, from left to right, is avoided where there is a choice. Those points' labels are placed first.
    """
    spots = [(x * WIDTH, (1 - y) * HEIGHT) for x, y in points]
    dots = [_Box(x - _DOT, y - _DOT, x + _DOT, y + _DOT) for x, y in spots]
    line = [part for here, there in pairwise(steps) for part in _step(spots[here], spots[there])]
    found: list[str | None] = [None] * len(labels)
    taken: list[_Box] = []
    for one in sorted(range(len(labels)), key=lambda one: (one not in steps, -points[one][1])):
        others = [dot for other, dot in enumerate(dots) if other != one]
        boxes = {name: _box(labels[one], spots[one], place) for name, place in PLACES.items()}
        costs = {name: _cost(box, [*others, *taken], line) for name, box in boxes.items()}
        best = min(costs, key=lambda name: costs[name])
        if costs[best] < _IN_THE_WAY:
            found[one] = best
            taken.append(boxes[best])
    return found


def share_of(value: float, low: float, high: float, *, log: bool = False) -> float:
    """Where a value stands on an axis, from 0 to 1; in the middle of one that has no length."""
    if log:
        value, low, high = math.log(value), math.log(low), math.log(high)
    return (value - low) / (high - low) if high > low else 0.5


def _box(label: str, spot: tuple[float, float], place: Place) -> _Box:
    width = min(LONGEST, CHARACTER * len(label))
    left = spot[0] + place.dx - (width if place.align == "right" else 0)
    middle = spot[1] + place.dy
    return _Box(left, middle - LINE / 2, left + width, middle + LINE / 2)


def _step(here: tuple[float, float], there: tuple[float, float]) -> tuple[_Box, _Box]:
    """A line that goes right to below (or above) the next point, then straight to it."""
    right = _Box(here[0], here[1] - 1, there[0], here[1] + 1)
    upright = _Box(there[0] - 1, min(here[1], there[1]), there[0] + 1, max(here[1], there[1]))
    return right, upright


def _cost(box: _Box, occupied: Sequence[_Box], line: Sequence[_Box]) -> float:
    outside = box.left < 0 or box.right > WIDTH or box.top < 0 or box.bottom > HEIGHT
    covered = sum(box.meets(other) for other in occupied)
    return _IN_THE_WAY * (covered + outside) + sum(box.meets(part) for part in line)
