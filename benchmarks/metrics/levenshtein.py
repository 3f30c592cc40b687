from __future__ import annotations

from rapidfuzz.distance import Levenshtein as Distance

from benchmarks.metrics.base import DeterministicMetric, Item, Score
from benchmarks.metrics.extraction import Extraction, answer_body
from benchmarks.metrics.verdicts import metric_error, scored

MAX_CELLS = 4_000_000_000
"""Length of the one text times length of the other: about a second of work."""


class Levenshtein(DeterministicMetric):
    """1 minus the edit distance (insert, delete, replace) over the length of the longer text, in characters."""

    name = "levenshtein"
    title = "Edit similarity"
    description = "Normalised Levenshtein similarity of the answer and the expected text, in characters"
    needs = frozenset({"expected_output"})
    passes_at = 0.9
    fails_at = 0.3

    def score(self, item: Item) -> Score:
        whole = Extraction(answer_body(item.actual_output), "whole answer")
        expected = item.expected_output.strip()
        if len(expected) * len(whole.text) > MAX_CELLS:
            return metric_error(f"Too long to compare: {len(expected):,} with {len(whole.text):,} characters.", whole)
        distance = Distance.distance(expected, whole.text)
        longer = max(len(expected), len(whole.text), 1)
        return scored(1 - distance / longer, f"{distance:,} edits over {longer:,} characters.", whole)
