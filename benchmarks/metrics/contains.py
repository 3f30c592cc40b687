from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from benchmarks.metrics.base import DeterministicMetric, Item, Score, scored, shortened, unparsable
from benchmarks.metrics.extraction import reference_texts, same_spacing, whole_answer
from tasks_app.tasks.reply import CJK

_UNDECIDED = re.compile(
    r"(?:\b(?:not|cannot|unable to|unclear|unsure|uncertain)\b|n['’]t\b)[^.,;:!?\n]{0,40}\b(?:whether|if)\b"
    r"[^.,;:!?\n]{1,200}",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"\b(?:not(?! only)|never|cannot|rather than|instead of|nicht|keine?n?|no (?:es|son|fue)|n['’]est pas)\b|n['’]t\b"
    r"|不是|并非",
    re.IGNORECASE,
)
_ALTERNATIVE = re.compile(r"\b(?:or|oder|ou|o)\b|或|または", re.IGNORECASE)
MAX_BARE = 6
"""Words of a reply in which an alternative leaves the answer open: "Paris or Lyon"."""


class Contains(DeterministicMetric):
    """1 if the expected text occurs in the answer as whole words, ignoring case and spacing.

    Whole words: ``4`` is not in ``42`` or ``-4``, and ``no`` is not in ``know``. Thinking blocks, and "Answer:" before
    the expected text and a full stop at its end, are not read. An occurrence right after a negation ("it isn't Paris",
    "rather than Paris") or in what the answer leaves open ("I can't say whether it is Paris") does not count, unless
    the expected text has one. A short answer with alternatives ("Paris or Lyon") is unparsable.
    """

    name = "contains"
    title = "Contains"
    description = "The answer contains the expected text as whole words, ignoring case"
    needs = frozenset({"expected_output"})

    def score(self, item: Item) -> Score:
        answer = whole_answer(item.actual_output)
        references = [same_spacing(text) for text in reference_texts(item.expected_output)]
        text, expected = same_spacing(answer.text), references[0]
        stated = text if _NEGATION.search(expected) else _without_negated(text, references)
        if any(contains_words(stated, words) for words in references):
            if len(text.split()) <= MAX_BARE and _ALTERNATIVE.search(text) and not _ALTERNATIVE.search(expected):
                return unparsable("The answer names alternatives.", answer, failure="Several answers")
            return scored(True, f"The answer contains “{shortened(expected)}”.", answer)
        if not answer.text:
            return scored(False, "The answer is empty.", answer)
        return scored(
            False,
            f"The answer does not contain “{shortened(expected)}” as whole words.",
            answer,
            "Expected text not found",
        )


def _without_negated(text: str, references: Sequence[str]) -> str:
    """The text without the references that follow a negation with at most two words between."""
    wanted = "|".join(re.escape(words) for words in references if words)
    negated = re.compile(
        rf"(?:{_NEGATION.pattern})(?:\s\w+){{0,2}}?[^\w.,;:!?]{{0,4}}(?:{wanted})(?!\w)"
        rf"|(?<!\w)(?:{wanted}) (?:is|was|are|were|does|do|did|would|can)(?: not\b|n['’]t\b)"
        rf"|\bno (?:{wanted})(?!\w)|(?:{wanted})\W{{0,2}}(?:では(?:な|あ)|じゃな)",
        re.IGNORECASE,
    )
    return negated.sub(" ", _UNDECIDED.sub(" ", text)) if wanted else text


def contains_words(text: str, words: str) -> bool:
    """Whether ``words`` occurs in ``text`` without cutting a word or a number, ignoring case."""
    return any(occurrences(text, words))


def occurrences(text: str, words: str) -> Iterator[Literal[True]]:
    """Yield ``True`` for each place at which ``words`` occurs so; places do not overlap."""
    text, words = text.casefold(), words.casefold()
    start = text.find(words) if words else -1
    while start >= 0:
        end = start + len(words)
        is_whole = not _is_inside_word(text, start) and not _is_inside_word(text, end)
        if is_whole:
            yield True
        start = text.find(words, end if is_whole else start + 1)


def _is_inside_word(text: str, position: int) -> bool:
    """Whether a word or a number continues across ``position`` (``3.5`` and ``-5`` are one number, ``5.`` is not)."""
    if position <= 0 or position >= len(text):
        return False
    before, after = text[position - 1], text[position]
    if CJK.match(before) or CJK.match(after):
        return False
    if before.isalnum() and after.isalnum():
        return True
    if before in "-−" and after.isdigit():  # a sign, unless something stands before it: "3-5", "A-5"
        return position < 2 or not (text[position - 2].isalnum() or text[position - 2] in ")]")
    if after in ".,/:" and before.isdigit():
        return text[position + 1 : position + 2].isdigit()
    return before in ".,/:" and after.isdigit() and position >= 2 and text[position - 2].isdigit()
