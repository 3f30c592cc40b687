"""Where shapes may lie: inside the canvas, none touching another.

Centres are integers and there are six forms (a shape in a size), so whether two shapes touch depends on the offset of
their centers alone. Per pair of forms the touching offsets are worked out once; afterwards a test is a set lookup.
"""

from __future__ import annotations

import random
from collections.abc import Container, Iterator, Sequence
from functools import cache
from itertools import product
from math import ceil, floor, hypot, sqrt

from tasks_app.canvas.shapes import HALF, SHAPES, SIZES, Shape, measure_of

Form = tuple[str, str]
"""(shape, size)."""

Point = tuple[float, float]
Offset = tuple[int, int]
Tie = tuple[int, Shape]
"""(axis, shape): 0 for the x, 1 for the y that a center shares with the shape's."""

FORMS: tuple[Form, ...] = tuple(product(SHAPES, SIZES))

MARGIN = 1e-6
"""A gap below this is a touch. At integer offsets no two forms have a gap between 0 and 1e-3 (tested), and rounding
errors are below 1e-12, so the verdict is exact on every machine."""

RANDOM_TRIES = 32


def outline(form: Form) -> tuple[tuple[Point, ...], float]:
    """Return a form placed at the origin as (corners counter-clockwise, radius): a convex polygon widened by a radius.

    A circle is a single corner and its radius; squares and triangles have the radius 0.
    """
    shape, size = form
    measure = measure_of(shape, size)
    if shape == "Circle":
        return ((0.0, 0.0),), float(measure)
    half = measure / 2
    if shape == "Square":
        return ((-half, -half), (half, -half), (half, half), (-half, half)), 0.0
    inradius = measure / (2 * sqrt(3))
    return ((-half, -inradius), (half, -inradius), (0.0, 2 * inradius)), 0.0


def gap(first: Form, second: Form, offset: Offset) -> float:
    """Return the distance between two forms, `offset` from the first center to the second; 0 or less if they overlap.

    Two convex polygons overlap exactly where the offset lies in their Minkowski difference, and their distance is the
    offset's distance from it; radii are then taken off.
    """
    first_corners, first_radius = outline(first)
    second_corners, second_radius = outline(second)
    difference = convex_hull([(ax - bx, ay - by) for ax, ay in first_corners for bx, by in second_corners])
    return _distance(offset, difference) - first_radius - second_radius


def convex_hull(points: Sequence[Point]) -> list[Point]:
    """Return the corners of the convex hull, counter-clockwise (Andrew's monotone chain)."""
    ordered = sorted(set(points))
    if len(ordered) == 1:
        return ordered
    return _half_hull(ordered)[:-1] + _half_hull(ordered[::-1])[:-1]


def _half_hull(points: Sequence[Point]) -> list[Point]:
    chain: list[Point] = []
    for point in points:
        while len(chain) > 1 and _cross(chain[-2], chain[-1], point) <= 0:
            chain.pop()
        chain.append(point)
    return chain


def _cross(origin: Point, a: Point, b: Point) -> float:
    """Twice the signed area of a triangle, positive when it turns left."""
    return (a[0] - origin[0]) * (b[1] - origin[1]) - (a[1] - origin[1]) * (b[0] - origin[0])


def _distance(point: Point, polygon: Sequence[Point]) -> float:
    """Distance from a point to a convex polygon (counter-clockwise, or a single point); 0 inside it."""
    if len(polygon) == 1:
        return hypot(point[0] - polygon[0][0], point[1] - polygon[0][1])
    edges = list(zip(polygon, [*polygon[1:], polygon[0]], strict=True))
    if all(_cross(start, end, point) >= 0 for start, end in edges):
        return 0.0
    return min(_segment_distance(point, start, end) for start, end in edges)


def _segment_distance(point: Point, start: Point, end: Point) -> float:
    along_x, along_y = end[0] - start[0], end[1] - start[1]
    share = ((point[0] - start[0]) * along_x + (point[1] - start[1]) * along_y) / (along_x**2 + along_y**2)
    share = min(1.0, max(0.0, share))
    return hypot(point[0] - start[0] - share * along_x, point[1] - start[1] - share * along_y)


@cache
def touching_offsets(first: Form, second: Form) -> frozenset[Offset]:
    """Return the offsets from the first form's center to the second's at which the two touch or overlap."""
    reach = ceil(_circumradius(first) + _circumradius(second))
    steps = range(-reach, reach + 1)
    return frozenset((dx, dy) for dx, dy in product(steps, steps) if gap(first, second, (dx, dy)) < MARGIN)


def _circumradius(form: Form) -> float:
    corners, radius = outline(form)
    return radius + max(hypot(x, y) for x, y in corners)


@cache
def center_bounds(form: Form) -> tuple[int, int, int, int]:
    """Return the (least x, greatest x, least y, greatest y) of a center with which a form lies inside the canvas.

    A shape may reach the canvas's border but not cross it.
    """
    corners, radius = outline(form)
    xs = [x for x, _ in corners]
    ys = [y for _, y in corners]
    return (
        ceil(radius - min(xs) - HALF),
        floor(HALF - radius - max(xs)),
        ceil(radius - min(ys) - HALF),
        floor(HALF - radius - max(ys)),
    )


def lies_inside(shape: Shape) -> bool:
    """Tell whether a shape lies inside the canvas, its border included."""
    left, right, bottom, top = center_bounds((shape.shape, shape.size))
    return left <= shape.center[0] <= right and bottom <= shape.center[1] <= top


def touch(first: Shape, second: Shape) -> bool:
    """Tell whether two shapes touch or overlap."""
    offset = (second.center[0] - first.center[0], second.center[1] - first.center[1])
    return offset in touching_offsets((first.shape, first.size), (second.shape, second.size))


def free_center(form: Form, placed: Sequence[Shape], rng: random.Random, tie: Tie | None = None) -> tuple[int, int]:
    """Draw a center of even coordinates that no placed shape has, such that the form lies inside and touches nothing.

    With a `tie`, the center shares a coordinate with that shape, unless the form would cross the border there. Tries
    some centers at random, then lists all that are free. If there is none, any center will do where the form touches
    nothing, so it always ends: with fewer than 24 shapes of different kinds placed there is one, whatever was placed
    where, because what they forbid together is less than the canvas (tested). Raises `ValueError` if there is none.
    """
    left, right, bottom, top = center_bounds(form)
    columns = _even(left, right, {shape.center[0] for shape in placed})
    rows = _even(bottom, top, {shape.center[1] for shape in placed})
    if tie is not None:
        axis, (x, y) = tie[0], tie[1].center
        if axis == 0 and left <= x <= right:
            columns = [x]
        elif axis == 1 and bottom <= y <= top:
            rows = [y]
    obstacles = [(*other.center, touching_offsets((other.shape, other.size), form)) for other in placed]
    if columns and rows:
        for _ in range(RANDOM_TRIES):
            x, y = columns[int(rng.random() * len(columns))], rows[int(rng.random() * len(rows))]
            for other_x, other_y, forbidden in obstacles:
                if (x - other_x, y - other_y) in forbidden:
                    break
            else:
                return x, y
    anywhere = list(free_centers(form, placed))
    free = [(x, y) for x, y in anywhere if x in columns and y in rows] or anywhere
    if not free:
        raise ValueError(f"no room is left on the canvas for a {form[1].lower()} {form[0].lower()}")
    return free[int(rng.random() * len(free))]


def _even(low: int, high: int, taken: Container[int]) -> list[int]:
    return [value for value in range(low + low % 2, high + 1, 2) if value not in taken]


def free_centers(form: Form, placed: Sequence[Shape]) -> Iterator[tuple[int, int]]:
    """List every center where the form lies inside the canvas and touches none of `placed`, by x, then y."""
    taken = {
        (other.center[0] + dx, other.center[1] + dy)
        for other in placed
        for dx, dy in touching_offsets((other.shape, other.size), form)
    }
    left, right, bottom, top = center_bounds(form)
    return (center for center in product(range(left, right + 1), range(bottom, top + 1)) if center not in taken)
