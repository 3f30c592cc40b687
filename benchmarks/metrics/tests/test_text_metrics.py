"""exact_match, contains, regex, rouge_l, levenshtein, length, latency."""

from __future__ import annotations

import time

import pytest
from rapidfuzz.distance import Levenshtein as Distance
from rouge_score.rouge_scorer import RougeScorer

from benchmarks.metrics.base import ScoreStatus
from benchmarks.metrics.contains import Contains
from benchmarks.metrics.exact_match import ExactMatch
from benchmarks.metrics.judging import load_deepeval
from benchmarks.metrics.latency import Latency
from benchmarks.metrics.length import Length
from benchmarks.metrics.levenshtein import Levenshtein
from benchmarks.metrics.regex import Regex
from benchmarks.metrics.rouge_l import RougeL
from benchmarks.metrics.tests.factories import item

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


@pytest.mark.parametrize(
    ("actual", "expected", "value"),
    [
        ("Paris", "Paris", 1),
        (" Paris\n", "Paris", 1),
        ("It is in France.\nAnswer: Paris.", "Paris", 1),
        ("\\boxed{Paris}", "Paris", 1),
        ("<think>Lyon</think>Paris", "Paris", 1),
        ("two  \n words", "two words", 1),
        ("line one\nline two", "line one\nline two", 1),
        ("cafe\u0301", "café", 1),
        ("paris", "Paris", 0),
        ("Paris!", "Paris", 0),
        ("It is Paris", "Paris", 0),
        ("", "Paris", 0),
    ],
)
def test_exact_match(actual, expected, value):
    assert ExactMatch().score(item(actual, expected)).value == value


def test_exact_match_says_when_only_the_case_differs():
    score = ExactMatch().score(item("PARIS", "Paris"))

    assert "letter case only" in score.reason
    assert score.extracted == "PARIS"


def test_what_was_compared_and_how_it_was_found_is_recorded():
    score = ExactMatch().score(item("Hm.\nAnswer: Lyon", "Paris"))

    assert (score.extracted, score.detail["extraction"]) == ("Lyon", "answer line")


@pytest.mark.parametrize(("actual", "expected"), PAIRS)
async def test_exact_match_agrees_with_deepeval_where_the_answer_is_all_there_is(actual, expected):
    await load_deepeval()
    from deepeval.scorer import Scorer

    assert ExactMatch().score(item(actual, expected)).value == Scorer.exact_match_score(expected, actual)


@pytest.mark.parametrize(
    ("actual", "expected", "value"),
    [
        ("The capital is Paris.", "paris", 1),
        ("It is 42.", "42", 1),
        ("It is 142", "42", 0),
        ("It is 42.5", "42", 0),
        ("1,420", "420", 0),
        ("I know", "no", 0),
        ("No!", "no", 1),
        ("(a+b)", "a", 1),
        ("f(x) = x+1", "f(x)", 1),
        ("new\nyork", "New York", 1),
        ("<think>Paris</think>Lyon", "Paris", 0),
        ("catcat cat", "cat", 1),
        ("", "x", 0),
    ],
)
def test_contains(actual, expected, value):
    assert Contains().score(item(actual, expected)).value == value


@pytest.mark.parametrize(
    ("pattern", "actual", "value"),
    [
        (r"^\d{4}-\d{2}-\d{2}$", "2024-01-31", 1),
        (r"^\d{4}-\d{2}-\d{2}$", "on 2024-01-31", 0),
        (r"(?i)paris", "PARIS", 1),
        (r"é", "cafe\u0301", 1),
        (r"x", "", 0),
        (r"a", "<think>a</think>b", 0),
    ],
)
def test_regex(pattern, actual, value):
    assert Regex().score(item(actual, pattern=pattern)).value == value


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*)*b", "(?i)" + "é" * 2000, "(" * 400 + "a" + ")*" * 400])
def test_no_pattern_hangs(pattern):
    started = time.process_time()

    Regex().score(item("a" * 1_000_000 + "!", pattern=pattern))

    assert time.process_time() - started < 3


def test_a_pattern_too_large_for_a_text_is_refused_at_once():
    score = Regex().score(item("a" * 1_000_000, pattern="(?:a?){500}" * 10 + "b"))

    assert score.status is ScoreStatus.METRIC_ERROR
    assert "too large for a text of 1,000,000 characters" in score.reason


@pytest.mark.parametrize("pattern", ["[", "(?=x)y", r"(a)\1", "(a{1000}){1000}", "*"])
def test_a_pattern_that_cannot_be_used_is_no_wrong_answer(pattern):
    score = Regex().score(item("a", pattern=pattern))

    assert (score.status, score.value) == (ScoreStatus.METRIC_ERROR, None)
    assert "RE2 says" in score.reason


@pytest.mark.parametrize(("actual", "expected"), PAIRS)
def test_rouge_l_equals_rouge_score(actual, expected):
    theirs = RougeScorer(["rougeL"]).score(expected, actual)["rougeL"].fmeasure

    assert RougeL().score(item(actual, expected)).value == pytest.approx(theirs)


@pytest.mark.parametrize(("actual", "expected"), PAIRS)
def test_levenshtein_equals_rapidfuzz(actual, expected):
    theirs = Distance.normalized_similarity(expected.strip(), actual.strip())

    assert Levenshtein().score(item(actual, expected)).value == pytest.approx(theirs)


def test_rouge_l_has_nothing_to_say_about_scripts_it_has_no_words_for():
    assert not RougeL().applies_to(item("パリ", "パリ"))
    assert RougeL().score(item("パリ", "パリ")).status is ScoreStatus.NOT_APPLICABLE


def test_a_comparison_that_would_take_minutes_is_refused():
    score = Levenshtein().score(item("a" * 5_000_000, "b" * 5_000))

    assert score.status is ScoreStatus.METRIC_ERROR
    assert "5,000,000" in score.reason


def test_length_counts_the_answer_without_its_thinking():
    score = Length().score(item("<think>long thoughts</think>two words", tokens_out=7))

    assert (score.value, score.reason, score.detail) == (9.0, "2 words.", {"tokens_out": 7})


def test_latency_is_the_measured_time_or_nothing():
    assert Latency().score(item(duration_ms=12.5)).value == 12.5
    assert Latency().score(item(duration_ms=0.0)).value == 0.0
    assert Latency().score(item()).status is ScoreStatus.NOT_APPLICABLE
