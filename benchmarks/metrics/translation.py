"""BLEU and chrF of single texts, with the values of sacreBLEU's ``sentence_bleu`` and ``sentence_chrf``, from 0 to 1.

They are computed here because sacreBLEU requires five further packages, among them lxml, for these two formulas.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from benchmarks.metrics.base import DeterministicMetric, Item, Score, metric_error, scored
from benchmarks.metrics.extraction import whole_answer

MAX_CHARACTERS = 200_000
BLEU_ORDER = 4
CHRF_ORDER = 6
BETA = 2
_SYMBOL = re.compile(r"([!-&(-+/:-@\[-`{-~])")
_POINT_AFTER_NO_DIGIT = re.compile(r"([^0-9])([.,])")
_POINT_BEFORE_NO_DIGIT = re.compile(r"([.,])([^0-9])")
_DASH_AFTER_DIGIT = re.compile(r"([0-9])-")
_ENTITIES = {"&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}


class _Translation(DeterministicMetric):
    needs = frozenset({"expected_output"})

    def score(self, item: Item) -> Score:
        answer = whole_answer(item.actual_output)
        longer = max(len(answer.text), len(item.expected_output))
        if longer > MAX_CHARACTERS:
            return metric_error(f"Too long to compare: {longer:,} characters; the limit is {MAX_CHARACTERS:,}.", answer)
        value = self.value(answer.text, item.expected_output)
        return scored(value, f"{self.title} {100 * value:.1f} of 100.", answer)

    def value(self, answer: str, expected: str) -> float:
        raise NotImplementedError


class Bleu(_Translation):
    """BLEU of one text (Papineni et al. 2002): n-grams of up to four tokens, exponential smoothing, effective order.

    Tokens are those of mteval-v13a; letter case counts. Scripts without spaces need ``chrf``.
    """

    name = "bleu"
    title = "BLEU"
    description = "Precision of n-grams of words in a translation, as sacreBLEU computes it for one text"
    passes_at = 0.5
    fails_at = 0.1

    def value(self, answer: str, expected: str) -> float:
        return bleu(answer, expected)


class ChrF(_Translation):
    """chrF of one text (Popović 2015): F2 of n-grams of up to six characters, without spaces; letter case counts."""

    name = "chrf"
    title = "chrF"
    description = "F-score of n-grams of characters in a translation, as sacreBLEU computes it (chrF2)"
    passes_at = 0.7
    fails_at = 0.2

    def value(self, answer: str, expected: str) -> float:
        return chrf(answer, expected)


def bleu(answer: str, expected: str) -> float:
    answered, wanted = _tokens(answer), _tokens(expected)
    logarithms, smoothing = [], 1
    for order in range(1, min(BLEU_ORDER, len(answered)) + 1):
        grams = _grams(answered, order)
        common = (grams & _grams(wanted, order)).total()
        if not common:
            if order == 1:
                return 0.0
            smoothing *= 2
        logarithms.append(math.log((common or 1 / smoothing) / grams.total()))
    if not logarithms:
        return 0.0
    brevity = min(0.0, 1 - len(wanted) / len(answered))
    return min(1.0, math.exp(brevity + sum(logarithms) / len(logarithms)))


def chrf(answer: str, expected: str) -> float:
    answered, wanted = "".join(answer.split()), "".join(expected.split())
    orders = min(CHRF_ORDER, len(answered), len(wanted))
    if not orders:
        return 0.0
    precision = recall = 0.0
    for order in range(1, orders + 1):
        grams, others = _grams(answered, order), _grams(wanted, order)
        common = (grams & others).total()
        precision += common / grams.total() / orders
        recall += common / others.total() / orders
    if not precision or not recall:
        return 0.0
    return min(1.0, (1 + BETA**2) * precision * recall / (BETA**2 * precision + recall))


def _grams(parts: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(parts[start:] for start in range(order)), strict=False))


def _tokens(text: str) -> list[str]:
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, sign in _ENTITIES.items():
        text = text.replace(entity, sign)
    text = _SYMBOL.sub(r" \1 ", f" {text} ")
    text = _POINT_AFTER_NO_DIGIT.sub(r"\1 \2 ", text)
    text = _POINT_BEFORE_NO_DIGIT.sub(r" \1 \2", text)
    return _DASH_AFTER_DIGIT.sub(r"\1 - ", text).split()
