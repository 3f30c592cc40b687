from __future__ import annotations

from benchmarks.metrics.base import ScoreStatus
from benchmarks.metrics.multiple_choice import MultipleChoice
from benchmarks.metrics.tests.factories import item

CAPITALS = ("Lyon", "Paris", "New York", "York")
CORRECT = (
    *("B", "b", "(B)", "B)", "**B**", "B. Paris", "B: because A is wrong", "B – Paris", "Answer: B"),
    *("Option B is right", "I think the answer is (B).", "Paris", "paris.", "It must be Paris, of course"),
    *("A and then\nAnswer: Paris", "The capital is B.", "I choose B because it is the capital", "A is wrong, so B."),
    *("B\n\nLyon is smaller, and A is wrong.", "A) Lyon\nB) Paris\nC) New York\nD) York\n\nIt is B."),
)
WRONG = ("A", "Lyon", "New York", "It is New York I guess", "D")
UNREADABLE = (
    "",
    "A town in France",
    "E",
    "A or B.",
    "Lyon or Paris",
    "I cannot say",
    "Option A or option B",
    "A) Paris",
)


def test_the_option_is_picked_by_letter_or_by_text():
    for value, answers in ((1, CORRECT), (0, WRONG)):
        for answer in answers:
            assert MultipleChoice().score(item(answer, "B", choices=CAPITALS)).value == value, answer


def test_no_option_or_two_is_unparsable_and_scores_zero():
    for answer in UNREADABLE:
        score = MultipleChoice().score(item(answer, "B", choices=CAPITALS))
        assert score.status is ScoreStatus.UNPARSABLE, answer


def test_the_expected_option_may_be_a_letter_or_a_text():
    for expected in ("B", "(b)", "Paris", "paris."):
        assert MultipleChoice().score(item("B", expected, choices=CAPITALS)).value == 1, expected


def test_an_option_that_is_itself_a_letter_means_its_text():
    assert MultipleChoice().score(item("B", "B", choices=("B", "A"))).value == 1
    assert MultipleChoice().score(item("A", "B", choices=("B", "A"))).value == 0


def test_it_applies_if_the_expected_answer_names_an_option():
    for expected, choices, applies in (
        ("B", (), True),
        ("Paris", (), False),
        ("E", CAPITALS, False),
        ("York", CAPITALS, True),
        ("", CAPITALS, False),
    ):
        assert MultipleChoice().applies_to(item("B", expected, choices=choices)) is applies, expected
