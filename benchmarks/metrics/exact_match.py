from __future__ import annotations

from benchmarks.metrics.base import DeterministicMetric, Item, Score, scored, shortened
from benchmarks.metrics.extraction import extract_text, same_spacing, whole_answer


class ExactMatch(DeterministicMetric):
    """1 if the whole answer, or the short answer extracted from it, equals the expected text.

    White space is collapsed and Unicode is normalized to NFC; letter case and punctuation count.
    """

    name = "exact_match"
    title = "Exact match"
    description = "The answer equals the expected text; differences in whitespace are ignored"
    needs = frozenset({"expected_output"})

    def score(self, item: Item) -> Score:
        expected = same_spacing(item.expected_output)
        whole = whole_answer(item.actual_output)
        if same_spacing(whole.text) == expected:
            return scored(True, "The answer matches the expected text.", whole)
        extraction = extract_text(item.actual_output)
        answer = same_spacing(extraction.text)
        if answer == expected:
            return scored(True, f"The {extraction.how} matches the expected text.", extraction)
        if not answer:
            return scored(False, "The answer is empty.", extraction)
        only_case = " Only the case differs." if answer.casefold() == expected.casefold() else ""
        reason = f"Expected “{shortened(expected)}”, found “{shortened(answer)}”.{only_case}"
        return scored(False, reason, extraction)
