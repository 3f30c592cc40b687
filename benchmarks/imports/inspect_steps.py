"""The events of a sample of Inspect as steps, with the agents that did them.

Spans say which agent an event belongs to: one that starts inside another agent's, or inside a tool's, is a sub-agent.
Logs from before there were spans have the events of a sub-agent inside the event of the tool. Of the requests to a
model the messages are left out: each has all earlier ones again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from benchmarks.providers.steps import (
    ERROR,
    LARGEST_COUNT,
    MAX_DEPTH,
    MESSAGE,
    MODEL_CALL,
    MOST_IMPORTED,
    REASONING,
    SCORE,
    STATE,
    TOOL_CALL,
    Step,
    StepProblem,
    parsed,
    step_of,
)

Event = Mapping[str, Any]
Resolve = Callable[[str], str]
_REPEATED = ("/messages", "/output", "/tools", "/tool_choice", "/completed", "/store")
"""Parts of the state whose changes other events report as well."""
_MOST_REMEMBERED = 10_000
"""Places of the state whose last change is remembered."""
_SERIOUS = ("error", "critical", "warning")


class _Span(NamedTuple):
    """Where events are: whose they are, how deep, and whether a tool is at work."""

    agent: str = ""
    depth: int = 0
    in_tool: bool = False


def steps_of_events(events: Iterable[Any], resolve: Resolve) -> Iterator[Step]:
    """The steps in order, at most ``MOST_IMPORTED``; events that say nothing of the work, or cannot be read, are left
    out. ``resolve`` puts in the texts that the log stores apart."""
    for number, step in enumerate(_without_repeated_changes(_steps(events, resolve, {}, _Span()))):
        if number == MOST_IMPORTED:
            return
        yield step


def _without_repeated_changes(steps: Iterable[Step]) -> Iterator[Step]:
    """The steps without changes of the state that were told already: every span around a change reports it again."""
    known: dict[tuple[str, str], int] = {}
    for step in steps:
        if step.kind != STATE or not isinstance(step.result, dict):
            yield step
            continue
        new = {}
        for change, value in step.result.items():
            key, hashed = (step.name, change.partition(" ")[2]), hash((change, json.dumps(value, sort_keys=True)))
            if known.get(key) != hashed:
                new[change] = value
            if len(known) < _MOST_REMEMBERED:
                known[key] = hashed
        if new:
            yield replace(step, result=new)


def _steps(events: Iterable[Any], resolve: Resolve, spans: dict[str, _Span], outer: _Span) -> Iterator[Step]:
    for event in events:
        if not isinstance(event, Mapping):
            continue
        kind = str(event.get("event"))
        if kind == "span_begin":
            spans[str(event.get("id"))] = _inside(spans.get(str(event.get("parent_id")), outer), event)
            continue
        here = spans.get(str(event.get("span_id")), outer)
        told = {"agent": here.agent, "depth": here.depth, "at": event.get("timestamp")}
        for given in _READERS.get(kind, _nothing)(event):
            try:
                yield step_of(_resolved({**told, **given}, resolve))
            except StepProblem:
                continue
        inner = event.get("events")
        if isinstance(inner, list) and inner and here.depth < MAX_DEPTH:
            name = str(event.get("agent") or event.get("name") or event.get("function") or "")
            yield from _steps(inner, resolve, spans, _Span(name[:200], here.depth + 1, True))


def _inside(outer: _Span, event: Event) -> _Span:
    kind = event.get("type")
    if kind == "agent":
        is_sub = bool(outer.agent) or outer.in_tool
        return _Span(str(event.get("name") or "")[:200], min(outer.depth + is_sub, MAX_DEPTH))
    return outer._replace(in_tool=outer.in_tool or kind in ("tool", "handoff"))


def _resolved(value: Any, resolve: Resolve) -> Any:
    if isinstance(value, str):
        return resolve(value)
    if isinstance(value, dict):
        return {name: _resolved(each, resolve) for name, each in value.items()}
    return [_resolved(each, resolve) for each in value] if isinstance(value, list) else value


Given = Iterator[dict[str, Any]]


def _nothing(event: Event) -> Given:
    yield from ()


def _of_model(event: Event) -> Given:
    output = _mapping(event.get("output"))
    choices = output.get("choices")
    message = _mapping(_mapping(choices[0] if isinstance(choices, list) and choices else None).get("message"))
    text, thought = _content(message.get("content"))
    usage = _mapping(output.get("usage"))
    if thought:
        yield {"kind": REASONING, "text": thought}
    yield {
        "kind": MODEL_CALL,
        "name": _short(event.get("model")),
        "text": text,
        "error": _error(event.get("error") or output.get("error")),
        "duration_ms": _milliseconds(event.get("working_time") or output.get("time")),
        "tokens_in": _tokens(usage.get("input_tokens")),
        "tokens_out": _tokens(usage.get("output_tokens")),
    }


def _of_tool(event: Event) -> Given:
    result = event.get("result")
    text = _content(result)[0] if isinstance(result, list) else result
    yield {
        "kind": TOOL_CALL,
        "name": _short(event.get("function")),
        "arguments": event.get("arguments"),
        "result": parsed(text),
        "error": _error(event.get("error")) or ("The tool failed." if event.get("failed") else ""),
        "duration_ms": _milliseconds(event.get("working_time")),
    }


def _of_state(event: Event) -> Given:
    changes = event.get("changes")
    kept = {
        f"{change.get('op')} {change.get('path')}": change.get("value", "")
        for change in (changes if isinstance(changes, list) else ())
        if isinstance(change, dict) and not str(change.get("path", "")).startswith(_REPEATED)
    }
    if kept:
        yield {"kind": STATE, "name": _short(event.get("event")), "result": kept}


def _of_compaction(event: Event) -> Given:
    counts = [event.get("tokens_before"), event.get("tokens_after")]
    tokens = f": {counts[0]} to {counts[1]} tokens" if None not in counts else ""
    yield {"kind": STATE, "name": "compaction", "text": f"{_short(event.get('type'))}{tokens}"}


def _of_sandbox(event: Event) -> Given:
    what = {name: event[name] for name in ("cmd", "file", "input") if event.get(name) is not None}
    text = f"{event.get('action', '')} {' '.join(str(each) for each in what.values())}".strip()
    result = event.get("result")
    error = f"Exit code {result}" if event.get("action") == "exec" and result not in (None, 0) else ""
    yield {"kind": STATE, "name": "sandbox", "text": text, "result": event.get("output"), "error": error}


def _of_score(event: Event) -> Given:
    score = _mapping(event.get("score"))
    name = _short(event.get("scorer") or ("intermediate" if event.get("intermediate") else "score"))
    yield {"kind": SCORE, "name": name, "text": score.get("explanation") or "", "result": score.get("value")}


def _of_error(event: Event) -> Given:
    yield {"kind": ERROR, "text": _error(event.get("error")) or "An error without a message."}


def _of_limit(event: Event) -> Given:
    yield {
        "kind": ERROR,
        "name": _short(event.get("type")),
        "text": str(event.get("message") or "A limit was reached."),
    }


def _of_start(event: Event) -> Given:
    given = _mapping(event.get("sample")).get("input")
    messages = given if isinstance(given, list) else [{"role": "user", "content": given}]
    for message in messages:
        text = _content(_mapping(message).get("content"))[0]
        if text:
            yield {"kind": MESSAGE, "name": _short(_mapping(message).get("role") or "user"), "text": text}


def _of_info(event: Event) -> Given:
    data = event.get("data")
    key = "text" if isinstance(data, str) else "result"
    yield {"kind": MESSAGE, "name": _short(event.get("source") or "info"), key: data}


def _of_human(event: Event) -> Given:
    yield {"kind": MESSAGE, "name": "user", "text": str(event.get("input") or "")}


def _of_log(event: Event) -> Given:
    message = _mapping(event.get("message"))
    if message.get("level") in _SERIOUS:
        yield {"kind": MESSAGE, "name": f"log {message['level']}", "text": str(message.get("message") or "")}


def _of_approval(event: Event) -> Given:
    text = f"{event.get('decision', '')}: {event.get('message', '')} {event.get('explanation') or ''}".strip()
    yield {"kind": MESSAGE, "name": _short(event.get("approver") or event.get("reviewer") or "approval"), "text": text}


def _of_interrupt(event: Event) -> Given:
    yield {"kind": MESSAGE, "name": _short(event.get("source") or "user"), "text": "Interrupted the agent."}


def _of_score_edit(event: Event) -> Given:
    edit = _mapping(event.get("edit"))
    yield {
        "kind": SCORE,
        "name": _short(event.get("score_name")),
        "text": str(edit.get("explanation") or "Edited."),
        "result": edit.get("value"),
    }


_READERS: dict[str, Callable[[Event], Given]] = {
    "sample_init": _of_start,
    "model": _of_model,
    "tool": _of_tool,
    "state": _of_state,
    "store": _of_state,
    "compaction": _of_compaction,
    "sandbox": _of_sandbox,
    "score": _of_score,
    "error": _of_error,
    "sample_limit": _of_limit,
    "info": _of_info,
    "input": _of_human,
    "logger": _of_log,
    "approval": _of_approval,
    "review": _of_approval,
    "interrupt": _of_interrupt,
    "score_edit": _of_score_edit,
}
"""Inspect's name of an event → how it is read. Others, such as the end of a span, are no step of their own."""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _short(value: Any) -> str:
    return str(value or "")[:200]


def _content(content: Any) -> tuple[str, str]:
    """Text and reasoning of a message; of images and the like only their type."""
    if isinstance(content, str):
        return content, ""
    parts = [_mapping(part) for part in content] if isinstance(content, list) else []
    thought = "\n".join(str(part.get("reasoning") or "") for part in parts if part.get("type") == "reasoning")
    said = [part for part in parts if part.get("type") != "reasoning"]
    return "\n".join(str(part.get("text") or f"[{part.get('type') or 'part'}]") for part in said), thought


def _error(value: Any) -> str:
    message = value.get("message") if isinstance(value, Mapping) else value
    return str(message or "")


def _milliseconds(seconds: Any) -> float | None:
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    return 1_000 * seconds if is_number and 0 <= seconds < 1e9 else None


def _tokens(count: Any) -> int | None:
    return count if type(count) is int and 0 <= count <= LARGEST_COUNT else None
