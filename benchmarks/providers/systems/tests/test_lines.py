"""The schema of the lines that programs read and write agrees with what is sent and read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from benchmarks.providers.base import AskedTask, ChatRequest
from benchmarks.providers.steps import KINDS, Step
from benchmarks.providers.systems import tasks
from benchmarks.providers.systems.replies import FIELDS, system_reply
from benchmarks.providers.systems.tasks import TASK_VERSION, task_line

SCHEMA = json.loads(Path(tasks.__file__).with_name("lines.schema.json").read_text(encoding="utf-8"))
TASK, REPLY = (Draft202012Validator(SCHEMA["$defs"][name]) for name in ("task", "reply"))


@pytest.mark.parametrize("model", ["", "fast"])
def test_a_line_of_a_task_is_as_the_schema_says(model: str) -> None:
    asked = AskedTask("t1", "How high?", ("330 m",), {"user": "ada"}, "c1")
    request = ChatRequest(model, [{"role": "user", "content": "How high?"}], temperature=0.0, task=asked)
    line = {"request": 1, **task_line(request)}

    TASK.validate(line)
    assert line.keys() == SCHEMA["$defs"]["task"]["properties"].keys()
    assert SCHEMA["$defs"]["task"]["properties"]["version"]["const"] == TASK_VERSION
    assert line["parameters"] == {"temperature": 0.0}


def test_the_schema_has_every_field_of_a_reply() -> None:
    described = SCHEMA["$defs"]["reply"]["anyOf"][1]["properties"]

    assert set(described) == {*FIELDS, "request"}


@pytest.mark.parametrize(
    "reply",
    [
        {"answer": "330 m", "retrieved": ["It is 330 m high."], "cost_usd": 0.1, "tokens_in": 3, "model": "m"},
        {"answer": {"meters": 330}, "tool_calls": [{"name": "search", "arguments": {"q": "x"}}]},
        {"answer": "330 m", "steps": [{"kind": "tool_call", "name": "search", "arguments": {"q": "x"}, "depth": 1}]},
    ],
)
def test_a_reply_as_the_schema_says_is_read_without_a_note(reply: dict[str, Any]) -> None:
    REPLY.validate(reply)

    assert system_reply(reply).notes == ()


def test_the_schema_has_every_field_and_kind_of_a_step() -> None:
    described = SCHEMA["$defs"]["reply"]["anyOf"][1]["properties"]["steps"]["items"]["properties"]

    assert set(described) == set(Step.__dataclass_fields__)
    assert tuple(described["kind"]["enum"]) == KINDS
