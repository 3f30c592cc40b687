"""The one form of steps: what is a step, what is not, and what a reply may give in its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks.providers.atif import steps_given, trajectory_steps
from benchmarks.providers.steps import (
    MAX_CHARACTERS,
    MAX_TOLD,
    MOST_STEPS,
    TOLD,
    Step,
    StepProblem,
    of_messages,
    step_of,
    steps_of,
    told,
)


def test_a_step_is_read_and_written_without_loss() -> None:
    given = {
        "kind": "tool_call",
        "name": "refund",
        "arguments": {"order_id": 1042, "to": "card"},
        "result": {"refunded": 89.0},
        "error": "too late",
        "at": "2026-01-31T12:00:00+00:00",
        "duration_ms": 200.0,
        "tokens_in": 3,
        "tokens_out": 4,
        "agent": "helper",
        "depth": 2,
    }
    step = step_of(given)
    assert step.failed
    assert json.loads(json.dumps(step.as_json())) == given
    assert step_of(step.as_json()) == step


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("refund", "A step is an object with a kind, not 'refund'."),
        ({"kind": "dance"}, "The kind 'dance' does not exist. Use message, "),
        ({"kind": ["message"]}, "does not exist"),
        ({"kind": "message", "words": "x"}, "“words” is not a field of a step. It has agent, arguments, at"),
        ({"kind": "message", "text": 7}, "“text” is 7, not a text."),
        ({"kind": "message", "at": "noon"}, "“at” is 'noon', not a time such as"),
        ({"kind": "message", "duration_ms": float("nan")}, "“duration_ms” is nan, not a number of at least 0."),
        ({"kind": "message", "tokens_in": -1}, "“tokens_in” is -1, not a whole number up to"),
        ({"kind": "message", "depth": 101}, "“depth” is 101, not a whole number up to 100."),
        ({"kind": "tool_call", "arguments": {"x": float("inf")}}, "is not a JSON value of moderate depth."),
    ],
)
def test_what_is_no_step_is_refused_with_what_is_wrong(given: Any, problem: str) -> None:
    with pytest.raises(StepProblem) as raised:
        step_of(given)
    assert problem in str(raised.value)


def test_what_no_database_holds_is_replaced_and_what_is_too_long_is_counted() -> None:
    step = step_of({"kind": "message", "text": "a\0b" + "x" * MAX_CHARACTERS, "result": ["\ud800"]})
    assert step.text.startswith("a␀b")
    assert step.text.endswith("… (3 more characters are not stored)")
    assert step.result == ["\N{REPLACEMENT CHARACTER}"]


def test_deep_nesting_is_refused() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(StepProblem, match="moderate depth"):
        step_of({"kind": "state", "result": deep})


def test_a_reply_keeps_its_good_steps_and_notes_the_others() -> None:
    notes: list[str] = []
    steps = steps_of([{"kind": "message", "text": "hello"}, {"kind": "no"}, 7], notes)
    assert [step.text for step in steps] == ["hello"]
    assert notes == [
        "2 of 3 steps were left out. The first is step 2: The kind 'no' does not exist. Use message, reasoning, "
        "tool_call, model_call, state, score, error."
    ]
    assert len(steps_of([{"kind": "message"}] * (MOST_STEPS + 1), notes)) == MOST_STEPS
    assert notes[-1] == "“steps” has 20,001 steps, of which the first 20,000 were kept"
    assert steps_of("hello", notes) == ()


def test_messages_are_steps_with_each_call_beside_what_it_returned() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    messages = [
        {"role": "user", "content": "Add."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"sum": 2}'},
        {"role": "assistant", "content": "2"},
    ]
    assert list(of_messages(messages)) == [
        Step(kind="message", name="user", text="Add."),
        Step(kind="tool_call", name="add", arguments={"a": 1}, result={"sum": 2}),
        Step(kind="message", name="assistant", text="2"),
    ]


def turn(number: int, source: str, message: Any, **fields: Any) -> dict[str, Any]:
    return {"step_id": number, "source": source, "message": message, **fields}


def observed(*results: dict[str, Any]) -> dict[str, Any]:
    return {"observation": {"results": list(results)}}


def trajectory(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    agent = {"name": "terminus", "version": "2.0", "model_name": "acme/large"}
    return {"schema_version": "ATIF-v1.7", "session_id": "s", "agent": agent, "steps": list(steps), **fields}


LOOKED = turn(
    2,
    "agent",
    "I look.",
    timestamp="2026-01-31T12:00:01Z",
    reasoning_content="Which order?",
    tool_calls=[{"tool_call_id": "c1", "function_name": "find", "arguments": {"id": 7}}],
    metrics={"prompt_tokens": 30, "completion_tokens": 5},
    **observed({"source_call_id": "c1", "content": '{"status": "paid"}'}, {"content": "The terminal beeps."}),
)


def test_a_turn_of_atif_becomes_a_step_for_all_that_happened_in_it() -> None:
    steps = list(trajectory_steps(trajectory(turn(1, "user", "Is it paid?"), LOOKED)))
    assert [(step.kind, step.name, step.text) for step in steps] == [
        ("message", "user", "Is it paid?"),
        ("reasoning", "", "Which order?"),
        ("model_call", "acme/large", "I look."),
        ("tool_call", "find", ""),
        ("message", "environment", "The terminal beeps."),
    ]
    assert (steps[2].tokens_in, steps[2].tokens_out) == (30, 5)
    assert (steps[3].arguments, steps[3].result) == ({"id": 7}, {"status": "paid"})
    assert steps[3].at is not None
    assert steps[3].at.isoformat() == "2026-01-31T12:00:01+00:00"


@pytest.mark.parametrize("key", ["trajectory_id", "session_id"])
def test_a_sub_agent_follows_the_turn_that_started_it_one_level_deeper(key: str) -> None:
    child = {**trajectory(turn(1, "agent", "Found.")), "agent": {"name": "helper"}, key: "child"}
    asks = turn(1, "agent", "Help me.", **observed({"subagent_trajectory_ref": [{key: "child"}]}))
    given = trajectory(asks, turn(2, "agent", "Done."), subagent_trajectories=[child])
    told = [(step.text, step.agent, step.depth) for step in trajectory_steps(given)]
    assert told == [("Help me.", "", 0), ("Found.", "helper", 1), ("Done.", "", 0)]


def test_a_session_names_no_sub_agent_of_newer_trajectories_in_which_siblings_share_it() -> None:
    sibling = {**trajectory(turn(1, "agent", "Found.")), "trajectory_id": "a", "session_id": "shared"}
    reference = {"session_id": "shared", "trajectory_path": "elsewhere.json"}
    asks = turn(1, "agent", "Help me.", **observed({"subagent_trajectory_ref": [reference]}))
    given = trajectory(asks, subagent_trajectories=[sibling])
    assert [step.text for step in trajectory_steps(given)] == ["Help me."]
    older = {**given, "schema_version": "ATIF-v1.6"}
    assert [step.text for step in trajectory_steps(older)] == ["Help me.", "Found."]


def test_sound_and_pictures_are_named_with_their_file() -> None:
    heard = [
        {"type": "text", "text": "What does he say?"},
        {"type": "audio", "source": {"media_type": "audio/wav", "path": "calls/7.wav", "duration_sec": 12.5}},
        {"type": "image", "source": {"media_type": "image/png", "path": "https://example.org/a.png"}},
        {"type": "audio"},
    ]
    (step,) = trajectory_steps({**trajectory(turn(1, "user", heard)), "schema_version": "ATIF-v1.8"})
    assert step.text.splitlines() == [
        "What does he say?",
        "[audio calls/7.wav, 12.5 s]",
        "[image https://example.org/a.png]",
        "[audio]",
    ]


def test_what_an_agent_says_without_a_model_is_no_request_to_one() -> None:
    given = trajectory(turn(1, "agent", "Passed on.", llm_call_count=0), turn(2, "agent", "Done.", llm_call_count=1))
    told = [(step.kind, step.name, step.text) for step in trajectory_steps(given)]
    assert told == [("message", "assistant", "Passed on."), ("model_call", "acme/large", "Done.")]


def test_a_trajectory_that_contains_itself_ends() -> None:
    again = turn(1, "agent", "Again.", **observed({"subagent_trajectory_ref": [{"trajectory_id": "a"}]}))
    child = {**trajectory(again), "trajectory_id": "a"}
    given = trajectory(again, subagent_trajectories=[child])
    assert [step.depth for step in trajectory_steps(given)] == [0, 1]


def test_context_that_was_copied_is_not_told_twice() -> None:
    given = trajectory(turn(1, "user", "old", is_copied_context=True), turn(2, "user", "new"))
    assert [step.text for step in trajectory_steps(given)] == ["new"]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"schema_version": "ATIF-v9"}, "schema_version: 'ATIF-v9' cannot be read."),
        (trajectory(turn(1, "robot", "x")), "steps[0]: source: 'robot' is none of system, user, agent."),
        ({**trajectory(), "steps": "x"}, "steps: expected a list of objects, found 'x'."),
        (trajectory(turn(1, "agent", "x", tool_calls=[7])), "steps[0]: tool_calls: expected a list of objects"),
        (trajectory(turn(1, "agent", "x", metrics={"prompt_tokens": -1})), "steps[0]: “tokens_in” is -1"),
        (trajectory(turn(1, "agent", "x", observation="done")), "steps[0]: observation: expected an object"),
    ],
)
def test_what_is_wrong_with_a_trajectory_is_said_with_its_place(given: Any, problem: str) -> None:
    with pytest.raises(StepProblem) as raised:
        list(trajectory_steps(given))
    assert str(raised.value).startswith(problem)


def test_a_system_may_give_a_trajectory_as_its_steps() -> None:
    notes: list[str] = []
    assert len(steps_given(trajectory(LOOKED), notes)) == 4
    assert steps_given({"schema_version": "ATIF-v9"}, notes) == ()
    assert notes == [
        "“steps” is a trajectory that cannot be read and was left out: schema_version: 'ATIF-v9' cannot be read. "
        "Use ATIF-v1.0 to v1.8."
    ]


def test_a_judge_is_told_each_step_in_a_line() -> None:
    steps = [
        Step(kind="message", name="user", text="Refund\norder 7."),
        Step(kind="tool_call", name="refund", arguments={"order": 7}, result={"paid": 89.0}),
        Step(kind="tool_call", name="mail", arguments={"to": "Ann"}, error="no such address"),
        Step(kind="state", result={"orders": 1}),
    ]
    assert told(steps, (), 4).splitlines() == [
        "1. message user: Refund order 7.",
        '2. tool_call refund: {"order": 7}; returned {"paid": 89.0}',
        '3. tool_call mail: {"to": "Ann"}; failed: no such address',
        '4. state: returned {"orders": 1}',
    ]


def test_of_many_long_steps_a_judge_is_told_the_ends() -> None:
    long = Step(kind="message", name="user", text="x" * 10_000)
    text = told([long] * TOLD, [long] * TOLD, 300_000)
    lines = text.splitlines()
    assert len(text) <= MAX_TOLD
    assert lines[TOLD] == "(299,920 steps left out)"
    assert (lines[TOLD - 1][:4], lines[TOLD + 1][:8], lines[-1][:8]) == ("40. ", "299961. ", "300000. ")
