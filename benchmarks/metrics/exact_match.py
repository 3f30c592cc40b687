from __future__ import annotations

import re

from benchmarks.metrics.base import DeterministicMetric, Item, Score, scored, shortened
from benchmarks.metrics.extraction import extract_text, same_spacing, unspaced, whole_answer

MAX_SPACING = 2_000
"""An answer that is longer than twice the expected text by more characters than these is not compared further."""

_EXPLANATION = re.compile(r",? (?:because|since) | \(")


class ExactMatch(DeterministicMetric):
    """1 if the whole answer, or the short answer extracted from it, equals the expected text.

    White space, a full stop at the end and an explanation after the answer ("Paris (France)", "Paris, because ...")
    do not matter; letter case and all other punctuation do. Unicode is normalized to NFC.
    """

    name = "exact_match"
    title = "Exact match"
    description = "The answer equals the expected text; differences in whitespace are ignored"
    needs = frozenset({"expected_output"})

    def score(self, item: Item) -> Score:
        expected = unspaced(item.expected_output)
        whole = whole_answer(item.actual_output)
        comparable = 2 * len(item.expected_output) + MAX_SPACING
        if len(whole.text) <= comparable and unspaced(whole.text) == expected:
            return scored(True, "The answer matches the expected text.", whole)
        extraction = extract_text(item.actual_output)
        answer = same_spacing(extraction.text[:comparable])
        if expected in {unspaced(answer), unspaced(_EXPLANATION.split(answer, maxsplit=1)[0])}:
            return scored(True, f"The {extraction.how} matches the expected text.", extraction)
        if not answer:
            return scored(False, "The answer is empty.", extraction)
        only_case = " Only the case differs." if unspaced(answer).casefold() == expected.casefold() else ""
        reason = f"Expected “{shortened(same_spacing(item.expected_output))}”, found “{shortened(answer)}”.{only_case}"
        return scored(False, reason, extraction, failure="Only the case differs" if only_case else "Different text")
