from __future__ import annotations

from benchmarks.metrics.base import DeterministicMetric, Item, Score
from benchmarks.metrics.extraction import Extraction, answer_body, extract_text, same_spacing
from benchmarks.metrics.verdicts import passed_or_not, shortened


class ExactMatch(DeterministicMetric):
    """1 where the whole answer, or the answer extracted from it, is the expected text letter for letter.

    White space is made one space and Unicode NFC; letter case and punctuation count.
    """

    name = "exact_match"
    title = "Exact match"
    description = "The answer is the expected text letter for letter, white space aside"
    needs = frozenset({"expected_output"})

    def score(self, item: Item) -> Score:
        expected = same_spacing(item.expected_output)
        whole = Extraction(answer_body(item.actual_output), "whole answer")
        if same_spacing(whole.text) == expected:
            return passed_or_not(True, "The answer is the expected text.", whole)
        extraction = extract_text(item.actual_output)
        found = same_spacing(extraction.text)
        if found == expected:
            return passed_or_not(True, f"The {extraction.how} is the expected text.", extraction)
        if not found:
            return passed_or_not(False, "The answer is empty.", extraction)
        only_case = " They differ in letter case only." if found.casefold() == expected.casefold() else ""
        reason = f"Expected “{shortened(expected)}”, found “{shortened(found)}”.{only_case}"
        return passed_or_not(False, reason, extraction)
