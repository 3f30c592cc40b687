from __future__ import annotations

import pytest

from benchmarks.providers.systems.templates import filled, filled_path, problem_of

VALUES = {
    "input": 'Say "hi" {metadata.user}',
    "context": ["First.", "Second."],
    "messages": [{"role": "user", "content": "hi"}],
    "metadata": {"user": "ada", "age": 36, "deep": {"er": [1]}},
    "parameters": {},
    "tools": [],
    "model": None,
    "id": "t1",
    "conversation_id": "c1",
}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{input}", VALUES["input"]),
        ("{context}", ["First.", "Second."]),
        ("{messages}", VALUES["messages"]),
        ("{metadata.age}", 36),
        ("{metadata.deep.er}", [1]),
        ("{metadata.nobody}", None),
        ("{metadata.user.name}", None),
        ("{model}", None),
        ("of {model}.", "of ."),
        ("{id}: {context}", "t1: First.\n\nSecond."),
        ("{id} {metadata.deep}", 't1 {"er":[1]}'),
        ("{{input}}", "{input}"),
        ({"q": ["{input}", 1, None, {"{id}": True}]}, {"q": [VALUES["input"], 1, None, {"t1": True}]}),
    ],
)
def test_names_are_replaced_once_and_alone_by_their_json(template, expected):
    assert problem_of(template) is None
    assert filled(template, VALUES) == expected


@pytest.mark.parametrize(
    "template", ["{question}", "{input", "}", "{input.__class__}{0}", "{ input }", {"{x}": 1}, ["{}"]]
)
def test_a_template_that_cannot_be_filled_is_named_with_what_can(template):
    assert "is not a placeholder. Use {input}, {context}" in (problem_of(template) or "")


def test_a_value_in_a_path_adds_no_part_and_no_parameter():
    values = {**VALUES, "input": "a/../b?x=1&y=#z ü"}

    assert filled_path("/ask/{id}?q={input}", values) == "/ask/t1?q=a%2F..%2Fb%3Fx%3D1%26y%3D%23z%20%C3%BC"


def test_a_template_that_nests_too_deeply_is_refused():
    template: object = "{input}"
    for _ in range(100):
        template = [template]

    assert "nests deeper" in (problem_of(template) or "")
