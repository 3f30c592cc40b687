from __future__ import annotations

import re

from benchmarks.metrics.base import DeterministicMetric, Item, Score, scored, shortened
from benchmarks.metrics.extraction import extract_text, reference_texts, same_spacing, unspaced, whole_answer
from tasks_app.tasks.reply import layers

MAX_SPACING = 2_000
"""An answer that is longer than twice the expected text by more characters than these is not compared further."""

_EXPLANATION = re.compile(r",? (?:because|since) | \(")


class ExactMatch(DeterministicMetric):
    """1 if the whole answer, or the short answer extracted from it, equals the expected text.

    White space, "Answer:" before either text, a full stop at the end, emphasis and quotes around the answer and an
    explanation after it ("Paris (France)", "Paris, because ...") do not matter; letter case and all other punctuation
    do, also quotes in the expected text. Unicode is normalized to NFC.
    """

    name = "exact_match"
    title = "Exact match"
    description = "The answer equals the expected text; differences in whitespace are ignored"
    needs = frozenset({"expected_output"})

    def score(self, item: Item) -> Score:
        references = reference_texts(item.expected_output)
        expected = {unspaced(text) for text in references}
        whole = whole_answer(item.actual_output)
        comparable = 2 * len(item.expected_output) + MAX_SPACING
        if len(whole.text) <= comparable and unspaced(whole.text) in expected:
            return scored(True, "The answer matches the expected text.", whole)
        extraction = extract_text(item.actual_output)
        written = [same_spacing(text[:comparable]) for text in extraction.layers]
        explained = [text for layer in written for text in layers(_EXPLANATION.split(layer, maxsplit=1)[0])]
        if not expected.isdisjoint(map(unspaced, [*written, *explained])):
            return scored(True, f"The {extraction.how} matches the expected text.", extraction)
        answer = same_spacing(extraction.text[:comparable])
        if not answer:
            return scored(False, "The answer is empty.", extraction)
        folded = {text.casefold() for text in expected}
        only_case = " Only the case differs." if unspaced(answer).casefold() in folded else ""
        reason = f"Expected “{shortened(same_spacing(references[0]))}”, found “{shortened(answer)}”.{only_case}"
        return scored(False, reason, extraction, failure="Only the case differs" if only_case else "Different text")
