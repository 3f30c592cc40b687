"""A stored transcript as a page shows it: the turns, and tool calls expected beside made. Pure functions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

from frontend.texts import Excerpt, excerpt

TURNS_SHOWN = 40
TEXT_BUDGET = 40_000
"""Characters of all turns together; what lies beyond is in the whole text."""
CALLS_SHOWN = 50
ATTEMPTS_SHOWN = 50
ARGUMENTS_LENGTH = 2_000


@dataclass(frozen=True, slots=True)
class Turn:
    """One message as sent or received. ``pictures`` counts those that stood in it."""

    role: str
    text: Excerpt
    calls: tuple[str, ...] = ()
    pictures: int = 0


@dataclass(frozen=True, slots=True)
class CallPair:
    """A tool call that was expected beside the one that was made; either may be missing."""

    expected: str | None
    made: str | None
    equal: bool
    malformed: bool = False


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One request that was made for a result. ``retried_at`` where it was made to replace an error."""

    number: int | None
    waited_ms: float | None
    duration_ms: float | None
    error_kind: str
    status: int | None
    message: str
    retried_at: datetime | None


def attempt_rows(attempts: Sequence[Mapping[str, Any]]) -> list[AttemptRow]:
    """The first ``ATTEMPTS_SHOWN`` attempts."""
    return [
        AttemptRow(
            number=attempt.get("number"),
            waited_ms=attempt.get("waited_ms"),
            duration_ms=attempt.get("duration_ms"),
            error_kind=attempt.get("error_kind") or "",
            status=attempt.get("status"),
            message=attempt.get("message") or "",
            retried_at=datetime.fromisoformat(retried) if (retried := attempt.get("retried_at")) else None,
        )
        for attempt in attempts[:ATTEMPTS_SHOWN]
    ]


def turns(messages: Sequence[Mapping[str, Any]]) -> list[Turn]:
    """The first ``TURNS_SHOWN`` messages, each cut where all together grow beyond ``TEXT_BUDGET``."""
    shown, left = [], TEXT_BUDGET
    for message in messages[:TURNS_SHOWN]:
        text, pictures = _content(message.get("content"))
        calls = tuple(_asked_call(call) for call in (message.get("tool_calls") or ())[:CALLS_SHOWN])
        part = excerpt(text, max(0, min(left, TEXT_BUDGET // 3)))
        left -= len(part.text)
        shown.append(Turn(str(message.get("role", "")), part, calls, pictures))
    return shown


def whole_conversation(messages: Iterable[Mapping[str, Any]]) -> str:
    """Everything sent and received, as JSON."""
    return json.dumps(list(messages), ensure_ascii=False, indent=2)


def call_pairs(expected: Sequence[Mapping[str, Any]], made: Sequence[Mapping[str, Any]]) -> list[CallPair]:
    """Calls of the same name side by side, in order."""
    wanted, called = list(expected[:CALLS_SHOWN]), list(made[:CALLS_SHOWN])
    names = SequenceMatcher(None, [str(c.get("name")) for c in wanted], [str(c.get("name")) for c in called], False)
    return [
        _pair(first, second)
        for _, a, b, c, d in names.get_opcodes()
        for first, second in zip_longest(wanted[a:b], called[c:d])
    ]


def _content(content: Any) -> tuple[str, int]:
    """Text and number of pictures of a message's content, which is text, nothing, or a list of parts."""
    if isinstance(content, str):
        return content, 0
    parts = [part for part in content or () if isinstance(part, Mapping)]
    return "\n".join(str(part["text"]) for part in parts if "text" in part), sum("text" not in part for part in parts)


def _asked_call(call: Mapping[str, Any]) -> str:
    function = call.get("function") or {}
    return f"{function.get('name', '')}({function.get('arguments', '')})"[:ARGUMENTS_LENGTH]


def _pair(expected: Mapping[str, Any] | None, made: Mapping[str, Any] | None) -> CallPair:
    wanted = None if expected is None else _written(expected.get("name"), expected.get("args") or {})
    malformed = bool(made and made.get("malformed"))
    called = None
    if made is not None:
        called = f"{made.get('name', '')}({made.get('raw', '')})"[:ARGUMENTS_LENGTH]
        if not malformed:
            called = _written(made.get("name"), made.get("arguments") or {})
    return CallPair(wanted, called, wanted == called, malformed)


def _written(name: Any, arguments: Any) -> str:
    written = json.dumps(arguments, ensure_ascii=False, sort_keys=True)
    return f"{name}({written})"[:ARGUMENTS_LENGTH]
