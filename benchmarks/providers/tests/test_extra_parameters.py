"""Parameters that are sent as they are: what may be given, and how people type them."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.providers.extra_parameters import SET_ELSEWHERE, pair_of, parsed_pairs, problems_of, typed

GOOD = {
    "reasoning_effort": "low",
    "stop": ["END", "\n\n"],
    "top_k": 40,
    "min_p": 0.05,
    "logit_bias": {"50256": -100},
    "parallel_tool_calls": False,
    "response_format": {"type": "json_object"},
    "max_completion_tokens": 2000,
    "user": None,
}
deep: Any = []
for _ in range(100_000):
    deep = [deep]
BAD: list[tuple[Any, str]] = [
    (["top_k"], "Send an object"),
    ("top_k=1", "Send an object"),
    ({"": 1}, "is not a name"),
    ({"a b": 1}, "is not a name"),
    ({"x" * 200: 1}, "is not a name"),
    ({3: 1}, "is not a name"),
    ({"top_k": float("nan")}, "not JSON"),
    ({"top_k": {1, 2}}, "not JSON"),
    ({"top_k": 2**80}, "not JSON"),
    ({"stop": "a\0b"}, "not JSON"),
    ({"stop": "\ud800"}, "not JSON"),
    ({"stop": deep}, "not JSON"),
    ({"stop": "x" * 30_000}, "Shorten them"),
    ({f"p{n}": n for n in range(60)}, "too many"),
]


def test_parameters_of_vendors_are_accepted() -> None:
    assert problems_of(GOOD) == []


def test_names_that_are_set_elsewhere_are_refused_with_that_place() -> None:
    for name, place in SET_ELSEWHERE.items():
        assert problems_of({name: 1}) == [f"{name} cannot be set here. {place}."]


def test_what_cannot_be_sent_is_refused() -> None:
    for parameters, says in BAD:
        assert says in " ".join(problems_of(parameters)), says


def test_values_are_typed_as_json_or_as_a_plain_word() -> None:
    texts = ["reasoning_effort=low", 'stop=["END"]', "top_k=40", "user=null", 'tag="true"', "on=true", "m=a/b:c=d"[:7]]
    expected = {"reasoning_effort": "low", "stop": ["END"], "top_k": 40, "user": None, "tag": "true", "on": True}
    assert parsed_pairs(map(pair_of, texts)) == expected | {"m": "a/b:c"}


def test_what_is_typed_can_be_typed_again() -> None:
    given = {**GOOD, "tag": "true", "text": "two words", "number": "7"}
    assert parsed_pairs(typed(given)) == given


@pytest.mark.parametrize(
    ("pairs", "says"),
    [
        ([("stop", "[END")], "neither JSON nor a plain word"),
        ([("stop", "two words")], "in double quotes"),
        ([("top_k", "NaN")], "neither JSON nor a plain word"),
        ([("top_k", "")], "neither JSON nor a plain word"),
        ([("top_k", "1"), ("top_k", "2")], "given twice"),
    ],
)
def test_what_is_neither_json_nor_a_word_is_refused(pairs: list[tuple[str, str]], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parsed_pairs(pairs)


def test_an_option_without_an_equals_sign_is_refused() -> None:
    for text in ("top_k", "=1", ""):
        with pytest.raises(ValueError, match="is not NAME=VALUE"):
            pair_of(text)
