"""Shapes in a line along an axis, which transitivity and shuffle_tracking ask about."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from tasks_app.canvas.shapes import Shape
from tasks_app.tasks.draw import pick

X, Y = 0, 1


def nameable(shapes: Sequence[Shape]) -> Sequence[Shape]:
    """Return the shapes whose name belongs to no other shape of the canvas, so that a question can mean just one."""
    kinds = [shape.kind for shape in shapes]
    if len(set(kinds)) == len(kinds):
        return shapes
    totals = Counter(kinds)
    return [shape for shape in shapes if totals[shape.kind] == 1]


def line_up(shapes: Sequence[Shape], axis: int, rng: random.Random) -> list[Shape]:
    """Return nameable shapes by rising coordinate of their centers, no two at the same one.

    If several share a coordinate, one of them is picked and the others are left out: a line has no ties.
    """
    candidates = nameable(shapes)
    alone = {shape.center[axis]: shape for shape in candidates}
    if len(alone) == len(candidates):
        return [alone[coordinate] for coordinate in sorted(alone)]
    level: dict[int, list[Shape]] = {}
    for shape in candidates:
        level.setdefault(shape.center[axis], []).append(shape)
    return [pick(rng, level[coordinate]) for coordinate in sorted(level)]
