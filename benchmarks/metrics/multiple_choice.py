from __future__ import annotations

import re
from collections.abc import Sequence

from benchmarks.metrics.base import DeterministicMetric, Item, Score, not_applicable, scored, unparsable
from benchmarks.metrics.contains import contains_words
from benchmarks.metrics.extraction import extract_text, same_spacing, unwrap

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_ONLY_A_LETTER = re.compile(r"\(?([A-Za-z])[.):\]]{0,2}")
_LETTER_FIRST = re.compile(r"(?:\(([A-Z])\)|\[([A-Z])\]|([A-Z])[.):]|([A-Z])\s[-–—]\s)")
_NAMED_LETTER = re.compile(r"\b(?:option|choice|answer)(?: is)?:?\s?[(\[*]{0,3}([A-Z])\b", re.IGNORECASE)
_LETTER_ALONE = re.compile(r"(?<![\w'’])([A-Z])(?=[.,;:!?)\]*/]|\s(?:or|and)\s|$)")


class MultipleChoice(DeterministicMetric):
    """1 if the answer picks the expected option, by its letter or by its text.

    The options are the task's ``choices`` (A is the first); without them the expected answer must be a letter. An
    answer that picks none, or two, is unparsable and not wrong.
    """

    name = "multiple_choice"
    title = "Multiple choice"
    description = "The answer picks the expected option, by letter or by text"
    needs = frozenset({"expected_output"})

    def applies_to(self, item: Item) -> bool:
        return _expected_letter(item) is not None

    def score(self, item: Item) -> Score:
        expected = _expected_letter(item)
        if expected is None:
            return not_applicable("The expected answer is neither a letter nor one of the task's choices.")
        extraction = extract_text(item.actual_output)
        picked = sorted(_picked_letters(extraction.text, item.choices))
        if len(picked) != 1:
            return unparsable(f"The answer picks {' and '.join(picked) or 'no option'}.", extraction)
        return scored(picked[0] == expected, f"Expected {expected}, found {picked[0]}.", extraction)


def _picked_letters(text: str, choices: Sequence[str]) -> set[str]:
    """The letters of the options that a short answer picks, by the first rule that matches any."""
    text = same_spacing(unwrap(text))[-2_000:]
    if by_text := _letters_of_equal_choice(text, choices):
        return by_text
    valid = set(LETTERS[: len(choices)] if choices else LETTERS)
    only = _ONLY_A_LETTER.fullmatch(text)
    if only and only.group(1).upper() in valid:
        return {only.group(1).upper()}
    named = {match.upper() for match in _NAMED_LETTER.findall(text)}
    if first := _LETTER_FIRST.match(text):
        named |= {group for group in first.groups() if group}
    return (named & valid) or (set(_LETTER_ALONE.findall(text)) & valid) or _letters_of_contained_choices(text, choices)


def _expected_letter(item: Item) -> str | None:
    expected = same_spacing(item.expected_output)
    by_text = _letters_of_equal_choice(expected, item.choices)
    if len(by_text) == 1:
        return by_text.pop()
    only = _ONLY_A_LETTER.fullmatch(expected)
    valid = LETTERS[: len(item.choices)] if item.choices else LETTERS
    return only.group(1).upper() if only and only.group(1).upper() in valid else None


def _letters_of_equal_choice(text: str, choices: Sequence[str]) -> set[str]:
    plain = _plain(text)
    return {letter for letter, choice in zip(LETTERS, choices, strict=False) if plain and _plain(choice) == plain}


def _letters_of_contained_choices(text: str, choices: Sequence[str]) -> set[str]:
    """Options whose text occurs in the answer, except those that only occur inside a longer one that does too."""
    contained = {
        letter: _plain(choice)
        for letter, choice in zip(LETTERS, choices, strict=False)
        if contains_words(text, _plain(choice))
    }
    return {
        letter
        for letter, choice in contained.items()
        if not any(choice != other and contains_words(other, choice) for other in contained.values())
    }


def _plain(text: str) -> str:
    return same_spacing(text).rstrip(".").casefold()
