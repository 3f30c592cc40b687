"""Recall and precision of retrieved passages, and what would game them."""

from __future__ import annotations

import pytest

from benchmarks.metrics.base import ScoreStatus
from benchmarks.metrics.retrieval import RetrievalPrecision, RetrievalRecall
from benchmarks.metrics.tests.factories import item

EXPECTED = ("The tower is 330 m high.", "It was built in 1889.")


@pytest.mark.parametrize(
    ("retrieved", "recall", "precision"),
    [
        (EXPECTED, 1.0, 1.0),
        (EXPECTED[:1], 0.5, 1.0),
        (("Something else.", *EXPECTED), 1.0, 2 / 3),
        (("before. THE  tower is\n330 m high. after",), 0.5, 1.0),
        (("The tower is 330 m",), 0.5, 1.0),
        (("The tower",), 0.0, 0.0),
        (("", " "), 0.0, 0.0),
        ((EXPECTED[0],) * 4, 0.5, 0.25),
        ((), 0.0, 0.0),
    ],
)
def test_recall_and_precision(retrieved: tuple[str, ...], recall: float, precision: float) -> None:
    answered = item("x", expected_context=EXPECTED, retrieved=retrieved)

    assert RetrievalRecall().score(answered).value == pytest.approx(recall)
    assert RetrievalPrecision().score(answered).value == pytest.approx(precision)


def test_the_score_says_what_it_is_at_each_rank() -> None:
    score = RetrievalRecall().score(item("x", expected_context=EXPECTED, retrieved=("No.", EXPECTED[1], EXPECTED[0])))

    assert score.detail == {"at 1": 0.0, "at 3": 1.0}
    assert score.reason == "2 of 2 expected passages were retrieved."


def test_an_answer_without_a_list_is_not_scored() -> None:
    assert RetrievalRecall().score(item("x", expected_context=EXPECTED)).status is ScoreStatus.NOT_APPLICABLE
