from __future__ import annotations

from rapidfuzz.distance import Levenshtein as Distance

from benchmarks.metrics.base import DeterministicMetric, Item, Score, metric_error, scored
from benchmarks.metrics.extraction import whole_answer

MAX_CELLS = 4_000_000_000
"""Product of the two lengths: about a second of work."""


class Levenshtein(DeterministicMetric):
    """1 minus the edit distance (insert, delete, replace) over the length of the longer text, in characters."""

    name = "levenshtein"
    title = "Edit similarity"
    description = "Normalized Levenshtein similarity of answer and expected text, by character"
    needs = frozenset({"expected_output"})
    passes_at = 0.9
    fails_at = 0.3

    def score(self, item: Item) -> Score:
        answer = whole_answer(item.actual_output)
        expected = item.expected_output.strip()
        if len(expected) * len(answer.text) > MAX_CELLS:
            return metric_error(f"Too long to compare: {len(expected):,} and {len(answer.text):,} characters.", answer)
        distance = Distance.distance(expected, answer.text)
        longer = max(len(expected), len(answer.text), 1)
        return scored(1 - distance / longer, f"{distance:,} edits in {longer:,} characters.", answer)
