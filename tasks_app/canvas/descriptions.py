"""Canvases put into words.

`full`, `partial` and `coordinates` use the wording of the original data; directions compare centers: left and right by
x, above and below by y, no word where they are equal. `short`, `ascii` and `json` are further forms, each enough to
find every center again. Every text ends in white space, so that sentences can be added. Where a text refers to a shape
by its name, no other shape has that name.
"""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Sequence
from typing import TypeVar

from tasks_app.canvas.shapes import CANVAS_SIZE, HALF, CanvasError, Shape, distinct_names

Text = TypeVar("Text")


def _by_difference(zero: Text, positive: Text, negative: Text) -> list[Text]:
    """Return a list to be indexed by a difference of coordinates: a negative one counts from its end."""
    return [zero] + [positive] * CANVAS_SIZE + [negative] * CANVAS_SIZE


_VERTICAL = _by_difference("", "above", "below")
_HORIZONTAL = _by_difference("", "right", "left")


def _phrase(vertical: str, horizontal: str) -> str:
    if vertical and horizontal:
        return f"to the {vertical} {horizontal} of"
    return vertical or (f"{horizontal} of" if horizontal else "at the place of")


def _phrases(vertical: str) -> list[str]:
    return _by_difference(*(f"{_phrase(vertical, horizontal)} this " for horizontal in ("", "right", "left")))


_PHRASES = _by_difference(_phrases(""), _phrases("above"), _phrases("below"))
"""By the difference in y, then in x."""


def direction(shape: Shape, reference: Shape) -> str:
    """Return where `shape` is relative to `reference`: "above left", "below", ..., "" if their centers are equal."""
    (x, y), (reference_x, reference_y) = shape.center, reference.center
    return f"{_VERTICAL[y - reference_y]} {_HORIZONTAL[x - reference_x]}".strip()


def shape_count(n_shapes: int) -> str:
    """Return the sentence with which a description opens."""
    return "There is 1 shape in a canvas. " if n_shapes == 1 else f"There are {n_shapes} shapes in a canvas. "


def full(shapes: Sequence[Shape]) -> str:
    """Describe where every shape is relative to every other: n(n − 1) relations."""
    return _relations(shapes, every_order=True)


def partial(shapes: Sequence[Shape]) -> str:
    """Describe where every shape is relative to those before it: every pair once, n(n − 1)/2 relations."""
    return _relations(shapes, every_order=False)


def _relations(shapes: Sequence[Shape], *, every_order: bool) -> str:
    names = distinct_names(shapes)
    others = [(f"A {name} is ", *shape.center) for name, shape in zip(names, shapes, strict=True)]
    parts = [shape_count(len(shapes))]
    for index, (name, shape) in enumerate(zip(names, shapes, strict=True)):
        parts.append(f"There is a {name} in the canvas. ")
        x, y = shape.center
        end = f"{name}. "
        described = others[:index] + others[index + 1 :] if every_order else others[index + 1 :]
        parts += [f"{start}{_PHRASES[other_y - y][other_x - x]}{end}" for start, other_x, other_y in described]
    return "".join(parts)


def coordinates(shapes: Sequence[Shape]) -> str:
    """Give every shape's center and its radius or side length."""
    return shape_count(len(shapes)) + "".join([_place(shape) for shape in shapes])


def _place(shape: Shape) -> str:
    measure = "radius" if shape.shape == "Circle" else "side length"
    return f"There is a {shape.name} at {shape.center} with {measure} {shape.radius_or_side}. "


def short(shapes: Sequence[Shape]) -> str:
    """Give the first shape's center, then each next shape's distance from the one before it: n − 1 relations.

    Directions alone cannot place n shapes in n − 1 relations, so these carry whole units: adding them up from the first
    center gives every other one, and with them the answer to every question about places.
    """
    names = distinct_names(shapes)
    parts = [shape_count(len(shapes))]
    if shapes:
        parts.append(f"There is a {names[0]} at {shapes[0].center}. ")
    for index in range(1, len(shapes)):
        steps = _steps(shapes[index - 1].center, shapes[index].center)
        parts.append(f"A {names[index]} is {steps} this {names[index - 1]}. ")
    return "".join(parts)


def _steps(start: tuple[int, int], end: tuple[int, int]) -> str:
    right, up = end[0] - start[0], end[1] - start[1]
    steps = []
    if up:
        steps.append(f"{_units(up)} {'above' if up > 0 else 'below'}")
    if right:
        steps.append(f"{_units(right)} {'right' if right > 0 else 'left'} of")
    return " and ".join(steps) or _phrase("", "")


def _units(distance: int) -> str:
    return "1 unit" if abs(distance) == 1 else f"{abs(distance)} units"


LETTERS = string.ascii_uppercase + string.ascii_lowercase
_LAST = HALF - 1  # no shape inside the canvas has a center on its border


def ascii_grid(shapes: Sequence[Shape]) -> str:
    """Draw a grid with one character a unit and each shape's letter at its center, and a legend of the letters.

    Raises `CanvasError` for more shapes than there are letters, or two at one center.
    """
    if len(shapes) > len(LETTERS):
        raise CanvasError(
            f"A grid has letters for {len(LETTERS)} shapes, not for {len(shapes)}: use another description."
        )
    rows = [["."] * (2 * _LAST + 1) for _ in range(2 * _LAST + 1)]
    for letter, shape in zip(LETTERS, shapes, strict=False):
        x, y = shape.center
        if rows[_LAST - y][_LAST + x] != ".":
            raise CanvasError(f"Two shapes have their center at {shape.center}: use another description than a grid.")
        rows[_LAST - y][_LAST + x] = letter
    legend = [f"{letter}: {name}" for letter, name in zip(LETTERS, distinct_names(shapes), strict=False)]
    grid = "\n".join("".join(row) for row in rows)
    return (
        f"{shape_count(len(shapes))}Each letter in the grid is at the center of a shape. Columns go from "
        f"x = -{_LAST} on the left to x = {_LAST} on the right, "
        f"rows from y = {_LAST} at the top to y = -{_LAST} at the bottom.\n"
        f"{grid}\n" + "\n".join(legend) + "\n"
    )


def json_text(shapes: Sequence[Shape]) -> str:
    """Give the shapes as one line of JSON: name parts in lower case, x and y of the center, radius or side."""
    listed = [
        {
            "size": shape.size.lower(),
            "color": shape.color.lower(),
            "shape": shape.shape.lower(),
            "x": shape.center[0],
            "y": shape.center[1],
            "radius" if shape.shape == "Circle" else "side": shape.radius_or_side,
        }
        for shape in shapes
    ]
    return json.dumps({"x_axis": "right", "y_axis": "up", "shapes": listed}) + "\n"


DESCRIPTIONS: dict[str, Callable[[Sequence[Shape]], str]] = {
    "full": full,
    "partial": partial,
    "coordinates": coordinates,
    "short": short,
    "ascii": ascii_grid,
    "json": json_text,
}
"""The descriptions of any canvas, by the name they have in files, requests and pages."""
