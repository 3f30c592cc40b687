"""Long and untrusted texts made fit for a page: excerpts, and the differences of two texts. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

EXCERPT_LENGTH = 6_000
DIFF_LENGTH = 6_000
"""Longest texts that are compared word by word; longer ones are shown side by side without marks."""
LEAST_ALIKE = 0.3
"""Texts less alike than this (as ``difflib`` measures it) would be marks all over."""
SHORT = 80
"""Texts up to this length are marked however different: a wrong word beside the right one is what is looked for."""

Segment = tuple[str, str]
"""``(kind, text)`` with kind ``same``, ``added`` or ``removed``."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The beginning of a text, and how many characters of it are not shown."""

    text: str
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Difference:
    """Two texts with their differences marked: what only the left one has is ``removed``, only the right ``added``."""

    left: tuple[Segment, ...]
    right: tuple[Segment, ...]
    equal: bool


def excerpt(text: str, length: int = EXCERPT_LENGTH) -> Excerpt:
    return Excerpt(text[:length], max(0, len(text) - length))


def difference(left: str, right: str) -> Difference | None:
    """Compare word by word; ``None`` where a text is too long for that or the two have too little in common."""
    if max(len(left), len(right)) > DIFF_LENGTH:
        return None
    a, b = _words(left), _words(right)
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    if matcher.ratio() < LEAST_ALIKE and max(len(left), len(right)) > SHORT:
        return None
    blocks = matcher.get_opcodes()
    return Difference(
        left=tuple(_side([(tag == "equal", start, end) for tag, start, end, _, _ in blocks], a, "removed")),
        right=tuple(_side([(tag == "equal", start, end) for tag, _, _, start, end in blocks], b, "added")),
        equal=left == right,
    )


def _words(text: str) -> list[str]:
    """Words, runs of whitespace and single signs; joined they are the text again."""
    return re.findall(r"\w+|\s+|[^\w\s]", text)


def _side(blocks: list[tuple[bool, int, int]], tokens: list[str], kind: str) -> Iterator[Segment]:
    for equal, start, end in blocks:
        if start < end:
            yield ("same" if equal else kind, "".join(tokens[start:end]))
