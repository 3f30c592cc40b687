"""Each scoring rule is a table: expected answer, reply, value (None is unparsable)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.tasks.answers import judge_count, judge_directions, judge_phrase, judge_shape, judge_yes_no
from tasks_app.tasks.verdict import Status


def table(*rows: tuple[str, str, float | None]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("expected", "reply", "value"), rows)


@table(
    ("Yes", "Yes", 1),
    ("Yes", "yes.", 1),
    ("Yes", "**Yes**", 1),
    ("Yes", "Yes, there is a red circle.", 1),
    ("Yes", "Yes, there is no doubt about it.", 1),
    ("Yes", "No", 0),
    ("No", "No.", 1),
    ("No", "There is no red circle.", 1),
    ("No", "There isn't a red circle.", 1),
    ("No", "Yes", 0),
    ("No", "Nothing is known; it is noted", None),
    ("Yes", "yesterday", None),
    ("No", "", None),
    ("No", "   \n", None),
    ("Yes", "Yes or no", None),
    ("Yes", "Yes and no.", None),
    ("Yes", "Yes/No", None),
    ("Yes", "There is a circle.", 1),
)
def test_yes_and_no_are_read_as_whole_words(expected: str, reply: str, value: float | None) -> None:
    assert judge_yes_no(expected, reply).value == value


@table(
    ("Yes", "There is no green one, so I look again.\nAnswer: Yes", 1),
    ("No", "Is it red? Yes. Is it small? No.\n\nAnswer: No.", 1),
    ("Yes", "Answer: No\nWait, I missed one.\nAnswer: Yes", 1),
    ("Yes", "**Answer:** Yes", 1),
    ("Yes", "**Answer**: Yes", 1),
    ("Yes", "Final answer: *Yes*", 1),
    ("Yes", "The answer is: yes", 1),
    ("Yes", "ANSWER: YES", 1),
    ("Yes", "Answer:\n\nYes", 1),
    ("Yes", "Answer: Yes\nAnswer:", 1),
    ("Yes", "Therefore \\boxed{Yes}", 1),
    ("Yes", "Answer: Yes, because there is no other.", 1),
    ("No", "Answer: Yes and no", None),
    ("Yes", "<think>No, no, no.</think>Yes", 1),
    ("Yes", "<think>Yes, I am sure of it", None),
    ("No", "Yes, it is there. Let me check again. So the reply has to be no.", None),
)
def test_the_final_answer_counts(expected: str, reply: str, value: float | None) -> None:
    assert judge_yes_no(expected, reply).value == value


@table(
    ("No", "I do not know.", 0),
    ("Yes", "I don’t know", 0),
    ("No", "Answer: Not enough information", 0),
    ("No", "There is not enough information to say yes or no.", 0),
    ("No", "It cannot be determined.", 0),
    ("Yes", "Unknown", 0),
    ("No", "I have no idea.", 0),
)
def test_not_enough_information_is_wrong_rather_than_unparsable(expected: str, reply: str, value: float) -> None:
    verdict = judge_yes_no(expected, reply)
    assert (verdict.value, verdict.status, verdict.extracted) == (value, Status.WRONG, "not enough information")


@pytest.mark.parametrize("judge", [judge_count, judge_directions, judge_shape])
def test_not_enough_information_is_worth_nothing_for_any_kind_of_answer(judge) -> None:
    expected = {judge_count: "0", judge_directions: "Left", judge_shape: "small red circle"}[judge]
    assert judge(expected, "There is not enough information.").status is Status.WRONG


@table(
    ("0", "0", 1),
    ("0", "There are 10.", 0),
    ("10", "There are 10.", 1),
    ("1", "There are 10.", 0),
    ("2", "There are two.", 1),
    ("2", "Two", 1),
    ("0", "zero", 1),
    ("0", "None", 1),
    ("0", "There are no red circles.", 1),
    ("0", "There are 3, no more.", 0),
    ("2", "2.", 1),
    ("2", "2.0", 1),
    ("2", "02", 1),
    ("2", "2.5", 0),
    ("2", "-2", 0),
    ("24", "twenty-four", 1),
    ("24", "Twenty four shapes", 1),
    ("20", "twenty-four", 0),
    ("4", "twenty-four", 0),
    ("1000", "1,000", 1),
    ("2", "2 (one red and one blue)", 1),
    ("2", "Answer: 2 circles, 1 of them large", 1),
    ("2", "The first is at 3, the second at 7. So there are 2.", 1),
    ("3", "Of 7 shapes 3 are red", 1),
    ("3", "2 or 3", None),
    ("3", "Answer: 2 or 3", None),
    ("1", "someone", None),
    ("1", "There is a circle.", None),
    ("0", "I do not see it", None),
)
def test_numbers_are_read_in_digits_and_in_words(expected: str, reply: str, value: float | None) -> None:
    assert judge_count(expected, reply).value == value


@table(
    ("Left", "Left.", 1),
    ("Left", "left", 1),
    ("Left", "It is to the left of the square.", 1),
    ("Left", "Right", 0),
    ("Left", "leftover", None),
    ("Above Left", "Above Left", 1),
    ("Above Left", "above-left", 1),
    ("Above Left", "Left and above", 1),
    ("Above Left", "upper left", 1),
    ("Above Left", "top-left", 1),
    ("Below Right", "lower right", 1),
    ("Above Left", "left left", 0.5),
    ("Above Left", "Above", 0.5),
    ("Above Left", "Below Left", 0),
    ("Above Left", "Below Right", 0),
    ("Above Left", "above left right", None),
    ("Above Left", "above, below, left, right", None),
    ("Above Left", "Below", 0),
    ("Left", "Above Left", 0.5),
    ("Left", "Above Below Left", None),
    ("Above Left", "The square is below right of it.\nAnswer: Above Left", 1),
    ("Above Left", "The blue one is at the right and below. So the red one lies above left.", 1),
    ("Above", "That's right. Above", 1),
    ("Left", "no direction", None),
    ("Left", "", None),
)
def test_directions_share_a_point_and_a_wrong_one_takes_half_off(
    expected: str, reply: str, value: float | None
) -> None:
    assert judge_directions(expected, reply).value == value


@table(
    ("large blue square", "large blue square", 1),
    ("large blue square", "The large blue square.", 1),
    ("large blue square", "Large Blue Square", 1),
    ("large blue square", "a blue, large square", 1),
    ("large blue square", "small blue square", 0),
    ("large blue square", "blue square", 0),
    ("large blue square", "enlarge blue squarely", None),
    ("large blue square", "large blue square or small red circle", None),
    ("large blue square", "The large blue square", 1),
    ("large blue square", "First was the small red circle. Now it is the large blue square.", 1),
    ("large blue square", "The small red circle and the large blue square swap.\nAnswer: large blue square", 1),
    ("large blue square", "it is large", None),
    ("large blue square", "", None),
)
def test_a_shape_is_named_by_size_color_and_shape(expected: str, reply: str, value: float | None) -> None:
    assert judge_shape(expected, reply).value == value


@table(
    ("No", "I do not know.", 0),
    ("red", "It is red.", 1),
    ("red", "It is reddish.", 0),
    ("red", "Answer: blue, not like the one before\nAnswer: red", 0),
    ("red", "Answer: blue\nNo, I looked at the wrong one.\nAnswer: red", 1),
    ("red", "It is not red.", 0),
    ("red", "red at first sight.\nAnswer: blue", 0),
    ("2", "There are two.", 1),
    ("Above Left", "above-left", 1),
    ("not enough information", "Not enough information", 1),
    ("red", "...", None),
)
def test_by_default_the_answer_has_to_contain_the_expected_one_as_whole_words(
    expected: str, reply: str, value: float | None
) -> None:
    assert judge_phrase(expected, reply).value == value


def test_a_verdict_tells_partial_from_wrong_from_unparsable() -> None:
    assert judge_directions("Above Left", "Above").status is Status.PARTIAL
    assert judge_directions("Above Left", "Below").status is Status.WRONG
    assert judge_directions("Above Left", "banana").status is Status.UNPARSABLE


@pytest.mark.parametrize("judge", [judge_phrase, judge_yes_no, judge_count, judge_directions, judge_shape])
@pytest.mark.parametrize(
    "piece",
    ["Answer:", "yes no ", "<think>", "1,000,", "large blue ", "\\boxed{", "- ", "cannot be ", "9" * 50, "\u202e\x00"],
)
def test_a_hostile_reply_is_judged_in_linear_time(judge, piece: str) -> None:
    started = time.process_time()
    judge("7", piece * (200_000 // len(piece)))
    assert time.process_time() - started < 2


# Answers each judge may expect, and the words that replies to it are made of: nonsense alone would be told at once.
EXPECTED = {
    judge_phrase: ("Red", "the second one"),
    judge_yes_no: ("Yes", "No"),
    judge_count: ("0", "7", "24"),
    judge_shape: ("small red circle", "large green triangle"),
    judge_directions: ("Left", "Above Right"),
}
WORDS = (
    "Answer:",
    "yes",
    "no",
    "not",
    "above",
    "left",
    "right-",
    "ten",
    "3",
    "³",
    "-1e9",
    "small",
    "red",
    "circle",
    "**",
    "\n",
    "\x00",
    "\ud800",
)


@given(st.lists(st.sampled_from(WORDS) | st.text(max_size=5), max_size=12).map(" ".join))
def test_any_reply_is_worth_something_in_range_or_says_why_it_cannot_be_read(reply: str) -> None:
    for judge, answers in EXPECTED.items():
        for expected in answers:
            verdict = judge(expected, reply)
            assert verdict.reason
            if verdict.value is None:
                assert verdict.status is Status.UNPARSABLE
            else:
                assert 0 <= verdict.value <= 1
                assert (verdict.value == 1) == (verdict.status is Status.CORRECT)


def test_a_wrong_reply_says_in_a_few_words_what_is_wrong() -> None:
    for judge, expected, reply, failure in (
        (judge_yes_no, "No", "Yes", "Said yes instead of no"),
        (judge_yes_no, "No", "No", ""),
        (judge_yes_no, "No", "I do not know", "Said there is not enough information"),
        (judge_yes_no, "No", "Yes or no", "Several answers"),
        (judge_yes_no, "No", "perhaps", "No answer found"),
        (judge_count, "3", "2", "Counted one too few"),
        (judge_count, "3", "7", "Counted two or more too many"),
        (judge_count, "3", "2.5", "Counted one too few"),
        (judge_shape, "small red circle", "large red circle", "Wrong size"),
        (judge_shape, "small red circle", "small blue circle", "Wrong color"),
        (judge_shape, "small red circle", "small red square", "Wrong shape"),
        (judge_shape, "small red circle", "large blue square", "Named a different shape"),
        (judge_shape, "small red circle", "the red circle", "Named the shape incompletely"),
        (judge_directions, "above left", "above right", "Left and right swapped"),
        (judge_directions, "above", "below", "Above and below swapped"),
        (judge_directions, "above left", "below right", "Both directions swapped"),
        (judge_directions, "above left", "left", "A direction is missing"),
        (judge_directions, "left", "above left", "One direction too many"),
        (judge_directions, "left", "above", "Different direction"),
    ):
        assert judge(expected, reply).failure == failure, (expected, reply)
