"""Reading the documents: their fenced blocks, tables and links."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[a-z]*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block, without the indentation of the list it may stand in."""

    language: str
    text: str


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(text: str, *languages: str) -> list[Block]:
    """The fenced blocks of these languages, or all, in order."""
    found = [
        Block(match["language"], re.sub(f"^{match['indent']}", "", match["text"], flags=re.MULTILINE))
        for match in _FENCE.finditer(text)
    ]
    return [block for block in found if not languages or block.language in languages]


def section(text: str, heading: str) -> str:
    """What stands under a heading (given with its #), up to the next of its own or a higher level."""
    level = len(heading) - len(heading.lstrip("#"))
    found = re.search(
        rf"^{re.escape(heading)}$\n(.*?)(?=^#{{1,{level}}} |\Z)", _without_fences(text), re.MULTILINE | re.DOTALL
    )
    assert found, f"there is no heading {heading!r}"
    return text[found.start(1) : found.end(1)]


def headings(text: str) -> list[str]:
    return re.findall(r"^#+ .+$", _without_fences(text), re.MULTILINE)


def table_rows(text: str) -> list[list[str]]:
    """Cells of all table rows but heads and rules, with the marks of code taken off."""
    lines = [line for line in _without_fences(text).splitlines() if line.startswith("|")]
    rules = [number for number, line in enumerate(lines) if set(line) <= set("|-: ")]
    skipped = {*rules, *(number - 1 for number in rules)}
    return [
        [cell.strip().strip("`") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for number, line in enumerate(lines)
        if number not in skipped
    ]


def links(text: str) -> list[str]:
    return re.findall(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)", _without_fences(text))


def pictures(text: str) -> list[str]:
    return re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", _without_fences(text))


def _without_fences(text: str) -> str:
    """The text with fenced blocks blanked out, every character in its place."""
    return _FENCE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
