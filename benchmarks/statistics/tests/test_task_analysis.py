"""Flags of tasks from scores and answers, against hand-made matrices and simulated item responses."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.statistics import task_analysis as analysis
from tests.benches.statistics.task_flags import suspects
from tests.support.item_responses import simulated_responses

NAN = float("nan")


def scores(*rows: str) -> NDArray[np.float64]:
    """A row for each model: ``1`` right, ``0`` wrong, ``.`` no score."""
    return np.array([[NAN if sign == "." else float(sign) for sign in row] for row in rows])


def test_the_better_half_of_the_models_is_strong_and_at_least_three() -> None:
    assert analysis.strong_models(scores("1110", "1111", "1100", "1000", "0000")).tolist() == [1, 1, 1, 0, 0]
    assert analysis.strong_models(scores("00", "10", "11", "01")).tolist() == [0, 1, 1, 1]
    assert analysis.strong_models(scores("11", "10")).tolist() == [0, 0]


def test_discrimination_is_the_correlation_with_the_rest_score() -> None:
    values = scores("11110", "11100", "11000", "10001", "00001")
    found = analysis.discrimination(values, analysis.rest_scores(values))
    rest = [values[:, [at for at in range(5) if at != task]].mean(axis=1) for task in range(5)]
    assert found == pytest.approx([np.corrcoef(values[:, task], rest[task])[0, 1] for task in range(5)])
    assert found[4] < -0.8
    assert analysis.is_negative(found, 5).tolist() == [False] * 4 + [True]


def test_there_is_no_discrimination_with_few_models_or_constant_tasks() -> None:
    for values in (scores("10", "01", "11", "00"), scores("11", "10", "11", "10", "1.")):
        assert np.isnan(analysis.discrimination(values, analysis.rest_scores(values))[0])


def test_saturated_and_never_solved_tasks_need_three_scores() -> None:
    values = scores("1100.", "1100.", "1100.", "0100.", "01000")
    strong = np.array([True, True, True, False, False])
    assert analysis.saturated(values, strong).tolist() == [True, True, False, False, False]
    assert analysis.never_solved(values).tolist() == [False, False, True, True, False]


def test_a_reference_is_suspect_if_most_strong_models_agree_on_another_answer() -> None:
    rest, strong = np.array([0.9, 0.8, 0.7, 0.2, 0.1]), np.array([True, True, True, False, False])
    wrong = np.zeros(5)
    assert analysis.suspect_reference(wrong, rest, strong, ["7", "7", "7", "8", None]) == analysis.Suspect("7", 3, 3)
    assert analysis.suspect_reference(wrong, rest, strong, ["7", "7", "8", "7", "7"]) is None
    assert analysis.suspect_reference(wrong, rest, strong, [None] * 5) is None


def test_it_is_sound_if_the_better_of_the_strong_models_are_right() -> None:
    rest, strong = np.array([0.9, 0.8, 0.5, 0.4, 0.3, 0.2]), np.array([True] * 5 + [False])
    right = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    assert analysis.suspect_reference(right, rest, strong, [None, None, "7", "7", "7", "7"]) is None
    worse = right[::-1].copy()
    assert analysis.suspect_reference(worse, rest, strong, ["7", "7", "7", "8", None, None]) == analysis.Suspect(
        "7", 3, 5
    )


@pytest.mark.parametrize(("models", "choices", "recall", "precision"), [(12, 0, 0.55, 0.85), (20, 4, 0.7, 0.65)])
def test_planted_wrong_references_are_found_among_300_tasks(
    models: int, choices: int, recall: float, precision: float
) -> None:
    random, hits, false = np.random.default_rng(15), 0, 0
    for _ in range(10):
        responses = simulated_responses(random, models, planted=10, choices=choices)
        found, planted = suspects(responses), set(responses.planted.tolist())
        hits, false = hits + len(found & planted), false + len(found - planted)
    assert hits / 100 >= recall
    assert hits / (hits + false) >= precision


def test_effective_tasks_count_coin_flips_fully_and_tasks_that_all_solve_not_at_all() -> None:
    random = np.random.default_rng(3)
    flips = (random.random((30, 200)) < 0.5).astype(float)
    found = analysis.effective_tasks(np.hstack([flips, np.ones((30, 100))]))
    assert found is not None
    assert found.low is not None
    assert found.tasks == pytest.approx(200, abs=6)
    assert found.low < found.tasks < (found.high or 0)


def test_effective_tasks_need_two_models_that_share_tasks() -> None:
    assert analysis.effective_tasks(scores("10")) is None
    assert analysis.effective_tasks(scores("1.", ".0")) is None
    two = analysis.effective_tasks(scores("10", "11"))
    assert two == analysis.Effective(2.0, None, None)


def test_texts_are_equal_but_for_case_space_and_punctuation() -> None:
    same = ["The answer is 1,024.", "the  answer\nis “1024”"]
    assert len({analysis.comparable(text) for text in same}) == 1
    assert len({analysis.comparable(text) for text in ("-7", "7", "7.5", "75", "?!", "?")}) == 6


def test_duplicates_are_equal_or_similar_with_the_same_numbers() -> None:
    field = "A fence around a square field has a post every 5 m and 40 posts. How long is one side of the field?"
    texts = [field, field.upper(), field.replace("square field", "square garden"), field.replace("40", "44"), "Why?"]
    assert analysis.duplicates(texts) == {1: analysis.Duplicate(0, True), 2: analysis.Duplicate(0, False)}
    assert analysis.duplicates([]) == {}
