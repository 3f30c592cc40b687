from __future__ import annotations

import random
from dataclasses import replace

import pytest

from benchmarks.metrics.base import JudgeUsage, Score, ScoreStatus, judge_error
from benchmarks.metrics.correctness import Correctness
from benchmarks.metrics.judge_calibration import (
    LONG,
    SHORT,
    WORDINGS,
    CanvasQuestion,
    JudgedCase,
    calibrate,
    calibration_cases,
)
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS

ANSWERS = {
    "existence": ["Yes", "No"],
    "count": ["0", "1", "2", "5"],
    "transitivity": ["Left", "Right", "Above", "Below"],
    "coordinate": ["Left", "Above Right", "Below"],
}


def question(number: int, group: str = "existence", expected: str = "Yes") -> CanvasQuestion:
    return CanvasQuestion(f"q{number}", f"canvas-{number // 2}", group, f"question {number}", expected)


def questions() -> list[CanvasQuestion]:
    known = [(group, answer) for group, answers in ANSWERS.items() for answer in answers]
    return [question(number, group, answer) for number, (group, answer) in enumerate(known)]


def judged(cases, value_of, cost=0.001):
    usage = JudgeUsage(calls=1, tokens_in=100, tokens_out=10)
    return [JudgedCase(case, Score(ScoreStatus.SCORED, value_of(case), usage=usage), cost) for case in cases]


def test_every_question_has_right_and_wrong_answers_in_every_wording():
    cases = calibration_cases(questions())

    for truth in (True, False):
        made = {(case.question.id, case.wording) for case in cases if case.right is truth}
        assert made == {(one.id, wording) for one in questions() for wording in WORDINGS}


def test_the_task_class_confirms_every_made_answer():
    for case in calibration_cases(questions()):
        verdict = REGISTERED_TASKS[case.question.group].verdict(case.question.expected, case.text)
        assert verdict.value == float(case.right)


def test_the_same_seed_makes_the_same_cases_and_another_another_order():
    assert calibration_cases(questions(), seed=3) == calibration_cases(questions(), seed=3)
    assert calibration_cases(questions(), seed=3) != calibration_cases(questions(), seed=4)


def test_a_question_without_a_wrong_answer_is_left_out():
    assert calibration_cases([question(1), question(2)]) == []


def test_what_the_judge_sees_differs_in_the_answer_alone():
    pairs = {}
    for case in calibration_cases(questions()):
        pairs.setdefault((case.question.id, case.wording), []).append(case.item())

    for one, other in pairs.values():
        assert one.actual_output != other.actual_output
        assert replace(one, actual_output="") == replace(other, actual_output="")


def test_a_perfect_judge_is_found_perfect():
    cases = calibration_cases(questions())

    report = calibrate(judged(cases, lambda case: float(case.right)), Correctness())

    assert report.kappa.kappa == pytest.approx(1)
    assert report.accuracy.mean == 1
    assert (report.false_accepts.mean, report.false_rejects.mean) == (0, 0)
    assert report.confusion.right_as_correct == report.confusion.wrong_as_wrong == len(cases) / 2
    assert report.length_bias[True].difference == report.length_bias[False].difference == 0
    assert report.n_answers == len(cases)


def test_a_judge_that_says_yes_to_all_agrees_no_more_than_chance():
    cases = calibration_cases(questions())

    report = calibrate(judged(cases, lambda case: 1.0), Correctness())

    assert report.kappa.kappa == pytest.approx(0)
    assert (report.false_accepts.mean, report.false_rejects.mean) == (1, 0)


def test_agreement_is_what_its_definition_says():
    cases = calibration_cases(questions())
    rng = random.Random(5)
    said = {case.answer_key: rng.random() for case in cases}

    report = calibrate(judged(cases, lambda case: said[case.answer_key]), Correctness())

    yes = sum(said[case.answer_key] >= 0.7 for case in cases) / len(cases)
    observed = sum((said[case.answer_key] >= 0.7) == case.right for case in cases) / len(cases)
    expected = 0.5 * yes + 0.5 * (1 - yes)
    assert report.kappa.kappa == pytest.approx((observed - expected) / (1 - expected))
    assert report.accuracy.mean == pytest.approx(observed)
    partial = sum(0.3 < said[case.answer_key] < 0.7 for case in cases)
    assert report.confusion.right_as_partial + report.confusion.wrong_as_partial == partial


def test_a_judge_that_likes_long_answers_is_found_out():
    cases = calibration_cases(questions())

    report = calibrate(judged(cases, lambda case: 0.9 if case.wording == LONG else 0.4), Correctness())

    assert report.length_bias[False].difference == pytest.approx(0.5)
    assert report.length_bias[False].n_shared == len(questions())
    assert report.by_wording[SHORT].mean == report.by_wording[LONG].mean == 0.5


def test_the_long_wording_differs_from_the_short_one_in_length_alone():
    assert WORDINGS[LONG]("Yes", "No").endswith("Answer: Yes")
    assert "No" not in WORDINGS[LONG]("Yes", "No").split()
    assert WORDINGS[SHORT]("Yes", "No") == "Yes"


def test_repeats_show_the_spread_and_do_not_count_twice():
    cases = calibration_cases(questions(), repeats=3)

    report = calibrate(judged(cases, lambda case: (0.8, 0.9, 1.0)[case.repeat]), Correctness())

    assert report.n_answers == len(cases) / 3
    assert report.spread.deviation == pytest.approx(0.1)
    assert report.spread.widest == pytest.approx(0.2)


def test_failed_judgings_are_counted_and_are_no_verdict():
    cases = calibration_cases(questions())
    results = [*judged(cases[1:], lambda case: float(case.right)), JudgedCase(cases[0], judge_error("down"), 0.0)]

    report = calibrate(results, Correctness())

    assert (report.errors, report.n_answers, report.accuracy.mean) == (1, len(cases) - 1, 1)


def test_calls_tokens_and_cost_are_summed_and_an_unknown_price_stays_unknown():
    cases = calibration_cases(questions())

    known = calibrate(judged(cases, lambda case: 1.0, cost=0.5), Correctness())
    unknown = calibrate(judged(cases, lambda case: 1.0, cost=None), Correctness())

    n = len(cases)
    assert (known.calls, known.tokens_in, known.tokens_out, known.cost_usd) == (
        n,
        100 * n,
        10 * n,
        pytest.approx(n / 2),
    )
    assert unknown.cost_usd is None
