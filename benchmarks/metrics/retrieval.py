"""How well a system looks up passages, by rule: recall and precision against the passages that a task expects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.metrics.base import DeterministicMetric, Item, Score, not_applicable, scored, shortened

NOTHING_RETRIEVED = "The system retrieved nothing."
RANKS = (1, 3, 5, 10)
"""The k of recall and precision at k that stand beside the score."""
_SHARE_OF_PASSAGE = 0.5


class _Retrieval(DeterministicMetric):
    needs = frozenset({"expected_context", "retrieved"})
    decides_outcome = False

    def score(self, item: Item) -> Score:
        if item.retrieved is None:
            return not_applicable("The answer comes without a list of what was retrieved.")
        if not item.retrieved:
            return scored(0.0, NOTHING_RETRIEVED)
        expected, retrieved = item.expected_context, item.retrieved
        at: dict[str, Any] = {
            f"at {k}": round(self.value(expected, retrieved[:k]), 4) for k in RANKS if k <= len(retrieved)
        }
        return scored(self.value(expected, retrieved), self.reason(expected, retrieved), **at)

    def value(self, expected: Sequence[str], retrieved: Sequence[str]) -> float:
        """The score of a ranked list that is not empty, from 0 to 1."""
        raise NotImplementedError

    def reason(self, expected: Sequence[str], retrieved: Sequence[str]) -> str:
        raise NotImplementedError


class RetrievalRecall(_Retrieval):
    """Share of the expected passages that are among the retrieved ones (recall, Manning et al. 2008, chapter 8)."""

    name = "retrieval_recall"
    title = "Retrieval recall"
    description = "Share of the expected passages that the system retrieved"

    def value(self, expected: Sequence[str], retrieved: Sequence[str]) -> float:
        return sum(any(_same(one, each) for each in retrieved) for one in expected) / len(expected)

    def reason(self, expected: Sequence[str], retrieved: Sequence[str]) -> str:
        missed = [one for one in expected if not any(_same(one, each) for each in retrieved)]
        text = f"{len(expected) - len(missed)} of {len(expected)} expected passages were retrieved."
        return f"{text} Missing: “{shortened(missed[0])}”." if missed else text


class RetrievalPrecision(_Retrieval):
    """Share of the retrieved passages that are expected ones (precision, as above)."""

    name = "retrieval_precision"
    title = "Retrieval precision"
    description = "Share of the retrieved passages that the task expects"

    def value(self, expected: Sequence[str], retrieved: Sequence[str]) -> float:
        # A passage that is retrieved twice helps once.
        found: list[str] = []
        for each in retrieved:
            if any(_same(one, each) for one in expected) and not any(_plain(each) == _plain(one) for one in found):
                found.append(each)
        return len(found) / len(retrieved)

    def reason(self, expected: Sequence[str], retrieved: Sequence[str]) -> str:
        found = round(self.value(expected, retrieved) * len(retrieved))
        return f"{found} of {len(retrieved)} retrieved passages are expected."


def _same(expected: str, retrieved: str) -> bool:
    """Whether the one contains the other, without regard to case and white space; systems cut passages differently.
    A piece of an expected passage counts from half of its length on."""
    wanted, found = _plain(expected), _plain(retrieved)
    return wanted in found or (len(found) >= _SHARE_OF_PASSAGE * len(wanted) and bool(found) and found in wanted)


def _plain(passage: str) -> str:
    return " ".join(passage.split()).casefold()
