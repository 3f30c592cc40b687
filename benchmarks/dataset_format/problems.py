"""How mistakes are told: a ``Fault`` by path while values are checked, a ``Problem`` by file and line for people."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

Path = tuple[str | int, ...]
"""Keys and list positions from the top of the dataset to a value."""

_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]{0,63}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Fault:
    """One mistake at a path, not yet at a line.

    ``inner_line`` counts lines inside a text value from 1 (0: not told). ``quotable`` says that quoting the value in
    YAML would mend it, ``first`` names an earlier place that this one collides with. A fault that is ``told`` was
    reported while the YAML was read: it only keeps the value from being used.
    """

    path: Path
    message: str
    inner_line: int = 0
    quotable: bool = False
    first: Path | None = None
    told: bool = False


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a file, at a line counted from 1. ``path`` is empty where the file as a whole is meant."""

    file: str
    line: int
    path: str
    message: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:"
        return f"{where} {self.path}: {self.message}" if self.path else f"{where} {self.message}"


def format_path(path: Path) -> str:
    """Write a path as ``tasks[3].expected_tools[0].name``; keys that are no plain names are quoted and shortened."""
    written = ""
    for step in path:
        if isinstance(step, int):
            written += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            written += f".{step}" if written else step
        else:
            written += f"[{quoted(step)}]"
    return written


def quoted(text: str, limit: int = 60) -> str:
    """Write text in double quotes on one line, with control characters escaped and long text shortened."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return printable(json.dumps(cut, ensure_ascii=False))


def printable(text: str, limit: int = 200) -> str:
    """Text of others for a message: on one line, with control characters escaped and long text shortened."""
    cut = text if len(text) <= limit else f"{text[: limit - 1]}…"
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in cut)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint at the closest known word, with a space before it, or nothing where none is close."""
    by_lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word[:64].strip().lower(), by_lower, n=1, cutoff=0.6)
    return f" (did you mean {by_lower[close[0]]}?)" if close else ""
