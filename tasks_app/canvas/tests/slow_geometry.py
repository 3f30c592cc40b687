"""Overlap worked out the long way, to check the fast tables: edges crossing edges, in 50-digit decimals."""

from __future__ import annotations

from decimal import Decimal, localcontext
from itertools import pairwise, product

from tasks_app.canvas.shapes import HALF, Shape

Vector = tuple[Decimal, Decimal]

LEVEL = Decimal("1e-40")
"""Distances below this are none: 50 digits leave far less over."""

SIDES = {("Square", "Small"): 2, ("Square", "Large"): 4, ("Triangle", "Small"): 2, ("Triangle", "Large"): 4}
RADII = {"Small": 1, "Large": 4}


def are_apart(first: Shape, second: Shape) -> bool:
    """Tell whether two shapes neither overlap nor touch."""
    with localcontext() as context:
        context.prec = 50
        return _are_apart(first, second)


def is_inside(shape: Shape) -> bool:
    """Tell whether a shape lies inside the canvas, its border included."""
    with localcontext() as context:
        context.prec = 50
        if shape.shape == "Circle":
            return all(abs(at) + RADII[shape.size] <= HALF for at in shape.center)
        return all(abs(at) <= HALF + LEVEL for corner in corners(shape) for at in corner)


def corners(shape: Shape) -> list[Vector]:
    side, x, y = Decimal(SIDES[shape.shape, shape.size]), Decimal(shape.center[0]), Decimal(shape.center[1])
    if shape.shape == "Square":
        return [(x + dx * side / 2, y + dy * side / 2) for dx, dy in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    # An equilateral triangle's centroid lies a third of its height, √3/2 of the side, above the base.
    height = Decimal(3).sqrt() * side / 2
    return [(x - side / 2, y - height / 3), (x + side / 2, y - height / 3), (x, y + height * 2 / 3)]


def _are_apart(first: Shape, second: Shape) -> bool:
    if first.shape == second.shape == "Circle":
        dx, dy = first.center[0] - second.center[0], first.center[1] - second.center[1]
        return dx * dx + dy * dy > (RADII[first.size] + RADII[second.size]) ** 2
    if second.shape == "Circle":
        return _are_apart(second, first)
    if first.shape == "Circle":
        center = (Decimal(first.center[0]), Decimal(first.center[1]))
        near = min(_distance(center, start, end) for start, end in edges(second))
        return not _contains(second, center) and near > RADII[first.size] + LEVEL
    crossing = any(_meet(one, other) for one, other in product(edges(first), edges(second)))
    return not crossing and not _contains(first, corners(second)[0]) and not _contains(second, corners(first)[0])


def edges(shape: Shape) -> list[tuple[Vector, Vector]]:
    around = corners(shape)
    return list(pairwise([*around, around[0]]))


def _turn(a: Vector, b: Vector, c: Vector) -> Decimal:
    turn = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    return Decimal(0) if abs(turn) < LEVEL else turn


def _contains(shape: Shape, point: Vector) -> bool:
    return all(_turn(start, end, point) >= 0 for start, end in edges(shape))


def _distance(point: Vector, start: Vector, end: Vector) -> Decimal:
    """Distance from a point to a segment."""
    along = (end[0] - start[0], end[1] - start[1])
    share = ((point[0] - start[0]) * along[0] + (point[1] - start[1]) * along[1]) / (along[0] ** 2 + along[1] ** 2)
    share = max(Decimal(0), min(Decimal(1), share))
    dx, dy = point[0] - start[0] - share * along[0], point[1] - start[1] - share * along[1]
    return (dx * dx + dy * dy).sqrt()


def _meet(one: tuple[Vector, Vector], other: tuple[Vector, Vector]) -> bool:
    """Tell whether two segments have a point in common, ends included."""
    turns = [_turn(*one, point) for point in other] + [_turn(*other, point) for point in one]
    if turns[0] * turns[1] < 0 and turns[2] * turns[3] < 0:
        return True
    return any(_distance(point, *one) < LEVEL for point in other) or any(
        _distance(point, *other) < LEVEL for point in one
    )
