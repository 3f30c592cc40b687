"""Charts drawn on the server (SVG, PNG), and the script that draws them in the page.

Both come from ``vl-convert``, which carries Vega, Vega-Lite and Vega-Embed: no other host, no build step. It is loaded
with the first chart asked for, never when the web process starts.
"""

from __future__ import annotations

import gzip
import os
import re
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from benchmarks.presentation.texts import visible
from frontend.chart_parts import Chart

Theme = Literal["light", "dark"]

TOKENS = Path(__file__).parent / "static" / "frontend" / "css" / "tokens.css"
WIDTH = 720

_TOKEN = re.compile(r"(--[\w-]+):\s*light-dark\((#[0-9a-fA-F]{6}),\s*(#[0-9a-fA-F]{6})\)")
_REFERENCE = re.compile(r"var\((--[\w-]+)\)")
_SNIPPET = 'window.vegaEmbed = vegaEmbed; window.dispatchEvent(new Event("vega-ready"));'

BUNDLE_VERSION = version("vl-convert-python")


@cache
def tokens(theme: Theme) -> dict[str, str]:
    """The colours of ``tokens.css`` in one theme, by name."""
    return {name: light if theme == "light" else dark for name, light, dark in _TOKEN.findall(TOKENS.read_text())}


def resolved(part: Any, theme: Theme) -> Any:
    """A spec with every ``var(--token)`` replaced by its colour. Data is left as it is."""
    if isinstance(part, dict):
        return {key: value if key == "data" else resolved(value, theme) for key, value in part.items()}
    if isinstance(part, list):
        return [resolved(value, theme) for value in part]
    if isinstance(part, str) and (reference := _REFERENCE.fullmatch(part)):
        return tokens(theme)[reference.group(1)]
    return part


def svg(chart: Chart, theme: Theme = "light") -> str:
    import vl_convert

    return str(vl_convert.vegalite_to_svg(_standing_alone(chart, theme), allowed_base_urls=[]))


def png(chart: Chart, theme: Theme = "light") -> bytes:
    import vl_convert

    return bytes(vl_convert.vegalite_to_png(_standing_alone(chart, theme), scale=2, allowed_base_urls=[]))


def bundle(folder: Path) -> bytes:
    """The drawing script, compressed with gzip. Built once (some seconds) and kept in ``folder``."""
    kept = folder / f"charts-{BUNDLE_VERSION}.js.gz"
    if not kept.exists():
        _write_whole(kept, gzip.compress(_built_bundle().encode(), mtime=0))
    return kept.read_bytes()


def _built_bundle() -> str:
    import vl_convert

    return str(vl_convert.javascript_bundle(_SNIPPET))


def _write_whole(path: Path, content: bytes) -> None:
    """Two processes may build at once; neither ever sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    Path(name).replace(path)


def _standing_alone(chart: Chart, theme: Theme) -> dict[str, Any]:
    """The spec with what the page shows around it: its title and note, a width of its own, a ground."""
    spec: dict[str, Any] = resolved(chart.spec, theme)
    alone = spec | {
        "width": WIDTH,
        "padding": 12,
        "background": tokens(theme)["--surface"],
        "title": {
            "text": chart.title,
            "subtitle": chart.note,
            "anchor": "start",
            "color": tokens(theme)["--ink"],
            "subtitleColor": tokens(theme)["--ink-soft"],
            "offset": 12,
        },
    }
    shown: dict[str, Any] = drawable(alone)
    return shown


def drawable(part: Any) -> Any:
    """A spec without characters that act unseen, or that XML does not know: on one of those the renderer here ends the
    whole process."""
    if isinstance(part, dict):
        return {key: drawable(value) for key, value in part.items()}
    if isinstance(part, list):
        return [drawable(value) for value in part]
    return visible(part) if isinstance(part, str) else part
