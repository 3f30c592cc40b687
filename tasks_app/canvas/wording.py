"""The sentences of the original's texts, and ours of the same names, read back into what they say."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NAME = "([a-z]+ [a-z]+ [a-z]+)"
_DIRECTION = "(above left|above right|below left|below right|above|below|left|right)"

_COUNT = re.compile(r"There (?:is 1 shape|are [0-9]+ shapes) in a canvas")
_PRESENCE = re.compile(rf"There is a {_NAME} in the canvas")
_RELATION = re.compile(rf"A {_NAME} is (?:to the )?{_DIRECTION}(?: of)? this {_NAME}")
_CLAIM = re.compile(rf"(Above|Below|To the left of|To the right of) the {_NAME} is a {_NAME}")
_LINE = re.compile(r"From (top|bottom|left|right) to (?:top|bottom|left|right), (?:[0-9]+ of )?the shapes are (.+)")
_SWAP = re.compile(rf"The {_NAME} and the {_NAME} swap positions")
_ADDED = re.compile(rf"A {_NAME} is added to the canvas")
_REMOVED = re.compile(rf"The {_NAME} is removed from the canvas")

CLAIM_WORDS = {"Above": "above", "Below": "below", "To the left of": "left", "To the right of": "right"}
OPPOSITE_SIDES = {"top": "bottom", "bottom": "top", "left": "right", "right": "left"}

Claim = tuple[str, str, str]
"""(name, word, reference): `name` is above, below, left or right of `reference`."""

Change = tuple[str, bool]
"""(name, True if it is added, False if it is removed)."""


class UnreadableError(ValueError):
    """A text is not worded as the original's are."""


def sentences(text: str) -> list[str]:
    """Split a description into sentences without their full stops. Raises `UnreadableError` if it breaks off."""
    *complete, rest = text.split(". ")
    if rest:
        raise UnreadableError(rest)
    return complete


def read_relation(sentence: str) -> Claim | None:
    """Read a sentence of `full` or `partial`; the word is "above left" and the like. None if it is another sentence."""
    match = _RELATION.fullmatch(sentence)
    return (match[1], match[2], match[3]) if match else None


def read_claims(text: str) -> list[Claim]:
    """Read a `transitivity` description."""
    claims = []
    for sentence in sentences(text):
        if match := _CLAIM.fullmatch(sentence):
            claims.append((match[3], CLAIM_WORDS[match[1]], match[2]))
        elif not _COUNT.fullmatch(sentence) and not _PRESENCE.fullmatch(sentence):
            raise UnreadableError(sentence)
    return claims


def read_shuffle(text: str) -> tuple[str, list[str], list[tuple[str, str]]]:
    """Read a `shuffle_tracking` description as (side of the first shape, names in order, swaps in order)."""
    side, line, swaps = "", [], []
    for sentence in sentences(text):
        if match := _LINE.fullmatch(sentence):
            side, line = match[1], _read_line(match[2])
        elif match := _SWAP.fullmatch(sentence):
            swaps.append((match[1], match[2]))
        elif not _COUNT.fullmatch(sentence):
            raise UnreadableError(sentence)
    if not line:
        raise UnreadableError(text)
    return side, line, swaps


def _read_line(listed: str) -> list[str]:
    """Read "a red circle, a blue square, and a green triangle"; with two shapes there may be no comma."""
    names = []
    for part in re.split(r", and |, | and ", listed):
        match = re.fullmatch(f"an? {_NAME}", part)
        if match is None:
            raise UnreadableError(part)
        names.append(match[1])
    return names


def read_changes(text: str) -> list[Change]:
    """Read an `existence_tracking` description."""
    changes = []
    for sentence in sentences(text):
        added, removed = _ADDED.fullmatch(sentence), _REMOVED.fullmatch(sentence)
        if added:
            changes.append((added[1], True))
        elif removed:
            changes.append((removed[1], False))
        else:
            raise UnreadableError(sentence)
    return changes


def swapped(line: Sequence[str], swaps: Sequence[tuple[str, str]]) -> list[str]:
    """Return the line after the swaps. Raises `UnreadableError` if a swap names a shape that is not in it."""
    place = {name: index for index, name in enumerate(line)}
    for first, second in swaps:
        if first not in place or second not in place:
            raise UnreadableError(first if first not in place else second)
        place[first], place[second] = place[second], place[first]
    return sorted(place, key=lambda name: place[name])
