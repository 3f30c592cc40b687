"""Canvases as pictures: SVG for pages, PNG for models that see.

One user unit is one unit of the canvas. SVG's y axis points down, so the y of every point is negated. Colors are given
as attributes, which any style sheet overrides: a page themes the classes `canvas-paper`, `canvas-grid`, `canvas-axis`,
`canvas-shape`, `canvas-red`, `canvas-blue`, `canvas-yellow` and `canvas-green`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from xml.sax.saxutils import escape, quoteattr

from tasks_app.canvas.shapes import CANVAS_SIZE, HALF, Shape, distinct_names

PNG_SIZE = 768
"""Pixels of a side: twelve to a unit, so that the small shapes are easy to see."""

FILLS = {"Red": "#d43d3d", "Blue": "#2f6fd6", "Yellow": "#f2c21b", "Green": "#2f9e4f"}
_GRID_STEP = 8
_FRAME = 0.5  # room for the border line, half of which lies outside the canvas
_CORNER = -HALF - _FRAME
_SIDE = CANVAS_SIZE + 2 * _FRAME


def svg(shapes: Sequence[Shape], title: str = "Canvas", style: str = "") -> str:
    """Return a standalone SVG element that scales to the width it is given.

    It has the title and, as its description, every shape with its center. Each shape is a group of the class
    `canvas-shape` with its name and center as title and as `data-name`, `data-x` and `data-y`. `style` is a style sheet
    of its own, for a picture that no page can theme.
    """
    names = distinct_names(shapes)
    description = "; ".join(f"{name} at {shape.center}" for name, shape in zip(names, shapes, strict=True))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{_CORNER:g} {_CORNER:g} {_SIDE:g} {_SIDE:g}"'
        f' role="img" class="canvas-picture" aria-label={quoteattr(title)}>'
        + (f"<style>{style}</style>" if style else "")
        + f"<title>{escape(title)}</title><desc>{escape(description)}</desc>{_BACKGROUND}"
        + "".join(_group(name, shape) for name, shape in zip(names, shapes, strict=True))
        + "</svg>"
    )


def png(shapes: Sequence[Shape]) -> bytes:
    """Return the picture that a model is sent: `PNG_SIZE` pixels square, on white."""
    import vl_convert

    return bytes(vl_convert.svg_to_png(svg(shapes), scale=PNG_SIZE / _SIDE))


def _background() -> str:
    """Draw the paper, a line every eight units, both axes and the border."""
    lines = [at for at in range(-HALF + _GRID_STEP, HALF, _GRID_STEP) if at]
    grid = "".join(f"M{at} {-HALF}V{HALF}M{-HALF} {at}H{HALF}" for at in lines)
    border = f"M{-HALF} {-HALF}H{HALF}V{HALF}H{-HALF}Z"
    return (
        f'<rect class="canvas-paper" x="{_CORNER:g}" y="{_CORNER:g}" width="{_SIDE:g}" height="{_SIDE:g}"'
        ' fill="#ffffff"/>'
        f'<path class="canvas-grid" d="{grid}" stroke="#e6e6e6" stroke-width="0.1"/>'
        f'<path class="canvas-axis" d="M0 {-HALF}V{HALF}M{-HALF} 0H{HALF}{border}" fill="none" stroke="#c2c2c2"'
        ' stroke-width="0.2"/>'
    )


_BACKGROUND = _background()


def _group(name: str, shape: Shape) -> str:
    x, y = shape.center
    return (
        f'<g class="canvas-shape canvas-{shape.color.lower()}" data-name="{name}" data-x="{x}" data-y="{y}"'
        f' fill="{FILLS[shape.color]}" stroke="#333333" stroke-width="0.15">'
        f"<title>{name} at {shape.center}</title>{_outline(shape)}</g>"
    )


def _outline(shape: Shape) -> str:
    x, y, measure = shape.center[0], -shape.center[1], shape.radius_or_side
    if shape.shape == "Circle":
        return f'<circle cx="{x}" cy="{y}" r="{measure}"/>'
    half = measure // 2
    if shape.shape == "Square":
        return f'<rect x="{x - half}" y="{y - half}" width="{measure}" height="{measure}"/>'
    height = measure * sqrt(3) / 2
    top, base = y - height * 2 / 3, y + height / 3
    return f'<path d="M{x} {top:.4f}L{x + half} {base:.4f}H{x - half}Z"/>'
