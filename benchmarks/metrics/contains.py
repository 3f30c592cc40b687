from __future__ import annotations

from benchmarks.metrics.base import DeterministicMetric, Item, Score
from benchmarks.metrics.extraction import Extraction, answer_body, same_spacing
from benchmarks.metrics.verdicts import passed_or_not, shortened


class Contains(DeterministicMetric):
    """1 where the expected text occurs in the answer as whole words, letter case and spacing aside.

    Whole words: ``4`` is not in ``42`` and ``no`` is not in ``know``. Thinking blocks are no part of the answer.
    """

    name = "contains"
    title = "Contains"
    description = "The expected text occurs in the answer as whole words, in any letter case"
    needs = frozenset({"expected_output"})

    def score(self, item: Item) -> Score:
        whole = Extraction(answer_body(item.actual_output), "whole answer")
        expected = same_spacing(item.expected_output)
        if contains_words(same_spacing(whole.text), expected):
            return passed_or_not(True, f"The answer contains “{shortened(expected)}”.", whole)
        if not whole.text:
            return passed_or_not(False, "The answer is empty.", whole)
        return passed_or_not(False, f"The answer does not contain “{shortened(expected)}” as whole words.", whole)


def contains_words(text: str, words: str) -> bool:
    """Whether ``words`` occurs in ``text`` without cutting a word or a number, ignoring case."""
    text, words = text.casefold(), words.casefold()
    if not words:
        return False
    start = text.find(words)
    while start >= 0:
        end = start + len(words)
        if not _joined(text, start) and not _joined(text, end):
            return True
        start = text.find(words, start + 1)
    return False


def _joined(text: str, position: int) -> bool:
    """Whether a word or a number runs across ``position`` (``3.5`` is one number, ``5.`` is not)."""
    if position <= 0 or position >= len(text):
        return False
    before, after = text[position - 1], text[position]
    if before.isalnum() and after.isalnum():
        return True
    if after in ".," and before.isdigit():
        return text[position + 1 : position + 2].isdigit()
    return before in ".," and after.isdigit() and text[max(position - 2, 0)].isdigit() and position >= 2
