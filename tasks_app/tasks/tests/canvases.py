"""Canvases for the tests: drawn ones, and shapes written as short text."""

from __future__ import annotations

from tasks_app.canvas.generator import canvas_rng, generate_shapes
from tasks_app.canvas.shapes import Shape


def drawn(n_shapes: int, index: int = 0) -> tuple[Shape, ...]:
    return generate_shapes(n_shapes, canvas_rng(5, n_shapes, index, "shapes"))


def shapes(*texts: str) -> tuple[Shape, ...]:
    """Shapes from texts such as "small red circle 3 -7"."""
    parts = [text.split() for text in texts]
    return tuple(
        Shape(shape.title(), color.title(), size.title(), (int(x), int(y))) for size, color, shape, x, y in parts
    )
