from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import partial

from benchmarks.metrics.base import DeterministicMetric, Item, Score, not_applicable, scored, unparsable
from benchmarks.metrics.contains import contains_words
from benchmarks.metrics.extraction import Extraction, How, reference_texts, same_spacing
from tasks_app.tasks.reply import Reading, deciding_body, read_reply, unwrap

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_ONLY_A_LETTER = re.compile(r"\(?([A-Za-z])[.):\]]{0,2}")
_LISTED = re.compile(r"(?m)^\W{0,6}([A-Z])[*_]{0,2}[.):][^\n]*\n?")
_SAID_YES = re.compile(r"\s?[-–—:(]\s?[*_]{0,2}(?:yes|correct|right|true)\b.*$", re.IGNORECASE | re.MULTILINE)
_SAID_NO = re.compile(r"[-–—:(]\s?[*_]{0,2}(?:no|incorrect|wrong|false|not)\b", re.IGNORECASE)
_NEGATED = re.compile(
    r"(?:\b(?:not|cannot|never|neither|nor|rather than|instead of|except|(?:every|any)thing but|all but)\b|n['’]t\b)"
    r"[^.,;:!?\n]*?(?=\bbut\b|[.,;:!?\n]|$)"
    r"|\b[A-Z]\)?(?: \w{1,20}){0,2} (?:is|are|was)(?: \w{1,20})?"
    r" (?:incorrect|wrong|false|not|out|excluded|eliminated|impossible|tempting)\b"
    r"|\b(?:eliminat|exclud|discard|ruling|rule)\w*\b[^.;!?\n]*?(?=\bleaves\b|[.;!?\n]|$)"
    r"|\b[A-Z][):]{0,2} ?(?:no|wrong|incorrect|false)\b"
    # "A and C are capitals of other countries" is about both, and picks neither.
    r"|\b[A-Z](?:, [A-Z]){0,8},? and [A-Z] (?:are|were)\b(?! (?:both )?(?:right|correct|true|possible|valid))"
    r"[^.;!?\n]{0,200}",
    re.IGNORECASE,
)
_DECLARED = re.compile(
    r"(?:(?<=option )|(?<=choice )|(?<=answer )|\b)\(?([A-Z])\)? is (?:the )?(?!not\b)(?:\w+ )?(?:correct|right)\b",
    re.IGNORECASE,
)
_CHOSEN = re.compile(
    r"\b(?:choose|pick|select|go with|(?:would|['’]d) say)\s(?:option\s|choice\s)?[(\[*\"]{0,3}([A-Z])(?=\W|$)"
)
_LETTER = re.compile(r"(?<![\w'’.-])([A-Z])(?![\w'’-])")
_ARTICLE_OR_PRONOUN = re.compile(r"(?:A|I)(?=\s(?!is\b|because\b|since\b|or\b|and\b|as\b)[a-z])")
_LOWER_CASE_LETTER = re.compile(r"(?:^|option |choice |\()([a-z])(?=[).:])")
_AFTER_LETTER = re.compile(r"[).:\],*_\s–—-]{1,6}")


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
        body = _without_listing(item.actual_output)
        reading = read_reply(body, partial(_picked_letters, choices=item.choices))
        if not reading.values:
            reading = read_reply(body, partial(_letters_of_contained_choices, choices=item.choices))
        if reading.is_open and len(declared := _declared_letters(body)) == 1:
            reading = Reading(frozenset(declared), body)
        extraction = Extraction(reading.text, How.DECIDING_TEXT)
        picked = sorted(reading.values)
        if len(picked) != 1:
            failure = "Several options picked" if picked else "No option picked"
            reason = f"The answer picks {' and '.join(picked) or 'no option'}."
            return unparsable(reason, extraction, failure=failure)
        reason = f"Expected {expected}, found {picked[0]}."
        return scored(picked[0] == expected, reason, extraction, failure="Picked a different option")


def _without_listing(output: str) -> str:
    """Leave out the options if the answer repeats them, each in its line; of a yes or no to each, keep the yes."""
    body = unicodedata.normalize("NFKC", deciding_body(output))
    verdicts = [line for line in body.split("\n") if _SAID_YES.search(line)]
    if len(verdicts) == 1 and _SAID_NO.search(body) and not _SAID_NO.search(verdicts[0]):
        return _SAID_YES.sub("", verdicts[0])
    listed = _LISTED.findall(body)
    return _LISTED.sub("", body) if len(listed) > 1 and len(listed) == len(set(listed)) else body


def _declared_letters(body: str) -> set[str]:
    """The options that any sentence of a reply calls right or chosen: "Option C is correct", "I would say C"."""
    text = _NEGATED.sub(" ", same_spacing(body))
    return {match.group(1).upper() for pattern in (_DECLARED, _CHOSEN) for match in pattern.finditer(text)}


def _picked_letters(text: str, choices: Sequence[str]) -> set[str]:
    """The options that a text picks by letter, or by being the text of one."""
    text = same_spacing(unwrap(text))
    if by_text := _letters_of_equal_choice(text, choices):
        return by_text
    valid = set(LETTERS[: len(choices)] if choices else LETTERS)
    only = _ONLY_A_LETTER.fullmatch(text)
    if only and only.group(1).upper() in valid:
        return {only.group(1).upper()}
    text = _NEGATED.sub(" ", text)
    _, but, after = text.rpartition(" but ")
    text = after if but and _LETTER.search(after) else text
    chosen = {match.group(1): match.end(1) for match in _CHOSEN.finditer(text)}
    alone = {
        match.group(1): match.end()
        for match in _LETTER.finditer(text)
        if not _ARTICLE_OR_PRONOUN.match(text, match.start())
    }
    lower_case = {match.group(1).upper(): match.end() for match in _LOWER_CASE_LETTER.finditer(text)}
    picked = {letter: end for letter, end in (chosen or lower_case | alone).items() if letter in valid}
    return set(picked).union(*(_letters_of_choice_at(text, end, choices) for end in picked.values()))


def _letters_of_choice_at(text: str, position: int, choices: Sequence[str]) -> set[str]:
    """The option whose text follows a letter: "A) Berlin" contradicts itself if Berlin is D."""
    separator = _AFTER_LETTER.match(text, position)
    rest = _plain(text[separator.end() :]) if separator else ""
    following = {
        letter: _plain(choice)
        for letter, choice in zip(LETTERS, choices, strict=False)
        if rest.startswith(_plain(choice)) and contains_words(rest[: len(_plain(choice)) + 2], _plain(choice))
    }
    longest = max(map(len, following.values()), default=0)
    return {letter for letter, choice in following.items() if len(choice) == longest}


def _expected_letter(item: Item) -> str | None:
    expected = same_spacing(reference_texts(item.expected_output)[0])
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
    text = _NEGATED.sub(" ", same_spacing(text))
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
