"""Charts as files: SVG in the colors of a theme, and PNG, which ``vl-convert`` makes of it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from textwrap import wrap
from typing import Literal
from xml.sax.saxutils import escape

from benchmarks.presentation.texts import visible
from frontend.chart_parts import Chart

Theme = Literal["light", "dark"]

TOKENS = Path(__file__).parent / "static" / "frontend" / "css" / "tokens.css"
DRAWINGS = TOKENS.with_name("drawings.css")
_WIDTH, _EDGE, _LINE = 800, 16, 18
"""Pixels of a file: its width, what is free at its edges, and the height of a line of text."""
_FONTS = "Inter, system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif"
_COLUMNS = 3
_MARGINS = {
    "ruler large": (0, 110, 20, 180),
    "plot": (12, 16, 32, 40),
    "plot many": (12, 16, 32, 40),
    "plot names": (12, 16, 32, 40),
    "plot names crowded": (12, 16, 32, 40),
    "plot rows": (12, 16, 32, 148),
    "plot small": (32, 16, 32, 40),
}
"""Kind of drawing → pixels above, to the right, below and to the left of it; as in ``app.css``."""

_TOKEN = re.compile(r"(--[\w-]+):\s*light-dark\((#[0-9a-fA-F]{6}),\s*(#[0-9a-fA-F]{6})\)")
_REFERENCE = re.compile(r"var\((--[\w-]+)\)")
_CANVAS_COLORS = (
    ("paper", "fill", "--surface"),
    ("grid", "stroke", "--line"),
    ("axis", "stroke", "--line-strong"),
    *((color, of, f"--shape-{color}") for color in ("red", "blue", "yellow", "green") for of in ("fill", "stroke")),
)
"""Class of a picture, what it colors, token; as in ``app.css`` for pictures inside a page."""
_RIM = ".canvas-shape{stroke-width:1.5px}.canvas-shape>*{vector-effect:non-scaling-stroke}"
"""The smallest shapes are about a pixel wide in a list of tasks, too little to see on a dark ground."""
_ENLARGED = (
    ".canvas-shape>*{transform-box:fill-box;transform-origin:center;scale:2.5}.canvas-shape>circle[r='4']{scale:1.25}"
)
"""In a list a unit is less than a pixel. A large circle is twice as wide as the other large shapes."""
_ROOT = re.compile(r'<svg class="([a-z ]+)" height="(\d+)"')


@cache
def tokens(theme: Theme) -> dict[str, str]:
    """The colors of ``tokens.css`` in one theme, by name."""
    return {name: light if theme == "light" else dark for name, light, dark in _TOKEN.findall(TOKENS.read_text())}


def canvas_style(theme: str, *, small: bool = False) -> str:
    """The style sheet of a picture of a canvas in a theme; without one, in that of the system. In a ``small`` picture,
    shapes are larger than they are."""
    return _dark_canvas(theme) + _ENLARGED * small


def _dark_canvas(theme: str) -> str:
    rules = "".join(
        f".canvas-{name}{{{attribute}:{tokens('dark')[token]}}}" for name, attribute, token in _CANVAS_COLORS
    )
    rules += _RIM
    if theme:
        return rules if theme == "dark" else ""
    return f"@media (prefers-color-scheme:dark){{{rules}}}"


@cache
def _style(theme: Theme) -> str:
    colors = tokens(theme)
    rules = (
        f"svg{{font:12px {_FONTS}}}"
        ".ground{fill:var(--surface)}.note{fill:var(--ink-soft)}"
        ".title{fill:var(--ink);font-size:14px;font-weight:600}"
    )
    return _REFERENCE.sub(lambda reference: colors[reference.group(1)], rules + DRAWINGS.read_text())


def svg(chart: Chart, theme: Theme = "light") -> str:
    """The chart with its title and note, on a ground of its own."""
    title, note = (wrap(visible(text), most) for text, most in ((chart.title, 100), (chart.note, 125)))
    placed, bottom = [], _EDGE + _LINE * (len(title) + len(note))
    columns = _COLUMNS if len(chart.panels) > 1 else 1
    for start in range(0, len(chart.panels), columns):
        heights = []
        for column, panel in enumerate(chart.panels[start : start + columns]):
            shown, height = _placed(panel, column, columns, bottom)
            placed.append(shown)
            heights.append(height)
        bottom += max(heights)
    texts = [("title", line) for line in title] + [("note", line) for line in note]
    lines = (
        f'<text class="{kind}" x="{_EDGE}" y="{_EDGE + _LINE * place + 12}">{escape(line)}</text>'
        for place, (kind, line) in enumerate(texts)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{bottom + _EDGE}"'
        f' viewBox="0 0 {_WIDTH} {bottom + _EDGE}"><style>{_style(theme)}</style>'
        f'<rect class="ground" width="100%" height="100%"/>{"".join((*lines, *placed))}</svg>'
    )


def _placed(panel: str, column: int, columns: int, top: int) -> tuple[str, int]:
    """A drawing at its place in the file, and the height that it takes with its margins."""
    root = _ROOT.match(panel)
    assert root is not None
    above, right, below, left = _MARGINS[root.group(1)]
    width = (_WIDTH - 2 * _EDGE) / columns
    place = f'x="{_EDGE + column * width + left:g}" y="{top + above}" width="{width - left - right:g}"'
    height = int(root.group(2))
    return panel.replace("<svg ", f'<svg {place} overflow="visible" ', 1), above + height + below


def png(chart: Chart, theme: Theme = "light") -> bytes:
    import vl_convert

    return bytes(vl_convert.svg_to_png(svg(chart, theme), scale=2))
