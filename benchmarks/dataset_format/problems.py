"""Errors in datasets: a ``Fault`` has the path of the value, a ``Problem`` also the file and the line."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

Path = tuple[str | int, ...]
"""Keys and list positions from the top of the dataset to a value."""

_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]{0,63}", re.ASCII)


REPORTED: Final = object()
"""Replaces a scalar whose error is already listed, so that no check reports it a second time."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One error at a path.

    ``inner_line`` is the line within a text value, counted from 1; 0 if unknown. ``quotable`` says that quoting the
    YAML value would fix the error. ``first`` is the earlier path that has the same value. A
    ``reported`` fault is listed already and only marks the value as unusable.
    """

    path: Path
    message: str
    inner_line: int = 0
    quotable: bool = False
    first: Path | None = None
    reported: bool = False


class Invalid(ValueError):
    """What the check of a value raises: its faults, with paths relative to the value."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__(faults)
        self.faults = faults


@dataclass(frozen=True, slots=True)
class Problem:
    """One error in a file, at a line counted from 1. ``path`` is empty if the error concerns the whole file."""

    file: str
    line: int
    path: str
    message: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:"
        return f"{where} {self.path}: {self.message}" if self.path else f"{where} {self.message}"


def format_path(path: Path) -> str:
    """Format a path as ``tasks[3].expected_tools[0].name``; unusual keys are quoted and shortened."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{quoted(step)}]"
    return text


def quoted(text: str, limit: int = 60) -> str:
    """The text in double quotes on one line, with control characters escaped and long text shortened."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return printable(json.dumps(cut, ensure_ascii=False))


def printable(text: str, limit: int = 200) -> str:
    """Untrusted text for a message: on one line, with control characters escaped and long text shortened."""
    cut = text if len(text) <= limit else f"{text[: limit - 1]}…"
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in cut)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint at the closest known word, with a leading space; empty if none is close."""
    by_lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word[:64].strip().lower(), by_lower, n=1, cutoff=0.6)
    return f" (did you mean {by_lower[close[0]]}?)" if close else ""
