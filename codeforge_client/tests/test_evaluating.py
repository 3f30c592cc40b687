"""Functions that are asked by the client: an answer that cannot be stored costs its own task, and is counted."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import IO, Any

import pytest
from django.test import Client as Site
from rest_framework.exceptions import ValidationError

from benchmarks.services.pushes.requests import ResultRequest
from codeforge_client import ApiError, Client
from codeforge_client.client import API
from codeforge_client.evaluating import TAKEN
from tests.support.factories import make_dataset

pytestmark = pytest.mark.django_db

BAD: list[tuple[str, Any]] = [
    ("answer", 5),
    ("reasoning", ["a"]),
    ("retrieved", "a passage"),
    ("retrieved", [1]),
    ("retrieved", ["a"] * 1_001),
    ("retrieved", ["a" * 100_001]),
    ("tool_calls", {"name": "search"}),
    ("tool_calls", [{"name": "search", "args": {}}]),
    ("tool_calls", [{"name": " ", "arguments": {}}]),
    ("tool_calls", [{"name": "a" * 201}]),
    ("tool_calls", [{"name": "search", "arguments": "q"}]),
    ("steps", "thought"),
    ("tokens_in", "many"),
    ("tokens_in", True),
    ("tokens_out", -1),
    ("tokens_out", 1.5),
    ("tokens_out", 2**31),
    ("cost_usd", "a cent"),
    ("cost_usd", True),
    ("cost_usd", -0.1),
    ("cost_usd", 1e16),
    ("finish_reason", 3),
    ("finish_reason", "a" * 41),
]
NOT_JSON: list[tuple[str, Any]] = [
    ("cost_usd", float("nan")),
    ("cost_usd", float("inf")),
    ("tokens_in", float("nan")),
    ("tool_calls", [{"name": "search", "arguments": {"k": float("nan")}}]),
    ("tool_calls", [{"name": "search", "arguments": {"k": {1, 2}}}]),
    ("steps", [{"kind": "message", "result": object()}]),
]
GOOD: dict[str, list[Any]] = {
    "answer": ["", "\ud800"],
    "reasoning": ["a"],
    "retrieved": [[], ("a", "b" * 100_000), ["a"] * 1_000],
    "tool_calls": [[], [{"name": "search"}], [{"name": "a" * 200, "arguments": {"q": [1, None]}}]],
    "steps": [[], [{"kind": "message", "text": "a"}]],
    "tokens_in": [0, 2.0, 2**31 - 1],
    "tokens_out": [7],
    "cost_usd": [0, 0.01, 1e15],
    "finish_reason": ["stop", "a" * 40],
}


class Direct(Client):
    """A client that asks the site without a web server, and counts its requests."""

    sent = 0

    def open(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        repeatable: bool = False,
    ) -> IO[bytes]:
        self.sent += 1
        response = Site().generic(method, API + path, json.dumps(body), "application/json", headers=dict(headers or {}))
        if response.status_code >= 400:
            raise ApiError(response.status_code, response.json())
        return io.BytesIO(response.getvalue())


def errors_of(run: Any) -> dict[str, str]:
    return {row["task_id"]: row["error_message"] for row in run.results() if row["error_message"]}


@pytest.mark.parametrize(("name", "value"), [*BAD, *NOT_JSON], ids=lambda given: repr(given)[:30])
def test_a_badly_typed_field_costs_only_its_task(name: str, value: Any, capsys: pytest.CaptureFixture[str]) -> None:
    make_dataset(3)
    given = {"task-2": {"answer": "4", name: value}}
    run = Direct().evaluate(lambda task: given.get(task["id"], "2"), "sums", model="bot")
    assert run.fields["progress"] == {"total": 3, "done": 3, "errors": 1, "judging": False}
    assert capsys.readouterr().err.endswith("\r3 of 3, 1 error\n")
    ((task, message),) = errors_of(run).items()
    assert task == "task-2"
    assert name in message or "not a text or a mapping with an answer" in message
    assert repr(value)[:20] in message, "what came"
    assert TAKEN[name][1] in message or "JSON cannot hold" in message or name == "answer"


@pytest.mark.parametrize(("name", "value"), BAD, ids=lambda given: repr(given)[:30])
def test_the_server_refuses_what_the_client_does(name: str, value: Any) -> None:
    with pytest.raises(ValidationError) as refused:
        ResultRequest().run_validation({"key": "a", "task_id": "a", name: value})
    assert set(refused.value.detail) == {name}


def test_what_the_client_sends_is_stored() -> None:
    assert GOOD.keys() == TAKEN.keys()
    each = [{"answer": "a", name: value} for name, values in GOOD.items() for value in values]
    make_dataset(len(each))
    run = Direct().evaluate(lambda task: each[int(task["id"].removeprefix("task-")) - 1], "sums", model="bot")
    assert errors_of(run) == {}


def test_a_mapping_without_an_answer_is_the_error_of_its_task(capsys: pytest.CaptureFixture[str]) -> None:
    make_dataset(3)
    run = Direct().evaluate(lambda task: "2" if task["id"] == "task-1" else {"output": 5}, "sums", model="bot")
    assert set(errors_of(run)) == {"task-2", "task-3"}
    assert capsys.readouterr().err.endswith("\r3 of 3, 2 errors\n")


def test_an_answer_that_only_the_server_refuses_is_isolated(capsys: pytest.CaptureFixture[str]) -> None:
    """The client does not look into steps."""
    make_dataset(5)
    bad = {"answer": "6", "steps": [{"kind": "dream"}]}
    client = Direct()
    run = client.evaluate(lambda task: bad if task["id"] == "task-3" else "2", "sums", model="bot")
    assert run.fields["progress"] == {"total": 5, "done": 5, "errors": 1, "judging": False}
    assert capsys.readouterr().err.endswith("\r5 of 5, 1 error\n")
    ((task, message),) = errors_of(run).items()
    assert task == "task-3"
    assert message.startswith("The server refused the answer. HTTP 400: steps: [0]: The kind 'dream' does not exist.")


def test_a_refusal_of_everything_ends_the_evaluation() -> None:
    make_dataset(3)

    class Forbidden(Direct):
        def open(self, method: str, path: str, *arguments: Any, **options: Any) -> IO[bytes]:
            if path.endswith("/results") and method == "POST":
                self.sent += 1
                raise ApiError(403, {"detail": "No."})
            return super().open(method, path, *arguments, **options)

    client = Forbidden()
    with pytest.raises(ApiError, match="403"):
        client.evaluate(lambda task: "2", "sums", model="bot")
    assert client.sent == 4, "the tasks, the run, what it has, and one batch"
