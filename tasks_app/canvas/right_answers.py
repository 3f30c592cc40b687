"""The correct answers to the questions of the original's six tasks, worked out from what each is asked of.

`existence`, `count` and `coordinate` ask about the shapes; the other three about their task's own description.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from tasks_app.canvas.descriptions import direction
from tasks_app.canvas.original import Answer, OriginalCanvas
from tasks_app.canvas.shapes import Shape
from tasks_app.canvas.wording import (
    OPPOSITE_SIDES,
    Claim,
    UnreadableError,
    read_changes,
    read_claims,
    read_shuffle,
    swapped,
)

_SIDE = r" (?:with its|have their) center (above|below|left|right)(?: of)? that of the ([a-z ]+)"
_EXISTENCE = re.compile(rf"Is there a (?:shape that is )?([a-z ]+?)(?:{_SIDE})?\?")
_COUNT = re.compile(rf"How many ([a-z ]+?)s(?: are there|{_SIDE})\?")
_RELATIVE = re.compile(r"Where is the ([a-z ]+) relative to the ([a-z ]+)\?")
_TRACKED = re.compile(rf"Is there a ([a-z ]+?)(?:{_SIDE})? in the canvas\? ?")
_PLACE = re.compile(r"What shape is ([a-z-]+) from the (top|bottom|left|right)(?: of these [0-9]+)?\?")

ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth",
    "twentieth", "twenty-first", "twenty-second", "twenty-third", "twenty-fourth",
)  # fmt: skip
_OPPOSITES = {"above": "below", "below": "above", "left": "right", "right": "left"}


@dataclass(frozen=True, slots=True)
class RightAnswer:
    """`answer` is None where the description does not determine it.

    `effortless`: the answer can be read off (a stated relation), or is the same if every change is ignored.
    """

    answer: Answer | None
    effortless: bool = False


def existence(question: str, document: OriginalCanvas) -> RightAnswer:
    match = _match(_EXISTENCE, question)
    return RightAnswer(_yes_or_no(_count(match[1], _names_beyond(match, document)) > 0))


def count(question: str, document: OriginalCanvas) -> RightAnswer:
    match = _match(_COUNT, question)
    return RightAnswer(_count(match[1], _names_beyond(match, document)))


def coordinate(question: str, document: OriginalCanvas) -> RightAnswer:
    shape, reference = pair_asked_about(question, document)
    return RightAnswer(direction(shape, reference).title())


def transitivity(question: str, document: OriginalCanvas) -> RightAnswer:
    match = _match(_RELATIVE, question)
    claims = read_claims(_own_description("transitivity", document))
    known = {name for claim in claims for name in (claim[0], claim[2])}
    if not {match[1], match[2]} <= known:
        raise UnreadableError(question)
    directions = [word for word in _OPPOSITES if _follows(claims, match[1], word, match[2])]
    stated = any({match[1], match[2]} == {name, reference} for name, _, reference in claims)
    return RightAnswer(directions[0].title() if len(directions) == 1 else None, stated)


def existence_tracking(question: str, document: OriginalCanvas) -> RightAnswer:
    match = _match(_TRACKED, question)
    before = set(_names_beyond(match, document))
    after = set(before)
    for changed, added in read_changes(_own_description("existence_tracking", document)):
        (after.add if added else after.discard)(changed)
    was_there, is_there = (_count(match[1], names) > 0 for names in (before, after))
    return RightAnswer(_yes_or_no(is_there), was_there == is_there)


def shuffle_tracking(question: str, document: OriginalCanvas) -> RightAnswer:
    match = _match(_PLACE, question)
    side, before, swaps = read_shuffle(_own_description("shuffle_tracking", document))
    after = swapped(before, swaps)
    if match[1] not in ORDINALS[: len(before)] or match[2] not in (side, OPPOSITE_SIDES[side]):
        raise UnreadableError(question)
    place = ORDINALS.index(match[1])
    index = place if match[2] == side else len(before) - 1 - place
    return RightAnswer(after[index], before[index] == after[index])


RIGHT_ANSWERS: dict[str, Callable[[str, OriginalCanvas], RightAnswer]] = {
    "existence": existence,
    "count": count,
    "transitivity": transitivity,
    "coordinate": coordinate,
    "existence_tracking": existence_tracking,
    "shuffle_tracking": shuffle_tracking,
}
"""By task name. Each takes a question and its document, and raises `UnreadableError` if it cannot read them."""


def pair_asked_about(question: str, document: OriginalCanvas) -> tuple[Shape, Shape]:
    """Return (shape, reference) of "Where is the … relative to the …?"."""
    match = _match(_RELATIVE, question)
    by_name = {shape.name: shape for shape in document.shapes}
    if match[1] not in by_name or match[2] not in by_name:
        raise UnreadableError(question)
    return by_name[match[1]], by_name[match[2]]


def _match(pattern: re.Pattern[str], question: str) -> re.Match[str]:
    match = pattern.fullmatch(question)
    if match is None:
        raise UnreadableError(question)
    return match


def _own_description(name: str, document: OriginalCanvas) -> str:
    if name not in document.descriptions:
        raise UnreadableError(f"there is no {name} description")
    return document.descriptions[name]


def _yes_or_no(truth: bool) -> str:
    return "Yes" if truth else "No"


def _names_beyond(match: re.Match[str], document: OriginalCanvas) -> list[str]:
    """Name the shapes a question is about: all, or those on one side of another."""
    if match[2] is None:
        return [shape.name for shape in document.shapes]
    reference = next((shape for shape in document.shapes if shape.name == match[3]), None)
    if reference is None:
        raise UnreadableError(match[0])
    return [shape.name for shape in document.shapes if match[2] in direction(shape, reference).split()]


def _count(wanted: str, names: Collection[str]) -> int:
    """Count the shapes with every wanted property, such as "large red shape" or "blue"."""
    properties = set(wanted.split()) - {"shape"}
    return sum(properties <= set(name.split()) for name in names)


def _follows(claims: Collection[Claim], name: str, word: str, reference: str) -> bool:
    """Tell whether a chain of claims, read either way round, puts `name` on the `word` side of `reference`."""
    beyond: dict[str, set[str]] = {}
    for subject, stated, other in claims:
        if stated == word:
            beyond.setdefault(other, set()).add(subject)
        elif stated == _OPPOSITES[word]:
            beyond.setdefault(subject, set()).add(other)
    reached: set[str] = set()
    pending = [reference]
    while pending:
        news = beyond.get(pending.pop(), set()) - reached
        reached |= news
        pending += news
    return name in reached
