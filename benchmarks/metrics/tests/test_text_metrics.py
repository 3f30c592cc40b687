"""exact_match, contains, regex, rouge_l, levenshtein, length, latency."""

from __future__ import annotations

import time
from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein as Distance
from rouge_score.rouge_scorer import RougeScorer

from benchmarks.metrics import levenshtein
from benchmarks.metrics.base import ScoreStatus
from benchmarks.metrics.contains import Contains
from benchmarks.metrics.exact_match import ExactMatch
from benchmarks.metrics.json_match import JsonMatch
from benchmarks.metrics.judges import load_deepeval
from benchmarks.metrics.latency import Latency
from benchmarks.metrics.length import Length
from benchmarks.metrics.levenshtein import Levenshtein
from benchmarks.metrics.multiple_choice import MultipleChoice
from benchmarks.metrics.numeric import Numeric
from benchmarks.metrics.regex import Regex
from benchmarks.metrics.rouge_l import RougeL
from benchmarks.metrics.tests.factories import item
from benchmarks.metrics.token_f1 import TokenF1

PAIRS = [
    ("the cat sat on the mat", "the cat sat on the mat"),
    ("the cat sat on the mat", "the mat sat on the cat"),
    ("The Cat, sat!", "the cat sat"),
    ("a b c d", "d c b a"),
    ("one", "two"),
    ("", "something"),
    ("naïve café 42", "naive cafe 42"),
    ("x " * 200, "x " * 100),
    ("Привет мир 7", "7 мир"),
    ("Paris", "paris"),
]


def test_exact_match():
    for actual, expected, value in (
        ("Paris", "Paris", 1),
        (" Paris\n", "Paris", 1),
        ("It is in France.\nAnswer: Paris.", "Paris", 1),
        ("\\boxed{Paris}", "Paris", 1),
        ("<think>Lyon</think>Paris", "Paris", 1),
        ("two  \n words", "two words", 1),
        ("line one\nline two", "line one\nline two", 1),
        ("cafe\u0301", "café", 1),
        ("Answer: **Paris**.", "Paris", 1),
        ("Answer: Paris (France)", "Paris", 1),
        ("(-2,1)", "(-2, 1)", 1),
        ("Answer: Lyon\nAnswer: Paris", "Paris", 0),
        ("27.4", "27.40", 0),
        ("paris", "Paris", 1),
        ("Paris!", "Paris", 1),
        ("n!", "n", 0),
        ("It is Paris", "Paris", 1),
        ("In Paris", "Paris", 1),
        ("", "Paris", 0),
    ):
        assert ExactMatch().score(item(actual, expected)).value == value, actual


def test_a_reference_is_read_as_the_answer_is():
    for expected in (
        "Paris.",
        "Answer: Paris",
        "Answer: Paris.",
        "**Answer:** Paris",
        "The answer is Paris.",
        "“Paris”",
    ):
        for actual in ("Paris", "Paris.", "Answer: Paris", "Answer: Paris.", "**Paris.**", '"Paris"'):
            for metric in (ExactMatch(), TokenF1(), Contains()):
                assert metric.score(item(actual, expected)).value == 1, (metric.name, expected, actual)
    assert MultipleChoice().score(item("B", "Answer: B.")).value == 1


def test_a_reference_is_found_with_everything_that_it_is_written_with():
    for expected in (
        "'a'",
        '"yes"',
        "`ls`",
        "__init__",
        "_x_",
        "<br>",
        "U.S.",
        "3.5",
        "e.g.",
        "**kwargs**",
        "$5$",
    ):
        for form in ("{}", "{}.", "Answer: {}", "Answer: {}.", "Hm.\n\n{}", "The answer is {}."):
            if not form.endswith(".") or "." not in expected:
                actual = form.format(expected)
                assert ExactMatch().score(item(actual, expected)).value == 1, (expected, actual)


def test_another_answer_stays_wrong_however_it_is_written():
    for expected, answers in (
        ("'a'", ("a", "Answer: a", '"a"', "Answer: `a`")),
        ('"yes"', ("yes", "Answer: yes.", "'yes'")),
        ("__init__", ("init", "Answer: init", "`init`")),
        (
            "Paris",
            ("Answer: not Paris.", "The answer is not Paris.", "The answer is Not Paris.", "Answer: Paris, Texas."),
        ),
        ("Paris.", ("Lyon.", "Answer: Paris. Or Lyon.", "Answer: Paris or Lyon.")),
        ("Answer: Paris", ("Answer", "Answer: Lyon", "Answer:")),
        ("Answer: yes\nAnswer: no", ("yes", "no", "Answer: no")),
        ("The answer is Paris. It lies on the Seine.", ("Paris", "It lies on the Seine.")),
        ("U.S.", ("U.S", "U", "US", "U.")),
        ("...", (".", "..", "Answer: x...")),
        ("3.5", ("35", "3", "3.5.1", "Answer: 3.50")),
        ("x.", ("x..", "x...", ".x")),
        ("No", ("The answer is Not", "The answer is not.", "Not")),
        ("“Paris”", ("Lyon", "Answer: “Lyon”", "“Paris” or “Lyon”")),
    ):
        for actual in answers:
            assert ExactMatch().score(item(actual, expected)).value == 0, (expected, actual)
    for metric, actual, expected in (
        (TokenF1(), "Answer: Lyon", "Answer: Paris"),
        (Contains(), "They know it.", "Answer: no."),
        (Contains(), "It is 42.", "Answer: 4"),
        (Contains(), "Answer: Lyon", "Answer: Paris"),
        (MultipleChoice(), "Answer: A", "Answer: B"),
    ):
        assert metric.score(item(actual, expected)).value == 0, (metric.name, actual, expected)


def test_the_best_accepted_answer_counts():
    numbers = item("Answer: 4", "IV", other_answers=("4", "four"))
    names = item("Rome", "Paris", other_answers=("Roma",))
    for metric, answered, value in (
        (ExactMatch(), numbers, 1),
        (Contains(), numbers, 1),
        (Numeric(), numbers, 1),
        (MultipleChoice(), item("Answer: B", "A", other_answers=("B",), choices=("x", "y", "z")), 1),
        (JsonMatch(), item('{"a": 2}', '{"a": 1}', other_answers=('{"a": 2}',)), 1),
        (Levenshtein(), names, 0.75),
        (RougeL(), item("a rome", "42", other_answers=("in rome",)), 0.5),
        (ExactMatch(), names, 0),
    ):
        assert metric.applies_to_any(answered), metric.name
        score = metric.best_score(answered)
        assert score.value == value, metric.name
        assert score.reason.endswith("accepted answers."), metric.name
    assert Numeric().best_score(item("x", "a", other_answers=("b",))).status is ScoreStatus.NOT_APPLICABLE


def test_a_reference_that_cannot_be_compared_is_an_error_unless_another_matches(monkeypatch):
    monkeypatch.setattr(levenshtein, "MAX_CELLS", 20)
    for answer, status in (("other", ScoreStatus.METRIC_ERROR), ("ok", ScoreStatus.SCORED)):
        assert Levenshtein().best_score(item(answer, "x" * 30, other_answers=("ok",))).status is status


def test_letter_case_counts_if_the_task_is_about_it():
    for question, value in (("Name the capital of France.", 1), ("Write it in upper case.", 0)):
        assert ExactMatch().score(replace(item("paris", "PARIS"), input=question)).value == value

    score = ExactMatch().score(replace(item("paris", "PARIS"), input="Write it in upper case."))
    assert "Only the case differs." in score.reason
    assert score.extracted == "paris"


def test_exact_match_abstains_where_a_reply_mentions_the_text_without_certainly_giving_it():
    for actual, status in (
        ("Lyon", ScoreStatus.SCORED),
        ("It might be Lyon.", ScoreStatus.SCORED),
        ("Answer: Lyon\n\nParis is larger.", ScoreStatus.SCORED),
        ("It might be Paris.", ScoreStatus.UNPARSABLE),
        ("Lyon is smaller than Paris.", ScoreStatus.UNPARSABLE),
        ("Paris or Lyon", ScoreStatus.UNPARSABLE),
        ("Answer: Lyon\nAnswer: Paris", ScoreStatus.UNPARSABLE),
    ):
        score = ExactMatch().score(item(actual, "Paris"))
        assert (score.status, score.value) == (status, 0), actual
    undecided = item("Paris or Lyon", "Rome", other_answers=("Paris",))
    assert ExactMatch().best_score(undecided).status is ScoreStatus.UNPARSABLE


def test_the_extracted_text_and_the_rule_are_stored():
    score = ExactMatch().score(item("Hm.\nAnswer: Lyon", "Paris"))

    assert (score.extracted, score.detail["extraction"]) == ("Lyon", "answer line")


async def test_exact_match_agrees_with_deepeval_on_bare_answers():
    await load_deepeval()
    from deepeval.scorer import Scorer

    for actual, expected in PAIRS:
        theirs = Scorer.exact_match_score(expected.casefold(), actual.casefold())
        assert ExactMatch().score(item(actual, expected)).value == theirs, (actual, expected)


def test_contains():
    for actual, expected, value in (
        ("The capital is Paris.", "paris", 1),
        ("It is 42.", "42", 1),
        ("It is 142", "42", 0),
        ("It is 42.5", "42", 0),
        ("1,420", "420", 0),
        ("-5", "5", 0),
        ("It is −5.", "5", 0),
        ("3-5", "5", 1),
        ("5/6", "5", 0),
        ("12:30", "12", 0),
        ("I know", "no", 0),
        ("No!", "no", 1),
        ("(a+b)", "a", 1),
        ("f(x) = x+1", "f(x)", 1),
        ("new\nyork", "New York", 1),
        ("<think>Paris</think>Lyon", "Paris", 0),
        ("catcat cat", "cat", 1),
        ("", "x", 0),
    ):
        assert Contains().score(item(actual, expected)).value == value, (actual, expected)


def test_regex():
    for pattern, actual, value in (
        (r"^\d{4}-\d{2}-\d{2}$", "2024-01-31", 1),
        (r"^\d{4}-\d{2}-\d{2}$", "on 2024-01-31", 0),
        (r"(?i)paris", "PARIS", 1),
        (r"é", "cafe\u0301", 1),
        (r"x", "", 0),
        (r"a", "<think>a</think>b", 0),
    ):
        assert Regex().score(item(actual, pattern=pattern)).value == value, (pattern, actual)


def test_no_pattern_hangs():
    text = "a" * 1_000_000 + "!"
    for pattern in ("(a+)+$", "(a|aa)+$", "(.*)*b", "(?i)" + "é" * 2000, "(" * 400 + "a" + ")*" * 400):
        started = time.process_time()
        Regex().score(item(text, pattern=pattern))
        assert time.process_time() - started < 3, pattern[:20]


def test_a_pattern_too_large_for_a_text_is_refused_at_once():
    score = Regex().score(item("a" * 1_000_000, pattern="(?:a?){500}" * 10 + "b"))

    assert score.status is ScoreStatus.METRIC_ERROR
    assert "too large for a text of 1,000,000 characters" in score.reason


def test_an_unusable_pattern_is_not_a_wrong_answer():
    for pattern in ("[", "(?=x)y", r"(a)\1", "(a{1000}){1000}", "*"):
        score = Regex().score(item("a", pattern=pattern))
        assert (score.status, score.value) == (ScoreStatus.METRIC_ERROR, None), pattern
        assert "RE2 reports" in score.reason, pattern


def test_rouge_l_equals_rouge_score_and_edit_similarity_equals_rapidfuzz():
    scorer = RougeScorer(["rougeL"])
    for actual, expected in PAIRS:
        rouge = scorer.score(expected, actual)["rougeL"].fmeasure
        similarity = Distance.normalized_similarity(expected.strip(), actual.strip())
        assert RougeL().score(item(actual, expected)).value == pytest.approx(rouge), (actual, expected)
        assert Levenshtein().score(item(actual, expected)).value == pytest.approx(similarity), (actual, expected)


def test_rouge_l_does_not_apply_to_scripts_without_words_of_a_to_z():
    assert not RougeL().applies_to(item("パリ", "パリ"))
    assert RougeL().score(item("パリ", "パリ")).status is ScoreStatus.NOT_APPLICABLE


def test_a_comparison_that_would_take_minutes_is_refused():
    score = Levenshtein().score(item("a" * 5_000_000, "b" * 5_000))

    assert score.status is ScoreStatus.METRIC_ERROR
    assert "5,000,000" in score.reason


def test_length_counts_the_answer_without_its_reasoning():
    score = Length().score(item("<think>long thoughts</think>two words", tokens_out=7))

    assert (score.value, score.reason, score.detail) == (9.0, "2 words.", {"tokens_out": 7})


def test_latency_is_the_measured_time_or_nothing():
    assert Latency().score(item(duration_ms=12.5)).value == 12.5
    assert Latency().score(item(duration_ms=0.0)).value == 0.0
    assert Latency().score(item()).status is ScoreStatus.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("22 crowns", 1.0),
        ("The fee is 22 crowns.\nAnswer: 22 crowns", 1.0),
        ("Answer: The fee is 22 crowns.", 1.0),
        ("Notice of the museum: the fee for a projector is 22 crowns.", 0.0),
        ("Answer: The fee for a projector is 22 crowns. The fee for a canoe is 44 crowns.", 0.0),
    ],
)
def test_what_is_copied_from_a_task_does_not_take_the_place_of_the_line_that_it_asks_for(reply, value):
    about = replace(
        item(reply, expected="22 crowns"), input="How much is a projector? End with a line `Answer: <fee>`."
    )
    assert ExactMatch().score(about).value == value


@given(
    expected=st.sampled_from(["35", "Paris", "(-2, 1)", "yahoo!", "U.S.", "New York", "$4$", "\\frac{1}{2}", "É", ""]),
    parts=st.lists(
        st.sampled_from(
            ["{0}", "**{0}**", "It is {0}.", "Answer: {0}", "City: {0}", "no, {0}", "Rome", "34", "\n", "!"]
        ),
        max_size=4,
    ),
    written=st.sampled_from([str, str.upper, str.lower, "\n".join]),
)
def test_an_answer_that_is_settled_early_scores_as_one_that_is_read(expected, parts, written):
    answer = " ".join(part.format(written(expected)) for part in parts)
    settled = ExactMatch().score(item(answer, expected))
    with patch("benchmarks.metrics.exact_match._may_contain", return_value=True):
        assert ExactMatch().score(item(answer, expected)) == settled
