"""Code on a page: lines stay lines, a button copies them, and keys are told apart, as are comments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from benchmarks.presentation.texts import visible

_NAME = re.compile(r'(\s*)("(?:[^"\\]|\\.)*")(?=:)')
"""The name of a JSON field at the beginning of a line."""
_NUMBERS = re.compile(r"\[\s*(-?[\d.]+(?:,\s*-?[\d.]+)*)\s*\]")
"""A list of numbers, which needs no line for each."""
_COMMENT = re.compile(r"\s*#")
_KEY = re.compile(r"([ -]*)([\w.-]+)(?=:(?: |$))")
_BLOCK = re.compile(r":\s*[|>][+-]?\s*$")
"""The end of a line whose value is the text of the lines below it that are indented more."""


def code_block(name: str, text: str, *, language: str = "", is_copied: bool = True) -> SafeString:
    """``name`` is the id of the code; the keys of the languages ``yaml`` and ``json`` are marked."""
    button = SafeString("")
    if is_copied:
        button = format_html('<button type="button" data-copy="{}">Copy</button>', name)
    lines = _LINES.get(language)
    shown = visible(text)
    return format_html(
        '<div class="code-block">{}<pre id="{}" tabindex="0"><code>{}</code></pre></div>',
        *(button, name, format_html_join("\n", "{}", ((line,) for line in lines(shown))) if lines else shown),
    )


def _json_lines(text: str) -> Iterator[SafeString | str]:
    for line in _NUMBERS.sub(lambda numbers: f"[{' '.join(numbers[1].split())}]", text).split("\n"):
        key = _NAME.match(line)
        yield format_html("{}<b>{}</b>{}", key[1], key[2], line[key.end() :]) if key else line


def _yaml_lines(text: str) -> Iterator[SafeString | str]:
    block: int | None = None
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        if block is not None and (not line.strip() or indent > block):
            yield line
            continue
        key = _KEY.match(line)
        block = len(key[1]) if key and _BLOCK.search(line) else None
        if key:
            yield format_html("{}<b>{}</b>{}", key[1], key[2], line[key.end() :])
        else:
            yield format_html("<i>{}</i>", line) if _COMMENT.match(line) else line


_LINES: dict[str, Callable[[str], Iterator[SafeString | str]]] = {"yaml": _yaml_lines, "json": _json_lines}
