"""Constraints on an answer: each kind followed and broken, and hostile texts."""

from __future__ import annotations

import time

import pytest

from benchmarks.dataset_format.documents import keys_of
from benchmarks.dataset_format.expectations import ConstraintSet
from benchmarks.dataset_format.tests.examples import task_values
from benchmarks.dataset_format.validation import validate_task_fields
from benchmarks.metrics.base import ScoreStatus
from benchmarks.metrics.constraints import Constraints, checked
from benchmarks.metrics.languages import language_of
from benchmarks.metrics.tests.factories import item

KINDS = (
    ({"words": {"min": 2, "max": 3}}, "one two", "one", "has 1 words, not 2 to 3"),
    ({"words": {"max": 2}}, "one two", "one two three", "has 3 words, not at most 2"),
    ({"characters": {"min": 3}}, "abc", "ab", "has 2 characters, not at least 3"),
    ({"sentences": {"min": 2, "max": 2}}, "Pi is 3.14. Yes!", "Pi is 3.14.", "has 1 sentences, not 2 to 2"),
    ({"sentences": {"max": 1}}, "no end", "一。二。", "has 2 sentences"),
    ({"paragraphs": {"min": 2}}, "a\n \nb", "a\nb", "has 1 paragraphs"),
    ({"bullets": {"min": 2, "max": 2}}, "Here:\n- a\n* b", "**a**\n- b", "has 1 bullets"),
    ({"highlights": {"min": 2}}, "*a b* and **c**", "* a * b", "has 0 highlights"),
    ({"placeholders": {"min": 1}}, "Dear [name]", "Dear []", "has 0 placeholders"),
    ({"capital_words": {"max": 1}}, "NASA is", "NASA IS", "has 2 capital words"),
    ({"include": ["the sea", "ÉTÉ"]}, "The\nSea in été", "the seal in été", "does not contain “the sea”"),
    ({"exclude": ["sea"]}, "the seal", "the Sea.", "contains “sea”"),
    ({"include_one": ["yes.", "no."]}, "I say No.", "yesterday", "contains none of 2 texts, such as “yes.”"),
    ({"occurrences": [{"text": "sea", "min": 2}]}, "Sea, sea", "sea, seal", "has 1 times “sea”, not at least 2"),
    ({"occurrences": [{"text": "a a", "max": 1}]}, "a a a", "a a a a", "has 2 times “a a”, not at most 1"),
    ({"letters": [{"letter": "Q", "max": 1}]}, "quiet", "Qq", "has 2 times the letter “Q”, not at most 1"),
    ({"letters": [{"letter": "#", "min": 1}]}, "#", "q", "has 0 times the letter “#”"),
    (
        {"sections": {"heading": "Section", "min": 2}},
        "## SECTION 1\na\nSection2",
        "Section 1, Section 2",
        "has 1 sections",
    ),
    ({"parts": {"divider": "***", "min": 2, "max": 2}}, "a\n***\nb", "a\n\nb", "has 1 parts, not 2 to 2"),
    ({"parts": {"divider": "***", "min": 2}}, "***a***b***", "a******b", "has an empty part between “***”"),
    ({"parts": {"divider": "******", "max": 2, "differ": True}}, "a******b", "A ******a", "has two equal parts"),
    ({"parts": {"divider": "---", "min": 1}}, "a", "---", "has 0 parts, not at least 1"),
    (
        {"nth_paragraph": {"number": 2, "starts_with": "How"}},
        "a\n\n**How, b",
        "a\n\nHowever",
        "does not start paragraph 2",
    ),
    (
        {"nth_paragraph": {"number": 3, "starts_with": "x"}},
        "a\n\n\nb\n\nX",
        "a\n\nx",
        "has 2 paragraphs, not paragraph 3",
    ),
    ({"starts_with": "Dear"}, " dear Bob", "Hi Bob", "does not start with “Dear”"),
    ({"ends_with": "Bye!"}, "x bye!\n", "bye", "does not end with “Bye!”"),
    ({"case": "upper"}, "ABC 1!", "ABc", "is not all in upper case"),
    ({"case": "lower"}, "été", "Été", "is not all in lower case"),
    (
        {"language": "de"},
        "Das ist eine kurze Antwort über das Wetter.",
        "This is a short answer about the weather.",
        "is in the language en, not de",
    ),
    ({"no_commas": True}, "a; b", "a, b", "contains a comma"),
    ({"json": True}, "```json\n{}\n```", "{", "is not JSON"),
    ({"quoted": True}, '"a"', 'a"', "is not in double quotes"),
    ({"title": True}, "<<A>>\nb", "# A", "has no <<title>>"),
)


def test_each_kind_is_followed_or_broken():
    for constraints, good, bad, problem in KINDS:
        task, problems = validate_task_fields(task_values(constraints=constraints))
        assert task is not None, problems
        assert task.constraints == constraints
        assert Constraints().score(item(good, constraints=constraints)).value == 1, constraints
        score = Constraints().score(item(bad, constraints=constraints))
        assert score.value < 1, constraints
        assert problem in score.reason, (constraints, score.reason)
        assert score.failure.startswith("Not followed"), constraints
    assert {name for constraints, *_ in KINDS for name in constraints} == {key.name for key in keys_of(ConstraintSet)}


def test_the_score_is_the_share_that_is_followed():
    both = {"words": {"max": 3}, "include": ["sea", "sky"], "no_commas": True}
    score = Constraints().score(item("<think>a, b, c, d, e</think>sea, land", constraints=both))
    assert score.value == 0.5
    assert score.reason == "2 of 4 constraints followed. The answer does not contain “sky”; contains a comma."


@pytest.mark.parametrize(
    "text", ["*" * 200_000, "[" * 200_000, "\n" * 200_000, "<<" * 100_000, "* a" * 70_000, "a." * 99_999]
)
def test_hostile_answers_take_little_time(text):
    began = time.process_time()
    for constraints, *_ in KINDS:
        checked(constraints, text)
    assert time.process_time() - began < 10


def test_a_fault_in_constraints_is_at_its_place():
    for constraints, where, fragment in (
        ([1], "", "must be a mapping of constraints, not a list"),
        ({"word": {"max": 1}}, "word", "did you mean words?"),
        ({"words": 3}, "words", "must be a mapping with min, max or both"),
        ({"words": {}}, "words", "is empty: enter min, max or both"),
        ({"words": {"min": 5, "max": 2}}, "words", "has the min 5 above the max 2"),
        ({"words": {"min": -1}}, "words.min", "it must be at least 0"),
        ({"words": {"min": True}}, "words.min", "must be a whole number of at least 0, not a boolean"),
        ({"words": {"min": "2"}}, "words.min", "must be a whole number"),
        ({"words": {"least": 2}}, "words.least", "unknown key"),
        ({"occurrences": [{"text": "a"}]}, "occurrences[0]", "has no bounds: enter min, max or both"),
        ({"occurrences": [{"text": "a", "most": 1}]}, "occurrences[0].most", "unknown key"),
        ({"letters": [{"letter": "ab", "min": 1}]}, "letters[0].letter", "the limit is 1"),
        ({"sections": {"min": 1}}, "sections.heading", "is missing"),
        ({"parts": {"divider": "*", "min": 3, "max": 1}}, "parts", "has the min 3 above the max 1"),
        ({"parts": {"divider": "*", "min": 3, "differ": 1}}, "parts.differ", "must be true or false"),
        ({"nth_paragraph": {"number": 0, "starts_with": "x"}}, "nth_paragraph.number", "must be at least 1"),
        ({"include": "sea"}, "include", "must be a list of texts"),
        ({"include": [" "]}, "include[0]", "is empty"),
        ({"include": ["x"] * 101}, "include", "the limit is 100"),
        ({"case": "UPPER"}, "case", "is not an allowed value"),
        ({"language": "klingon"}, "language", "is not an allowed value"),
        ({"no_commas": "yes"}, "no_commas", "must be true or false"),
        ({"starts_with": None}, "starts_with", "has no value"),
    ):
        task, problems = validate_task_fields(task_values(constraints=constraints))
        assert task is None, constraints
        assert list(problems) == ["constraints"], problems
        assert any(text.startswith(where) and fragment in text for text in problems["constraints"]), (where, problems)


def test_a_language_is_told_where_the_text_allows_it(monkeypatch):
    for text, language in (
        ("Dette er et kort svar om været i Oslo.", "no"),
        ("Det är ett kort svar om vädret.", "sv"),
        ("这是关于天气的简短回答。", "zh"),
        ("هذه إجابة قصيرة عن الطقس", "ar"),
        ("ಇದು ಹವಾಮಾನದ ಬಗ್ಗೆ ಒಂದು ಸಣ್ಣ ಉತ್ತರ.", "kn"),
        ("42", None),
        ("", None),
    ):
        assert language_of(text) == language, text
    score = Constraints().score(item("42", constraints={"language": "de"}))
    assert "too little text to tell whether its language is de" in score.reason
    monkeypatch.setattr("benchmarks.metrics.constraints.is_installed", lambda: False)
    score = Constraints().score(item("Das ist kurz.", constraints={"language": "de"}))
    assert score.status is ScoreStatus.METRIC_ERROR
    assert "requirements-text.txt" in score.reason
