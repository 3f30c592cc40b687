"""Long and untrusted texts prepared for a page: excerpts, differences, transcripts, tool calls. Pure functions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

from benchmarks.metrics.task_parts import ExpectedCall
from benchmarks.metrics.tool_calls import call_credit
from benchmarks.providers.base import ToolCall

EXCERPT_LENGTH = 6_000
DIFF_LENGTH = 6_000
"""Longer texts are shown side by side without marks: comparing word by word takes quadratic time."""
MIN_RATIO = 0.3
"""Texts less alike than this (as ``difflib`` measures it) would be marks all over."""
SHORT = 80
"""Texts up to this length are marked however different they are."""
TURNS_SHOWN = 40
TEXT_BUDGET = 40_000
"""Characters of all turns together; the full text has the rest."""
CALLS_SHOWN = 50
ATTEMPTS_SHOWN = 50
PASSAGES_SHOWN = 20
ARGUMENTS_LENGTH = 2_000

Segment = tuple[str, str]
"""``(kind, text)`` with kind ``same``, ``added`` or ``removed``."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The beginning of a text, and how many characters of it are not shown."""

    text: str
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Difference:
    """Two texts with their differences marked: only in the left one ``removed``, only in the right one ``added``."""

    left: tuple[Segment, ...]
    right: tuple[Segment, ...]
    equal: bool


@dataclass(frozen=True, slots=True)
class Turn:
    """One message as sent or received. ``pictures`` counts the images in it."""

    role: str
    text: Excerpt
    calls: tuple[str, ...] = ()
    pictures: int = 0


@dataclass(frozen=True, slots=True)
class CallPair:
    """An expected tool call and the actual one; either may be missing."""

    expected: str | None
    made: str | None
    equal: bool
    malformed: bool = False


def excerpt(text: str, length: int = EXCERPT_LENGTH) -> Excerpt:
    return Excerpt(text[:length], max(0, len(text) - length))


def context_excerpts(context: Sequence[object]) -> list[Excerpt]:
    """The first passages of a task's context."""
    return [excerpt(str(passage)) for passage in context[:PASSAGES_SHOWN]]


def difference(left: str, right: str) -> Difference | None:
    """Compare word by word; ``None`` if a text is too long for that or the two have too little in common."""
    if max(len(left), len(right)) > DIFF_LENGTH:
        return None
    # Words, runs of whitespace and single characters: joined, they are the text again.
    a, b = (re.findall(r"\w+|\s+|[^\w\s]", text) for text in (left, right))
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    if matcher.ratio() < MIN_RATIO and max(len(left), len(right)) > SHORT:
        return None
    blocks = matcher.get_opcodes()
    return Difference(
        left=tuple(_segments([(tag == "equal", a[start:end]) for tag, start, end, _, _ in blocks], "removed")),
        right=tuple(_segments([(tag == "equal", b[start:end]) for tag, _, _, start, end in blocks], "added")),
        equal=left == right,
    )


def _segments(blocks: Iterable[tuple[bool, list[str]]], kind: str) -> Iterator[Segment]:
    return (("same" if equal else kind, "".join(tokens)) for equal, tokens in blocks if tokens)


def turns(messages: Sequence[Mapping[str, Any]]) -> list[Turn]:
    """The first ``TURNS_SHOWN`` messages, each one cut once all together exceed ``TEXT_BUDGET``."""
    shown, left = [], TEXT_BUDGET
    for message in messages[:TURNS_SHOWN]:
        content = message.get("content")
        # Content is a text, nothing, or a list of parts: texts and images.
        parts = [{"text": content}] if isinstance(content, str) else content or ()
        parts = [part for part in parts if isinstance(part, Mapping)]
        full_text = "\n".join(str(part["text"]) for part in parts if "text" in part)
        text = excerpt(full_text, max(0, min(left, TEXT_BUDGET // 3)))
        left -= len(text.text)
        functions = [call.get("function") or {} for call in (message.get("tool_calls") or ())[:CALLS_SHOWN]]
        calls = (f"{called.get('name', '')}({called.get('arguments', '')})"[:ARGUMENTS_LENGTH] for called in functions)
        pictures = sum("text" not in part for part in parts)
        shown.append(Turn(str(message.get("role", "")), text, tuple(calls), pictures))
    return shown


def messages_as_json(messages: Iterable[Mapping[str, Any]]) -> str:
    """Everything sent and received."""
    return json.dumps(list(messages), ensure_ascii=False, indent=2)


def call_pairs(expected: Sequence[ExpectedCall], made: Sequence[Mapping[str, Any]]) -> list[CallPair]:
    """Calls of the same name side by side, in order."""
    wanted, called = list(expected[:CALLS_SHOWN]), list(made[:CALLS_SHOWN])
    names = SequenceMatcher(None, [str(c.get("name")) for c in wanted], [str(c.get("name")) for c in called], False)
    return [
        _pair(first, second)
        for _, a, b, c, d in names.get_opcodes()
        for first, second in zip_longest(wanted[a:b], called[c:d])
    ]


def _pair(expected: ExpectedCall | None, made: Mapping[str, Any] | None) -> CallPair:
    wanted = None if expected is None else _written_call(expected.get("name"), expected.get("args") or {})
    if made is not None and made.get("malformed"):
        return CallPair(wanted, f"{made.get('name', '')}({made.get('raw', '')})"[:ARGUMENTS_LENGTH], False, True)
    if expected is not None and (others := expected.get("accept")):
        wanted = f"{wanted} or {json.dumps(others, ensure_ascii=False)}"[:ARGUMENTS_LENGTH]
    called = None if made is None else _written_call(made.get("name"), made.get("arguments") or {})
    if expected is None or made is None:
        return CallPair(wanted, called, False)
    call = ToolCall("", str(made.get("name")), made.get("arguments") or {}, "")
    return CallPair(wanted, called, call_credit(expected, call) == 1.0)


def _written_call(name: Any, arguments: Any) -> str:
    """Keys are sorted, so equal arguments are written equally."""
    return f"{name}({json.dumps(arguments, ensure_ascii=False, sort_keys=True)})"[:ARGUMENTS_LENGTH]


def attempt_rows(attempts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The first ``ATTEMPTS_SHOWN`` requests of a result; ``retried_at`` is set if one was sent to replace an error."""
    return [
        {**attempt, "retried_at": datetime.fromisoformat(retried) if (retried := attempt.get("retried_at")) else None}
        for attempt in attempts[:ATTEMPTS_SHOWN]
    ]
