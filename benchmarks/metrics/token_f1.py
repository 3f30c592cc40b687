from __future__ import annotations

import re
import string
from collections import Counter

from benchmarks.metrics.base import DeterministicMetric, Item, Score, scored
from benchmarks.metrics.extraction import How, extract_text, reference_texts, whole_answer

MAX_CHARACTERS = 1_000_000
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation + "“”„‘’‚«»")
_MARKED = frozenset({How.ANSWER_LINE, How.ANSWER_SENTENCE, How.BOXED})


class TokenF1(DeterministicMetric):
    """F1 of the words that answer and expected text share (Rajpurkar et al. 2016), with SQuAD's normalization: lower
    case, without punctuation, typographic quotes and English articles.

    A marked answer ("Answer: …") is compared instead of the whole text, in the expected text as well. If one text has
    no words, both must have none.
    """

    name = "token_f1"
    title = "Token F1"
    description = "F1 of the words in answer and expected text, normalized as for SQuAD"
    needs = frozenset({"expected_output"})
    passes_at = 0.8
    fails_at = 0.2

    def score(self, item: Item) -> Score:
        extraction = extract_text(item.actual_output)
        if extraction.how not in _MARKED:
            extraction = whole_answer(item.actual_output)
        expected, answer = Counter(_words(reference_texts(item.expected_output)[0])), Counter(_words(extraction.text))
        common = (expected & answer).total()
        reason = f"{common} words in common ({expected.total()} expected, {answer.total()} answered)."
        if not expected or not answer:
            return scored(expected == answer, reason, extraction)
        return scored(2 * common / (expected.total() + answer.total()), reason, extraction, "Different words")


def _words(text: str) -> list[str]:
    plain = text[:MAX_CHARACTERS].lower().translate(_WITHOUT_PUNCTUATION)
    return _ARTICLES.sub(" ", plain).split()
