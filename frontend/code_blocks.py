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
_COMMAND = re.compile(r"^\$ (.*(?:\\\n.*)*)", re.MULTILINE)
"""What is typed behind a prompt, with the lines that go on."""
_COMMENT = re.compile(r"\s*#")
_KEY = re.compile(r"([ -]*)([\w.-]+)(?=:(?: |$))")
_BLOCK = re.compile(r":\s*[|>][+-]?\s*$")
"""The end of a line whose value is the text of the lines below it that are indented more."""


def code_block(name: str, text: str, *, language: str = "", is_copied: bool = True) -> SafeString:
    """``name`` is the id of the code; the keys of the languages ``yaml`` and ``json`` are marked. Of a ``console``, the
    command is copied, if it is the only one."""
    lines, shown = _LINES.get(language), visible(text)
    code: str = format_html_join("\n", "{}", ((line,) for line in lines(shown))) if lines else shown
    copied = name if is_copied else ""
    if language == "console" and len(commands := [*_COMMAND.finditer(shown)]) == 1:
        copied, (start, end) = f"{name}-command", commands[0].span(1)
        code = format_html('{}<span id="{}">{}</span>{}', shown[:start], copied, shown[start:end], shown[end:])
    button = format_html('<button type="button" data-copy="{}">Copy</button>', copied) if copied else ""
    return format_html(
        '<div class="code-block">{}<pre id="{}" tabindex="0"><code>{}</code></pre></div>', button, name, code
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
