"""Canvases from a seed: the same number of shapes, seed and index give the same canvas on every machine."""

from __future__ import annotations

import random

from tasks_app.canvas.geometry import free_center
from tasks_app.canvas.random_source import KeyedRandom
from tasks_app.canvas.shapes import KINDS, CanvasError, Shape

GENERATOR_VERSION = "4"
"""Names the algorithm behind generated canvases; any change that alters an existing canvas raises it."""

MAX_SHAPES = len(KINDS)


def canvas_rng(seed: int, n_shapes: int, index: int, stream: str) -> random.Random:
    """Return the random source of one stream ("shapes", or a task's name) of canvas `index` of a set.

    It depends on the arguments alone: streams are independent, and a set grows without changing the canvases it had.
    """
    return KeyedRandom(f"{seed}/{n_shapes}/{index}/{stream}")


def check_n_shapes(n_shapes: int) -> None:
    """Raise `CanvasError` unless a canvas of `n_shapes` can be generated."""
    if not 1 <= n_shapes <= MAX_SHAPES:
        raise CanvasError(
            f"A canvas cannot be generated with {n_shapes} shapes: ask for 1 to {MAX_SHAPES}. There are {MAX_SHAPES} "
            "kinds of shape, and a repeated kind would leave questions about it without one correct answer."
        )


def generate_shapes(n_shapes: int, rng: random.Random) -> tuple[Shape, ...]:
    """Draw `n_shapes` shapes of different kinds that lie inside the canvas and do not touch.

    Centers have even coordinates, and no two shapes share one, except that half the canvases of three shapes or more
    have one tie on one axis. So no answer depends on a difference that is too small to see, and ties are few. Only
    `rng.random()` is called; what other methods make of it may change between Python versions. It always ends: see
    `free_center`. Raises `CanvasError` unless 1 <= n_shapes <= 24.
    """
    check_n_shapes(n_shapes)
    kinds = list(KINDS)
    placed: list[Shape] = []
    tied = 1 + int(rng.random() * 2 * (n_shapes - 1)) if n_shapes > 2 else n_shapes
    for number in range(n_shapes):
        size, color, shape = kinds.pop(int(rng.random() * len(kinds)))
        tie = (int(rng.random() * 2), placed[int(rng.random() * number)]) if number == tied else None
        placed.append(Shape(shape, color, size, free_center((shape, size), placed, rng, tie)))
    return tuple(placed)
