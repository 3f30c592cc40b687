from __future__ import annotations

import re
from collections.abc import Sequence

from benchmarks.metrics.base import DeterministicMetric, Item, Score
from benchmarks.metrics.contains import contains_words
from benchmarks.metrics.extraction import extract_text, same_spacing, unwrap
from benchmarks.metrics.verdicts import not_applicable, passed_or_not, unparsable

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_ONLY_A_LETTER = re.compile(r"\(?([A-Za-z])[.):\]]{0,2}")
_LETTER_FIRST = re.compile(r"(?:\(([A-Z])\)|\[([A-Z])\]|([A-Z])[.):]|([A-Z])\s[-–—]\s)")
_NAMED_LETTER = re.compile(r"\b(?:option|choice|answer)(?: is)?:?\s?[(\[*]{0,3}([A-Z])\b", re.IGNORECASE)
_LETTER_ALONE = re.compile(r"(?<![\w'’])([A-Z])(?=[.,;:!?)\]*/]|\s(?:or|and)\s|$)")


class MultipleChoice(DeterministicMetric):
    """1 where the answer chooses the expected option, by its letter or by its text.

    The options are the task's ``choices`` (A is the first); without them the expected output must be a letter. An
    answer that chooses none, or two, is unparsable and not wrong.
    """

    name = "multiple_choice"
    title = "Multiple choice"
    description = "The answer chooses the expected option, by letter or by text"
    needs = frozenset({"expected_output"})

    def applies_to(self, item: Item) -> bool:
        return _expected_letter(item) is not None

    def score(self, item: Item) -> Score:
        expected = _expected_letter(item)
        if expected is None:
            return not_applicable("The expected output is neither a letter nor one of the task's choices.")
        extraction = extract_text(item.actual_output)
        chosen = chosen_letters(extraction.text, item.choices)
        if len(chosen) != 1:
            said = f"chooses {' and '.join(sorted(chosen))}" if chosen else "chooses no option"
            return unparsable(f"The answer {said}.", extraction)
        (letter,) = chosen
        return passed_or_not(letter == expected, f"Expected {expected}, the answer chooses {letter}.", extraction)


def chosen_letters(text: str, choices: Sequence[str]) -> set[str]:
    """The letters of the options that a short answer chooses, by the first rule that finds any."""
    text = same_spacing(unwrap(text))[-2_000:]
    valid = LETTERS[: len(choices)] if choices else LETTERS
    by_text = _letters_of_equal_choice(text, choices)
    if by_text:
        return by_text
    only = _ONLY_A_LETTER.fullmatch(text)
    if only and only.group(1).upper() in valid:
        return {only.group(1).upper()}
    named = _LETTER_FIRST.match(text) or _NAMED_LETTER.search(text)
    first = next((group for group in named.groups() if group), "").upper() if named else ""
    named_letters = {match.upper() for match in _NAMED_LETTER.findall(text)} | ({first} if first else set())
    return (
        (named_letters & set(valid))
        or (set(_LETTER_ALONE.findall(text)) & set(valid))
        or _letters_of_named_choices(text, choices)
    )


def _expected_letter(item: Item) -> str | None:
    expected = same_spacing(item.expected_output)
    by_text = _letters_of_equal_choice(expected, item.choices)
    if len(by_text) == 1:
        return by_text.pop()
    only = _ONLY_A_LETTER.fullmatch(expected)
    valid = LETTERS[: len(item.choices)] if item.choices else LETTERS
    return only.group(1).upper() if only and only.group(1).upper() in valid else None


def _letters_of_equal_choice(text: str, choices: Sequence[str]) -> set[str]:
    plain = _compared(text)
    return {letter for letter, choice in zip(LETTERS, choices, strict=False) if plain and _compared(choice) == plain}


def _letters_of_named_choices(text: str, choices: Sequence[str]) -> set[str]:
    """Options whose text occurs in the answer, save those that only occur inside a longer one that does too."""
    named = {
        letter: _compared(choice)
        for letter, choice in zip(LETTERS, choices, strict=False)
        if contains_words(text, _compared(choice))
    }
    return {
        letter
        for letter, choice in named.items()
        if not any(choice != other and contains_words(other, choice) for other in named.values())
    }


def _compared(text: str) -> str:
    return same_spacing(text).rstrip(".").casefold()
