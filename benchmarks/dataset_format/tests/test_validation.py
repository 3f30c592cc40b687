from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from benchmarks.dataset_format import as_mapping, limits, parse_dataset, validate_dataset_fields, validate_task_fields
from benchmarks.dataset_format.tests.examples import FULL, task_values

ADD = {
    "type": "function",
    "function": {
        "name": "add",
        "parameters": {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"]},
    },
}


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def use(argument: Any) -> list[dict[str, Any]]:
    return [{"name": "f", "args": {"x": argument}}]


def test_a_sound_task_comes_back_as_a_task() -> None:
    task, problems = validate_task_fields(task_values(difficulty="hard", expected_tools=[{"name": "f"}]))
    assert problems == {}
    assert task is not None
    assert (task.id, task.difficulty, task.expected_tools[0].args, task.line) == ("t1", "hard", {}, 0)


@pytest.mark.parametrize(
    ("changes", "key", "fragment"),
    [
        ({"input": ...}, "input", "is missing"),
        ({"name": None}, "name", "has no value"),
        ({"id": 1}, "id", "must be text in one line, not a number"),
        ({"id": "a\nb"}, "id", "one line"),
        ({"input": "a\ud800"}, "input", "U+D800"),
        ({"input": "a\0"}, "input", "U+0000"),
        ({"expected_output": dt.date(2024, 1, 31)}, "expected_output", "not a date"),
        ({"difficulty": "Easy"}, "difficulty", "did you mean easy?"),
        ({"dificulty": "easy"}, "dificulty", "did you mean difficulty?"),
        ({"context": ["fine", 3]}, "context", "[1]: must be text, not a number"),
        ({"expected_tools": use(float("nan"))}, "expected_tools", "[0].args.x: must be a finite"),
        ({"expected_tools": use(2**63)}, "expected_tools", "64 bits"),
        ({"expected_tools": [{"name": "f", "args": {1: 2}}]}, "expected_tools", "keys must be text"),
        ({"expected_tools": use({1, 2})}, "expected_tools", "not a set"),
        ({"expected_tools": use(nested(limits.MAX_DEPTH))}, "expected_tools", "nested more than"),
        ({"tolerance": float("inf")}, "tolerance", "finite"),
        ({"tolerance": 10**400}, "tolerance", "finite"),
        ({"choices": ["a", "b", "a"]}, "choices", "[2]: \"a\" is given twice, first at choices[0]"),
        ({"tests": "def"}, "tests", "is no Python"),
        ({"tests": "x" * (limits.MAX_TESTS + 1)}, "tests", "at most 100,000"),
        ({"pattern": "("}, "pattern", "is no regular expression"),
        ({"schema": {"type": "nope"}}, "schema", "type: is no JSON Schema"),
        ({"schema": {"items": {"$ref": "#/$defs/x/0"}, "$defs": {"x": {}}}}, "schema", "leads nowhere"),
        ({"tools": [ADD, ADD]}, "tools", "first at tools[0].function.name"),
        ({"tools": [ADD], "expected_tools": [{"name": "sub"}]}, "expected_tools", "not among the tools"),
        ({"tools": [ADD], "expected_tools": [{"name": "add", "args": {"b": 1}}]}, "expected_tools", 'lacks "a"'),
    ],
)  # fmt: skip
def test_a_mistake_is_told_at_its_key(changes: dict[str, Any], key: str, fragment: str) -> None:
    task, problems = validate_task_fields(task_values(**changes))
    assert task is None
    assert list(problems) == [key]
    (message,) = problems[key]
    assert fragment in message


def test_all_mistakes_of_a_task_are_told_at_once() -> None:
    _, problems = validate_task_fields({"id": 1, "name": "", "context": [1, 2], "extra": True})
    assert {key: len(messages) for key, messages in problems.items()} == {
        "id": 1, "name": 1, "input": 1, "expected_output": 1, "context": 2, "extra": 1,
    }  # fmt: skip


def test_the_tools_of_the_dataset_count_for_a_task_without_its_own() -> None:
    values = task_values(expected_tools=[{"name": "sub"}])
    assert validate_task_fields(values)[1] == {}
    assert list(validate_task_fields(values, dataset_tools=[ADD])[1]) == ["expected_tools"]


@pytest.mark.parametrize(
    "parameters",
    [
        {"type": "object", "properties": {"a": {}}, "additionalProperties": True},
        {"type": "object", "properties": {"a": {}}, "patternProperties": {"^z": {}}},
        {"type": "object", "anyOf": [{"properties": {"z": {}}}]},
    ],
)
def test_arguments_that_the_parameters_leave_open_are_allowed(parameters: dict[str, Any]) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": parameters}}
    _, problems = validate_task_fields(task_values(tools=[tool], expected_tools=[{"name": "f", "args": {"z": 1}}]))
    assert problems == {}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/a~1b", "$defs": {"a/b": {}}},
        {"$ref": "#"},
        {"allOf": [{}, {"$ref": "#/allOf/0"}]},
        {"properties": {"$ref": {"type": "string"}}},
        {"enum": [{"$ref": "https://example.com"}]},
        {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]},
    ],
)
def test_references_inside_a_schema_and_mentions_of_others_are_allowed(schema: dict[str, Any]) -> None:
    assert validate_task_fields(task_values(schema=schema))[1] == {}


def test_a_faulty_task_does_not_hide_what_is_wrong_in_the_next() -> None:
    values = {
        "name": "n", "description": "d", "tools": [ADD],
        "tasks": [task_values(id=1), task_values(id="b", expected_tools=[{"name": "ad"}])],
    }  # fmt: skip
    assert set(validate_dataset_fields(values)[1]) == {"tasks[0].id", "tasks[1].expected_tools[0].name"}


def test_results_of_unknown_tools_are_told() -> None:
    values = {"name": "n", "description": "d", "tool_results": {"ad": 1}, "tasks": [task_values(tools=[ADD])]}
    (message,) = validate_dataset_fields(values)[1]["tool_results.ad"]
    assert "did you mean add?" in message


def test_the_yaml_path_and_the_values_path_give_equal_datasets() -> None:
    spec = parse_dataset(FULL.encode(), "full.yaml").spec
    assert spec is not None
    assert validate_dataset_fields(as_mapping(spec)) == (spec, {})
