from __future__ import annotations

import pytest

from benchmarks.metrics.base import ScoreStatus
from benchmarks.metrics.multiple_choice import MultipleChoice
from benchmarks.metrics.tests.factories import item

CAPITALS = ("Lyon", "Paris", "New York", "York")


@pytest.mark.parametrize(
    ("actual", "value"),
    [
        ("B", 1),
        ("b", 1),
        ("(B)", 1),
        ("B)", 1),
        ("**B**", 1),
        ("B. Paris", 1),
        ("B: because A is wrong", 1),
        ("B – Paris", 1),
        ("Answer: B", 1),
        ("Option B is right", 1),
        ("I think the answer is (B).", 1),
        ("Paris", 1),
        ("paris.", 1),
        ("It must be Paris, of course", 1),
        ("A and then\nAnswer: Paris", 1),
        ("The capital is B.", 1),
        ("A", 0),
        ("Lyon", 0),
        ("New York", 0),
        ("It is New York I guess", 0),
        ("D", 0),
    ],
)
def test_the_option_is_chosen_by_letter_or_by_text(actual, value):
    assert MultipleChoice().score(item(actual, "B", choices=CAPITALS)).value == value


@pytest.mark.parametrize(
    "actual", ["", "A town in France", "E", "A or B.", "Lyon or Paris", "I cannot say", "Option A or option B"]
)
def test_no_option_or_two_is_unparsable_and_not_wrong(actual):
    assert MultipleChoice().score(item(actual, "B", choices=CAPITALS)).status is ScoreStatus.UNPARSABLE


@pytest.mark.parametrize("expected", ["B", "(b)", "Paris", "paris."])
def test_the_expected_option_may_be_a_letter_or_a_text(expected):
    assert MultipleChoice().score(item("B", expected, choices=CAPITALS)).value == 1


def test_an_option_that_is_itself_a_letter_means_its_text():
    assert MultipleChoice().score(item("B", "B", choices=("B", "A"))).value == 1
    assert MultipleChoice().score(item("A", "B", choices=("B", "A"))).value == 0


@pytest.mark.parametrize(
    ("expected", "choices", "applies"),
    [("B", (), True), ("Paris", (), False), ("E", CAPITALS, False), ("York", CAPITALS, True), ("", CAPITALS, False)],
)
def test_it_applies_where_the_expected_output_names_an_option(expected, choices, applies):
    assert MultipleChoice().applies_to(item("B", expected, choices=choices)) is applies
