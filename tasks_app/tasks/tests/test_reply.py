from __future__ import annotations

import re

import pytest

from tasks_app.tasks.reply import MAX_PASSAGE, MAX_READ, MAX_SEARCHED, marked_answers, read_reply, unwrap

MEGABYTE = 1_000_000


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+", text))


@pytest.mark.parametrize(
    ("output", "values"),
    [
        ("5", {"5"}),
        ("Answer: 5", {"5"}),
        ("First 3, then 4.\nAnswer: 5", {"5"}),
        ("Answer: 4\nNo, I forgot one.\nAnswer: 5", {"5"}),
        ("Answer: 4\nAnswer: 5", {"4", "5"}),
        ("Answer: 4. Answer: 5", {"4", "5"}),
        ('Answer: 5\n\n(The text says "Answer: 4".)', {"5"}),
        ('"Answer: 5"', {"5"}),
        ("Answer: 5\nAnswer:", {"5"}),
        ("Answer: none\nThe 5 is a trap.", set()),
        ("The answer is 4. Wait, that is wrong. The answer is 5.", {"5"}),
        ("If the answer is 4, there is a mistake. It is 5.", {"5"}),
        ("The answer is not 4. It is 5.", {"5"}),
        ("\\boxed{4} looked right. But it is \\boxed{5}.", {"5"}),
        ("\\boxed{4}, \\boxed{5}", {"4", "5"}),
        ("### Answer\n\n**5**", {"5"}),
        ("First 3, then 4. So 5.", {"5"}),
        ("5, because 3 + 2 are as many.", {"5"}),
        ("5 (3 and 2)", {"5"}),
        ("5 or 6", {"5", "6"}),
        ("5, 6", {"5", "6"}),
        ("5. That is one less than 6.", {"5", "6"}),
        ("1. three\n2. two\n\nThat makes 5.", {"5"}),
        ("Are there 4? There are 5.", {"5"}),
        ("<think>4</think>5", {"5"}),
        ("<think>4", set()),
        ("", set()),
    ],
)
def test_the_final_answer_is_read_and_contradictions_are_kept(output: str, values: set[str]) -> None:
    assert read_reply(output, numbers).values == values


def test_marks_next_to_each_other_are_one_group() -> None:
    groups = marked_answers("Answer: 1\nHm.\nAnswer: 2\n**Final answer:** \\boxed{3}")

    assert [[answer.text for answer in group] for group in groups] == [["2", "3"], ["1"]]


def test_unwrapping_removes_what_is_around_an_answer() -> None:
    for text, inner in (
        ("**Paris**.", "Paris"),
        ("**Paris.**", "Paris"),
        ('"Paris."', "Paris"),
        ("\\(\\text{Paris}\\)", "Paris"),
        ("<Paris>", "Paris"),
        ("U.S.", "U.S."),
        ("Ph.D.", "Ph.D."),
        ("Hm...", "Hm..."),
        ("1.7, 8.6: pump.", "1.7, 8.6: pump"),
        ("**It rains. It snows.**", "It rains. It snows"),
        ("**a** or **b**", "**a** or **b**"),
        ("$", "$"),
        ("", ""),
    ):
        assert unwrap(text) == inner


def test_of_a_megabyte_only_a_few_thousand_characters_are_read() -> None:
    for piece in ("5 ", "Answer: 5 ", "Answer: 5\n", "\\boxed{5}", "The answer is 5. ", "5. ", "(5", "```\n", "5" * 99):
        read: list[int] = []

        def find(text: str, read: list[int] = read) -> set[str]:
            read.append(len(text))
            return numbers(text)

        read_reply(piece * (MEGABYTE // len(piece)), find)
        assert max(read) <= max(MAX_READ + 1, MAX_PASSAGE), piece
        assert sum(read) <= 60 * MAX_PASSAGE, piece


def test_marks_are_searched_in_a_limited_number_of_characters() -> None:
    text = "Answer: 5" + "\n" + "-" * MAX_SEARCHED

    assert marked_answers(text) == []
    assert [[answer.text for answer in group] for group in marked_answers(text[: MAX_SEARCHED // 2])] == [["5"]]
