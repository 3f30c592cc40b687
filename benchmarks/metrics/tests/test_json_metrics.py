from __future__ import annotations

import json
import time

import jsonschema
import pytest

from benchmarks.metrics.base import ScoreStatus
from benchmarks.metrics.json_match import JsonMatch
from benchmarks.metrics.json_schema import JsonSchema
from benchmarks.metrics.json_valid import JsonValid
from benchmarks.metrics.tests.factories import item

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "pattern": "^[A-Z]"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name"],
    "patternProperties": {"^x-": {"type": "string"}},
    "additionalProperties": False,
}
LISTS = {"type": "array", "uniqueItems": True, "items": {"type": ["integer", "string"]}}
CLOSED = {"type": "object", "additionalProperties": {"type": "number"}}

BOMB = {
    "$defs": {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)} | {"d40": {}},
    "$ref": "#/$defs/d0",
}


def test_json_valid():
    for actual, value in (
        ('{"a": 1}', 1),
        ("```json\n[1, 2]\n```", 1),
        ('Here: {"a": 1}', 0),
        ("def f():\n    return []", 0),
        ("null", 1),
        ("7", 1),
        ('{"a": 1,}', 0),
        ("{'a': 1}", 0),
        ('{"a": NaN}', 0),
        ("", 0),
        ("[" * 100_000, 0),
        ("9" * 10_000, 0),
    ):
        assert JsonValid().score(item(actual)).value == value, actual[:20]


def test_json_schema_agrees_with_jsonschema():
    for schema, actual in (
        (PERSON, '{"name": "Ada", "age": 36}'),
        (PERSON, '{"name": "ada"}'),
        (PERSON, '{"age": 3}'),
        (PERSON, '{"name": "Ada", "age": -1}'),
        (PERSON, '{"name": "Ada", "x-note": "hi"}'),
        (PERSON, '{"name": "Ada", "x-note": 1}'),
        (PERSON, '{"name": "Ada", "other": 1}'),
        (PERSON, "[]"),
        (LISTS, "[1, 2, 3]"),
        (LISTS, "[1, 2, 1]"),
        (LISTS, '[1, "1"]'),
        (LISTS, "[1, 1.0]"),
        (CLOSED, '{"a": 1}'),
        (CLOSED, '{"a": "1"}'),
        ({}, "null"),
        ({"$defs": {"n": {"type": "number"}}, "items": {"$ref": "#/$defs/n"}}, '[1, "x"]'),
    ):
        theirs = jsonschema.Draft202012Validator(schema).is_valid(json.loads(actual))
        assert JsonSchema().score(item(actual, schema=schema)).value == float(theirs), (schema, actual)


def test_json_schema_names_the_place_of_the_violation():
    score = JsonSchema().score(item('{"name": "Ada", "age": -1}', schema=PERSON))

    assert score.reason == "At $.age: -1 is less than the minimum of 0."


def test_an_answer_that_is_not_json_does_not_match_a_schema():
    assert JsonSchema().score(item("I would say 7", schema=PERSON)).value == 0


def test_an_unusable_schema_is_not_a_wrong_answer():
    for schema in (
        {"type": "nonsense"},
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"$ref": "file:///etc/passwd"},
        {"$ref": "#/$defs/missing"},
        {"$ref": "#"},
        {"pattern": "["},
        {"patternProperties": {"(?=a)": {}}},
        {"unevaluatedProperties": False, "patternProperties": {"a": {}}},
    ):
        score = JsonSchema().score(item('{"a": "a"}' if "pattern" not in schema else '"a"', schema=schema))
        assert score.status is ScoreStatus.METRIC_ERROR, schema


def test_a_schema_that_doubles_at_every_level_ends_at_the_limit_of_checks():
    score = JsonSchema().score(item('{"a": "a"}', schema=BOMB))

    assert score.status is ScoreStatus.METRIC_ERROR
    assert score.reason == "The task's schema is not usable: it takes more than 200,000 checks."


def test_a_schema_pattern_cannot_hang():
    started = time.process_time()

    score = JsonSchema().score(item('"' + "a" * 100_000 + '!"', schema={"pattern": "^(a+)+$"}))

    assert score.value == 0
    assert time.process_time() - started < 2


def test_json_match():
    for actual, expected, value in (
        ('{"a": 1, "b": 2}', '{"a": 1, "b": 2}', 1),
        ('{"b": 2, "a": 1.0}', '{"a": 1, "b": 2}', 1),
        ('{"a": 1, "b": 3}', '{"a": 1, "b": 2}', 1 / 2),
        ('{"a": 1}', '{"a": 1, "b": 2}', 1 / 2),
        ('{"a": 1, "b": 2, "c": 3}', '{"a": 1, "b": 2}', 2 / 3),
        ('{"a": true}', '{"a": 1}', 0),
        ('{"a": "1"}', '{"a": 1}', 0),
        ('{"a": null}', '{"a": null}', 1),
        ('{"a": {}}', '{"a": {}}', 1),
        ('{"a": []}', '{"a": {}}', 0),
        ("[1, 2, 3]", "[1, 2, 4]", 2 / 3),
        ('{"a": [{"b": 1}, {"b": 2}]}', '{"a": [{"b": 1}, {"b": 5}]}', 1 / 2),
        ('{"a": "cafe\u0301"}', '{"a": "caf\u00e9"}', 1),
        ('{"a.b": 1}', '{"a": {"b": 1}}', 0),
        ('{"a[0]": 1}', '{"a": [1]}', 0),
        ("7", "7", 1),
        ('```json\n{"a": 1}\n```', '{"a": 1}', 1),
    ):
        score = JsonMatch().score(item(actual, expected))
        assert score.value == pytest.approx(value), (actual, expected)


def test_json_match_names_the_fields_that_differ():
    score = JsonMatch().score(item('{"a": 1, "b": {"c": 3}, "e.f": 0}', '{"a": 1, "b": {"c": 2}, "d": [4]}'))

    assert score.reason == '1 of 4 fields are equal. Different: ["e.f"], b.c, d[0].'


def test_an_answer_without_comparable_json_is_unparsable_and_scores_zero():
    for actual in ("no", "", "[" * 1000, "[" + "1," * 30_000 + "1]", "[" * 200 + "]" * 200):
        assert JsonMatch().score(item(actual, '{"a": 1}')).status is ScoreStatus.UNPARSABLE, actual[:20]


def test_json_match_applies_if_json_is_expected():
    assert JsonMatch().applies_to(item(expected="[1]"))
    assert not JsonMatch().applies_to(item(expected="Paris"))
