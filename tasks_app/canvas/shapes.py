"""What a canvas holds: coloured shapes of two sizes at integer centers.

The canvas is 64 × 64 with its origin in the middle, x to the right and y upward. A triangle is equilateral, points up
and is placed by its centroid. Values are capitalised ("Large", "Green", "Triangle") as in canvas files; names are lower
case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

CANVAS_SIZE = 64
HALF = CANVAS_SIZE // 2

SHAPES = ("Circle", "Square", "Triangle")
COLORS = ("Red", "Blue", "Yellow", "Green")
SIZES = ("Small", "Large")

Kind = tuple[str, str, str]

KINDS: tuple[Kind, ...] = tuple(product(SIZES, COLORS, SHAPES))
"""The 24 kinds as (size, color, shape). Generated canvases depend on this order: it may not change."""

KIND_NAMES: dict[Kind, str] = {kind: " ".join(kind).lower() for kind in KINDS}

_MEASURES = {
    ("Circle", "Small"): 1,
    ("Circle", "Large"): 4,
    ("Square", "Small"): 2,
    ("Square", "Large"): 4,
    ("Triangle", "Small"): 2,
    ("Triangle", "Large"): 4,
}


class CanvasError(ValueError):
    """A canvas that cannot be made, read or described; the text says why and what to do instead."""


def measure_of(shape: str, size: str) -> int:
    """Return a circle's radius; a square's or a triangle's side."""
    return _MEASURES[shape, size]


@dataclass(frozen=True, slots=True, order=True)
class Shape:
    """One shape of a canvas. The values are trusted: outside data is checked where it is read.

    Shapes can be sorted, and ``str`` is their name.
    """

    shape: str
    color: str
    size: str
    center: tuple[int, int]

    def __str__(self) -> str:
        return self.name

    @property
    def kind(self) -> Kind:
        """What is looked at when shapes are told apart: (size, color, shape)."""
        return (self.size, self.color, self.shape)

    @property
    def name(self) -> str:
        """The kind in words, e.g. "large green triangle"."""
        return KIND_NAMES[self.size, self.color, self.shape]

    @property
    def radius_or_side(self) -> int:
        """A circle's radius; a square's or a triangle's side."""
        return measure_of(self.shape, self.size)


def distinct_names(shapes: Sequence[Shape]) -> list[str]:
    """Return a name for each shape that no other shape of the canvas has.

    A name is the kind's. Imported canvases may repeat a kind: then each of its shapes is numbered in canvas order,
    "large green triangle 1", "large green triangle 2".
    """
    names = [shape.name for shape in shapes]
    if len(set(names)) == len(names):
        return names
    totals = {name: names.count(name) for name in names}
    seen = dict.fromkeys(names, 0)
    distinct = []
    for name in names:
        seen[name] += 1
        distinct.append(f"{name} {seen[name]}" if totals[name] > 1 else name)
    return distinct
