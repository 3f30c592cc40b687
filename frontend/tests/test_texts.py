from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontend.templatetags.show import wrapped
from frontend.texts import (
    DIFF_LENGTH,
    TEXT_BUDGET,
    call_pairs,
    difference,
    differing_fields,
    excerpt,
    has_layout,
    turns,
    wrapped_lines,
)


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_segments_of_a_difference_are_the_texts_again(left: str, right: str) -> None:
    marked = difference(left, right)
    if marked is not None:
        assert "".join(text for _, text in marked.left) == left
        assert "".join(text for _, text in marked.right) == right
        assert "".join(text for kind, text in marked.both if kind != "added") == left
        assert "".join(text for kind, text in marked.both if kind != "removed") == right
        assert marked.equal == (left == right)


def test_a_difference_in_one_text_ends_before_the_space_that_both_have() -> None:
    marked = difference("Think of Easter Island first.", "Think of Bhutan first.")
    assert marked is not None
    assert marked.both == (
        ("same", "Think of "),
        ("removed", "Easter Island"),
        ("added", "Bhutan"),
        ("same", " "),
        ("same", "first."),
    )


def test_compact_json_wraps_between_its_members() -> None:
    assert wrapped('{"a":1,"b":"<i>"}') == "{&quot;a&quot;:1,<wbr>&quot;b&quot;:&quot;&lt;i&gt;&quot;}"


def test_only_words_that_differ_are_marked() -> None:
    marked = difference("the answer is 42 apples", "the answer is 43 apples")
    assert marked is not None
    assert [text for kind, text in marked.left if kind == "removed"] == ["42"]
    assert [text for kind, text in marked.right if kind == "added"] == ["43"]


def test_long_texts_with_little_in_common_are_not_marked_all_over() -> None:
    assert difference("-".join(["alpha"] * 20), "1 2 3 4 5 6 7 8 9") is None


def test_a_short_answer_is_marked_even_if_all_of_it_differs() -> None:
    marked = difference("yes", "no")
    assert marked is not None
    assert (marked.left, marked.right) == ((("removed", "yes"),), (("added", "no"),))


def test_what_stands_between_two_changes_is_marked_with_them() -> None:
    marked = difference("the old grey house stands", "the new red house stands")
    assert marked is not None
    assert marked.left == (("same", "the "), ("removed", "old grey"), ("same", " house stands"))
    assert marked.right == (("same", "the "), ("added", "new red"), ("same", " house stands"))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("a b " * (DIFF_LENGTH // 4), "b a " * (DIFF_LENGTH // 4)),
        ("".join(f"{n}." for n in range(1_300)), "".join(f"{n}," for n in range(1_300))),
        ("." * DIFF_LENGTH, "." * (DIFF_LENGTH - 1)),
    ],
)
def test_hostile_texts_are_compared_in_bounded_time(left: str, right: str) -> None:
    before = process_time()
    marked = difference(left, right)
    assert process_time() - before < 1
    assert marked is not None
    assert "".join(text for _, text in marked.right) == right


def test_texts_too_long_to_compare_are_not_compared() -> None:
    assert difference("x" * (DIFF_LENGTH + 1), "x") is None


def test_an_excerpt_says_how_much_it_leaves_out() -> None:
    shown = excerpt("abcdef", 4)
    assert (shown.text, shown.left_out) == ("abcd", 2)


def test_turns_together_stay_within_their_budget() -> None:
    long = [{"role": "user", "content": "y" * TEXT_BUDGET} for _ in range(10)]
    shown = turns(long)
    assert sum(len(turn.text.text) for turn in shown) <= TEXT_BUDGET
    assert all(turn.text.left_out > 0 for turn in shown)


def test_a_turn_of_parts_shows_its_text_and_counts_its_pictures() -> None:
    parts = [{"type": "text", "text": "Look:"}, {"type": "picture"}, {"type": "picture"}]
    (turn,) = turns([{"role": "user", "content": parts}])
    assert (turn.text.text, turn.pictures) == ("Look:", 2)


def test_an_assistant_turn_without_text_shows_its_tool_calls() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    (turn,) = turns([{"role": "assistant", "content": None, "tool_calls": [call]}])
    assert turn.calls == ('add({"a": 1})',)


def test_calls_of_one_name_are_paired_and_missing_ones_leave_a_gap() -> None:
    expected = [{"name": "search", "args": {"q": "x"}}, {"name": "read", "args": {"id": 1}}]
    made = [{"name": "read", "arguments": {"id": 1}, "raw": '{"id": 1}', "malformed": False}]
    pairs = call_pairs(expected, made)
    assert [(pair.expected is not None, pair.made is not None, pair.equal) for pair in pairs] == [
        (True, False, False),
        (True, True, True),
    ]


def test_a_malformed_call_is_shown_as_it_came() -> None:
    (pair,) = call_pairs([], [{"name": "add", "arguments": None, "raw": "{a:", "malformed": True}])
    assert (pair.made, pair.malformed, pair.equal) == ("add({a:)", True, False)


FULL = "Along its whole boundary stand posts at distances of 1.5 m, one of them"


def test_only_breaks_that_wrap_full_lines_of_prose_are_soft() -> None:
    wrapped = f"{FULL}\n{FULL}\nin every corner."
    assert [soft for _, soft in wrapped_lines(wrapped)] == [True, True, False]
    for kept in ("Roses are red\nviolets are blue", f"{FULL}\nNo.\n{FULL}", f"{FULL}\n\n{FULL}", f"- {FULL}\n- {FULL}"):
        assert not any(soft for _, soft in wrapped_lines(kept)), kept
    table = f"| {FULL} |\n| {FULL} |"
    assert not any(soft for _, soft in wrapped_lines(table))


@given(st.text(alphabet="ab \n|", max_size=400))
def test_lines_joined_by_breaks_are_the_text_again(text: str) -> None:
    assert "\n".join(line for line, _ in wrapped_lines(text)) == text


@pytest.mark.parametrize("text", ["def f():\n    return 1", "| a | b |", "a    b", "```\nx\n```", "One:\n- a\n- b"])
def test_code_tables_and_lists_have_a_layout(text: str) -> None:
    assert has_layout(text)
    assert not has_layout("How many posts are there?\n\nExplain briefly.")


def test_json_answers_are_compared_by_field() -> None:
    found = differing_fields(
        '{"page": 2, "tags": ["a"], "q": "x"}', '```json\n{"page": 3, "tags": ["a"], "new": true}\n```'
    )
    assert found is not None
    assert found.rows == [("new", None, "true"), ("page", "2", "3"), ("q", '"x"', None)]
    assert (found.n_differing, found.n_fields) == (3, 4)


def test_a_field_with_half_a_surrogate_pair_can_be_sent() -> None:
    found = differing_fields('{"a": 1}', r'{"a": "\ud800"}')
    assert found is not None
    assert found.rows == [("a", "1", r'"\ud800"')]


@pytest.mark.parametrize(("expected", "answer"), [("plain", '{"a": 1}'), ('{"a": 1}', "plain"), ("12", "13")])
def test_what_has_no_fields_is_not_compared_by_field(expected: str, answer: str) -> None:
    assert differing_fields(expected, answer) is None
