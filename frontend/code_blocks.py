"""Code on a page: lines stay lines, a button copies them, and the keys and comments of YAML are told apart."""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from benchmarks.presentation.texts import visible

_COMMENT = re.compile(r"\s*#")
_KEY = re.compile(r"([ -]*)([\w.-]+)(?=:(?: |$))")
_BLOCK = re.compile(r":\s*[|>][+-]?\s*$")
"""The end of a line whose value is the text of the lines below it that are indented more."""


def code_block(name: str, text: str, *, is_yaml: bool = False, is_copied: bool = True) -> SafeString:
    """``name`` is the id of the code."""
    button = SafeString("")
    if is_copied:
        button = format_html('<button type="button" data-copy="{}">Copy</button>', name)
    return format_html(
        '<div class="code-block">{}<pre id="{}" tabindex="0"><code>{}</code></pre></div>',
        *(button, name, _marked(visible(text)) if is_yaml else visible(text)),
    )


def _marked(text: str) -> SafeString:
    return format_html_join("\n", "{}", ((line,) for line in _lines(text)))


def _lines(text: str) -> Iterator[SafeString | str]:
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
