from __future__ import annotations

import re

from rapidfuzz.distance import LCSseq

from benchmarks.metrics.base import DeterministicMetric, Item, Score, not_applicable, scored
from benchmarks.metrics.extraction import whole_answer

MAX_TOKENS = 50_000

_NO_TOKEN = re.compile(r"[^a-z0-9]+")


class RougeL(DeterministicMetric):
    """ROUGE-L F1 (Lin 2004): twice the longest common subsequence of words over the words of both texts.

    Words are runs of a-z and 0-9 in lower case, without stemming, as in Google's ``rouge-score``. Other scripts have
    no words there, so a task whose expected answer has none is not applicable.
    """

    name = "rouge_l"
    title = "ROUGE-L"
    description = "F1 of the longest common subsequence of words in answer and expected text"
    needs = frozenset({"expected_output"})
    passes_at = 0.7
    fails_at = 0.3

    def applies_to(self, item: Item) -> bool:
        return bool(_tokens(item.expected_output))

    def score(self, item: Item) -> Score:
        expected = _tokens(item.expected_output)
        if not expected:
            return not_applicable("The expected answer contains no words of a-z and 0-9.")
        whole = whole_answer(item.actual_output)
        answer = _tokens(whole.text)[:MAX_TOKENS]
        common = LCSseq.similarity(expected[:MAX_TOKENS], answer)
        value = 2 * common / (len(expected[:MAX_TOKENS]) + len(answer))
        reason = f"{common} words in common ({len(expected)} expected, {len(answer)} answered)."
        return scored(value, reason, whole)


def _tokens(text: str) -> list[str]:
    return _NO_TOKEN.sub(" ", text.lower()).split()
