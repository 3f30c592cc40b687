from __future__ import annotations

import re

from rapidfuzz.distance import LCSseq

from benchmarks.metrics.base import DeterministicMetric, Item, Score
from benchmarks.metrics.extraction import Extraction, answer_body
from benchmarks.metrics.verdicts import not_applicable, scored

MAX_TOKENS = 50_000

_NO_TOKEN = re.compile(r"[^a-z0-9]+")


class RougeL(DeterministicMetric):
    """ROUGE-L F1 (Lin 2004): twice the longest common subsequence of words over the words of both texts.

    Words are runs of a-z and 0-9 in lower case, without stemming, as in Google's ``rouge-score``; other scripts have
    no words there, and a task whose expected output has none is left out.
    """

    name = "rouge_l"
    title = "ROUGE-L"
    description = "Overlap with the expected text: F1 of the longest common subsequence of words"
    needs = frozenset({"expected_output"})
    passes_at = 0.7
    fails_at = 0.3

    def applies_to(self, item: Item) -> bool:
        return bool(rouge_tokens(item.expected_output))

    def score(self, item: Item) -> Score:
        expected = rouge_tokens(item.expected_output)
        if not expected:
            return not_applicable("The expected output has no words of a-z and 0-9.")
        whole = Extraction(answer_body(item.actual_output), "whole answer")
        answer = rouge_tokens(whole.text)[:MAX_TOKENS]
        common = LCSseq.similarity(expected[:MAX_TOKENS], answer)
        value = 2 * common / (len(expected[:MAX_TOKENS]) + len(answer))
        reason = f"{common} words in common, of {len(expected)} expected and {len(answer)} answered."
        return scored(value, reason, whole)


def rouge_tokens(text: str) -> list[str]:
    return _NO_TOKEN.sub(" ", text.lower()).split()
