"""ATIF, the Agent Trajectory Interchange Format of Harbor, versions 1.0 to 1.8, as steps.

A step of ATIF is one turn: a message with its reasoning, tool calls and what they returned. It becomes one step here
for each of these. Sub-agents, which version 1.7 embeds and earlier ones write into files of their own, follow the call
that started them, one level deeper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from benchmarks.providers.steps import (
    MAX_DEPTH,
    MESSAGE,
    MODEL_CALL,
    MOST_STEPS,
    REASONING,
    TOOL_CALL,
    Step,
    StepProblem,
    parsed,
    plain_text,
    shown,
    step_of,
    steps_of,
)

PREFIX = "ATIF-v1."
SHARED_SESSIONS = 7
"""From this version on, agents of one run may have one session, so that a session names none of them."""
SOURCES = {"system": "system", "user": "user", "agent": "assistant"}
"""Who said it in ATIF → the role of a message."""

Trajectory = Mapping[str, Any]


def is_trajectory(given: Any) -> bool:
    return isinstance(given, Mapping) and str(given.get("schema_version", "")).startswith("ATIF-")


def trajectory_steps(given: Trajectory, others: Mapping[str, Trajectory] | None = None) -> Iterator[Step]:
    """The steps of a trajectory. ``others`` are those of sub-agents in files of their own, by file name or session.

    Raises ``StepProblem`` with the place of what is wrong.
    """
    if not str(given.get("schema_version", "")).startswith(PREFIX):
        raise StepProblem(
            f"schema_version: {shown(given.get('schema_version'), 40)} cannot be read. Use ATIF-v1.0 to v1.8."
        )
    for part in parts_of(given, others or {}):
        yield from _steps(part, dict(others or {}), 0, frozenset())


def parts_of(given: Trajectory, others: Mapping[str, Trajectory]) -> Iterator[Trajectory]:
    """The trajectory, and in order those of ``others`` that continue it after its context was summarized."""
    part: Trajectory | None = given
    seen: set[int] = set()
    while part is not None and id(part) not in seen:
        seen.add(id(part))
        yield part
        part = others.get(file_name(part.get("continued_trajectory_ref")))


def file_name(reference: Any) -> str:
    """The last part of a path; empty for what is no text."""
    return reference.rpartition("/")[2] if isinstance(reference, str) else ""


def _steps(given: Trajectory, others: dict[str, Trajectory], depth: int, seen: frozenset[int]) -> Iterator[Step]:
    agent = given.get("agent") if isinstance(given.get("agent"), Mapping) else {}
    assert isinstance(agent, Mapping)
    embedded = {
        str(each.get(key)): each
        for each in _objects(given.get("subagent_trajectories"), "subagent_trajectories")
        for key in ("trajectory_id", "session_id")
        if each.get(key)
    }
    known = {**others, **embedded}
    told = {"agent": str(agent.get("name") or "")[:200] if depth else "", "depth": depth}
    started: set[int] = set()
    for number, step in enumerate(_objects(given.get("steps"), "steps"), 1):
        if step.get("is_copied_context"):  # what an earlier trajectory has already
            continue
        try:
            yield from _of_turn(step, agent, told)
        except StepProblem as problem:
            raise StepProblem(f"steps[{number - 1}]: {problem}") from None
        for child in _children(step, known, by_session=_minor_version(given) < SHARED_SESSIONS):
            if id(child) in seen | started or depth >= MAX_DEPTH:
                continue
            started.add(id(child))
            yield from _steps(child, known, depth + 1, seen | {id(given), id(child)})


def _of_turn(step: Trajectory, agent: Mapping[str, Any], told: Mapping[str, Any]) -> Iterator[Step]:
    source = step.get("source")
    if source not in SOURCES:
        raise StepProblem(f"source: {shown(source, 40)} is none of {', '.join(SOURCES)}.")
    at = {"at": step["timestamp"]} if step.get("timestamp") else {}
    common = {**told, **at}
    if thought := step.get("reasoning_content"):
        yield step_of({"kind": REASONING, "text": plain_text(thought), **common})
    metrics = step.get("metrics") if isinstance(step.get("metrics"), Mapping) else None
    text = plain_text(step.get("message"))
    if source == "agent":
        model = step.get("model_name") or agent.get("model_name") or ""
        if step.get("llm_call_count") == 0:
            if text:
                yield step_of({"kind": MESSAGE, "name": "assistant", "text": text, **common})
        elif metrics is not None or text:
            counts = {"tokens_in": "prompt_tokens", "tokens_out": "completion_tokens"}
            tokens = {name: metrics.get(key) for name, key in counts.items()} if metrics else {}
            yield step_of({"kind": MODEL_CALL, "name": model, "text": text, **tokens, **common})
    elif text:
        yield step_of({"kind": MESSAGE, "name": SOURCES[source], "text": text, **common})
    yield from _calls(step, common)


def _calls(step: Trajectory, common: Mapping[str, Any]) -> Iterator[Step]:
    returned: dict[str, list[str]] = {}
    for each in _observed(step):
        returned.setdefault(str(each.get("source_call_id") or ""), []).append(plain_text(each.get("content")))
    calls = _objects(step.get("tool_calls"), "tool_calls")
    if calls and set(returned) == {""}:  # a terminal shows what came of all calls, after the last one
        returned = {str(calls[-1].get("tool_call_id") or ""): returned[""]}
    for call in calls:
        texts = returned.pop(str(call.get("tool_call_id") or ""), [])
        yield step_of(
            {
                "kind": TOOL_CALL,
                "name": call.get("function_name"),
                "arguments": call.get("arguments"),
                "result": parsed("\n".join(texts)) if texts else None,
                **common,
            }
        )
    for texts in returned.values():  # what no call of this turn asked for
        if text := "\n".join(filter(None, texts)):
            yield step_of({"kind": MESSAGE, "name": "environment", "text": text, **common})


def _minor_version(given: Trajectory) -> int:
    text = str(given.get("schema_version", "")).removeprefix(PREFIX)
    return int(text) if text.isdecimal() and len(text) < 9 else 0


def _children(step: Trajectory, known: Mapping[str, Trajectory], *, by_session: bool) -> Iterator[Trajectory]:
    for result in _observed(step):
        references = result.get("subagent_trajectory_ref") or ()
        for each in [references] if isinstance(references, Mapping) else _objects(references, "references"):
            names = [str(each.get(key)) for key in ("trajectory_id", "trajectory_path") if each.get(key)]
            if each.get("session_id") and (by_session or not names):
                names.append(str(each["session_id"]))
            names += [file_name(name) for name in names]
            found = next((known[name] for name in names if name in known), None)
            if found is not None:
                yield found


def _observed(step: Trajectory) -> Sequence[Mapping[str, Any]]:
    observation = step.get("observation") or {}
    if not isinstance(observation, Mapping):
        raise StepProblem(f"observation: expected an object, found {shown(observation, 60)}.")
    return _objects(observation.get("results"), "observation.results")


def _objects(given: Any, where: str) -> Sequence[Mapping[str, Any]]:
    if given is None:
        return ()
    if not isinstance(given, list | tuple) or not all(isinstance(each, Mapping) for each in given):
        raise StepProblem(f"{where}: expected a list of objects, found {shown(given, 60)}.")
    return given


def steps_given(given: Any, notes: list[str]) -> tuple[Step, ...]:
    """The steps of a reply, a list or a trajectory; what cannot be read is left out, with a note."""
    if given is None:
        return ()
    if not is_trajectory(given):
        return steps_of(given, notes)
    try:
        steps = tuple(islice(trajectory_steps(given), MOST_STEPS + 1))
    except StepProblem as problem:
        notes.append(f"“steps” is a trajectory that cannot be read and was left out: {problem}")
        return ()
    if len(steps) > MOST_STEPS:
        notes.append(f"“steps” has more than {MOST_STEPS:,} steps, of which the first were kept")
    return steps[:MOST_STEPS]
