"""What an agent did for an answer, step by step: the one form in which systems, pushes and files give it.

A step is hostile input. ``step_of`` reads one strictly, ``steps_of`` reads the list of a reply and leaves out, with a
note, what cannot be read.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from benchmarks.providers.clean_text import shortened, storable, storable_json

MESSAGE, REASONING, TOOL_CALL, MODEL_CALL = "message", "reasoning", "tool_call", "model_call"
STATE, SCORE, ERROR = "state", "score", "error"
KINDS = (MESSAGE, REASONING, TOOL_CALL, MODEL_CALL, STATE, SCORE, ERROR)
MOST_STEPS = 20_000
"""Of one reply or one pushed result; a file may have ``MOST_IMPORTED``."""
MOST_IMPORTED = 1_000_000
MAX_CHARACTERS = 1_000_000
"""Of one text or JSON value of a step; the rest is left out, and the step says how much."""
TOLD = 40
"""Steps at the beginning, and as many at the end, that a judge is told…"""
_TOLD_CHARACTERS = 400
"""…and the characters of each."""
MAX_TOLD = 2 * TOLD * (_TOLD_CHARACTERS + 1) + 40
"""Characters of what a judge is told at most."""
_FAILED = "error:"
MAX_NAME = 200
MAX_DEPTH = 100
LARGEST_COUNT = 2**31 - 1
_TEXTS = {"name": MAX_NAME, "text": MAX_CHARACTERS, "error": MAX_CHARACTERS, "agent": MAX_NAME}


class StepProblem(ValueError):
    """A value that is no step. The message is a sentence with what is wrong and what is expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that happened. Which fields have a value depends on ``kind``; unknown numbers are ``None``."""

    kind: str
    name: str = ""
    """Of the tool, the model or the scorer; the role of a message."""
    text: str = ""
    """What was said, thought or answered; why a score was given; what went wrong."""
    arguments: Any = None
    """Of a tool call, as JSON."""
    result: Any = None
    """What a tool returned, a state's changes or a score's value, as JSON."""
    error: str = ""
    """Why a call failed; such a step counts as failed, and so does every step of the kind ``error``."""
    at: datetime | None = None
    duration_ms: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    agent: str = ""
    """Which agent of several did it; empty for the only one."""
    depth: int = 0
    """How many agents handed the work on; 0 is the agent that was asked."""

    @property
    def failed(self) -> bool:
        return self.kind == ERROR or bool(self.error)

    def as_json(self) -> dict[str, Any]:
        """The fields that have a value, as ``step_of`` reads them."""
        given = {name: value for name, value in asdict(self).items() if value not in (None, "") and name != "depth"}
        given |= {"at": self.at.isoformat()} if self.at else {}
        return given | ({"depth": self.depth} if self.depth else {})


_FIELDS = frozenset(Step.__dataclass_fields__)


def step_of(given: Any) -> Step:
    """One step from JSON. Raises ``StepProblem``."""
    if not isinstance(given, Mapping):
        raise StepProblem(f"A step is an object with a kind, not {shown(given, 60)}.")
    if unknown := sorted(map(str, given.keys() - _FIELDS)):
        raise StepProblem(
            f"“{shortened(unknown[0], 40)}” is not a field of a step. It has {', '.join(sorted(_FIELDS))}."
        )
    if given.get("kind") not in KINDS:
        raise StepProblem(f"The kind {shown(given.get('kind'), 40)} does not exist. Use {', '.join(KINDS)}.")
    return Step(
        kind=given["kind"],
        arguments=json_value(given.get("arguments")),
        result=json_value(given.get("result")),
        at=_moment(given.get("at")),
        duration_ms=_number(given, "duration_ms", most=1e15),
        tokens_in=_count(given, "tokens_in"),
        tokens_out=_count(given, "tokens_out"),
        depth=_count(given, "depth", MAX_DEPTH) or 0,
        **{name: _text(given, name, most) for name, most in _TEXTS.items()},
    )


def steps_of(given: Any, notes: list[str]) -> tuple[Step, ...]:
    """The steps of a reply. What is no step is left out; ``notes`` gets a line about the first and their number."""
    if not isinstance(given, Sequence) or isinstance(given, str):
        notes.append(f"“steps” is {shown(given, 60)}, not a list, and was left out")
        return ()
    if len(given) > MOST_STEPS:
        notes.append(f"“steps” has {len(given):,} steps, of which the first {MOST_STEPS:,} were kept")
    kept, problems = [], []
    for number, each in enumerate(given[:MOST_STEPS], 1):
        try:
            kept.append(step_of(each))
        except StepProblem as problem:
            problems.append(f"step {number}: {problem}")
    if problems:
        notes.append(f"{len(problems):,} of {len(given):,} steps were left out. The first is {problems[0]}")
    return tuple(kept)


def of_messages(messages: Sequence[Mapping[str, Any]]) -> Iterator[Step]:
    """The steps of a conversation in OpenAI's chat form: what a run's own loop with tools did.

    A call failed if its result begins with ``error:``, in any case of letters, as the results of simulated tools do.
    """
    results = {str(each.get("tool_call_id")): each for each in messages if each.get("role") == "tool"}
    for message in messages:
        role = str(message.get("role") or "")
        calls = message.get("tool_calls") or ()
        text = plain_text(message.get("content"))
        if role != "tool" and (text or not calls):
            yield Step(kind=MESSAGE, name=role[:MAX_NAME], text=text)
        for call in calls:
            function = call.get("function") or {}
            returned = results.get(str(call.get("id")))
            said = None if returned is None else plain_text(returned.get("content"))
            failed = said is not None and said.lower().startswith(_FAILED)
            yield Step(
                kind=TOOL_CALL,
                name=str(function.get("name") or "")[:MAX_NAME],
                arguments=parsed(function.get("arguments")),
                result=None if failed else parsed(said),
                error=said or "" if failed else "",
            )


class Failures(NamedTuple):
    """How many steps of an answer failed, and how many of these the agent recovered from."""

    total: int
    recovered: int


def failures_of(steps: Iterable[tuple[str, str, bool]]) -> Failures:
    """Counted from kind, name and ``failed`` of each step, in order.

    A failed tool call is recovered from when a later call of the same tool succeeds, any other failed step when a later
    call of a tool or of the model does.
    """
    total = recovered = others = 0
    open_calls: Counter[str] = Counter()
    for kind, name, failed in steps:
        if failed:
            total += 1
            open_calls[name] += kind == TOOL_CALL
            others += kind != TOOL_CALL
        elif kind in (TOOL_CALL, MODEL_CALL):
            recovered += others + (open_calls.pop(name, 0) if kind == TOOL_CALL else 0)
            others = 0
    return Failures(total, recovered)


def told(first: Sequence[Step], last: Sequence[Step], total: int) -> str:
    """What happened, a line a step, for a judge: the ``first`` and the ``last`` of ``total`` steps, each shortened."""
    left_out = total - len(first) - len(last)
    lines = [_line(number, step) for number, step in enumerate(first, 1)]
    lines += [f"({left_out:,} steps left out)"] if left_out else []
    return "\n".join(lines + [_line(number, step) for number, step in enumerate(last, total - len(last) + 1)])


def _line(number: int, step: Step) -> str:
    kind = step.kind if step.kind == step.name or not step.name else f"{step.kind} {step.name}"
    given = [step.text] if step.text else []
    given += [] if step.arguments is None else [_told(step.arguments)]
    given += [] if step.result is None else [f"returned {_told(step.result)}"]
    given += [f"failed: {step.error}"] if step.error else []
    return shortened(f"{number}. {kind}: {'; '.join(given)}".replace("\n", " "), _TOLD_CHARACTERS)


def _told(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def plain_text(content: Any) -> str:
    """The text of a message's content: a text, or a list of parts, of which others than text give type and file."""
    if isinstance(content, str):
        return storable(content, [])
    if not isinstance(content, Sequence):
        return ""
    parts = [part if isinstance(part, Mapping) else {"text": str(part)} for part in content]
    return storable("\n".join(str(part.get("text") or _media(part)) for part in parts), [])


def _media(part: Mapping[str, Any]) -> str:
    """``[audio calls/7.wav, 12.5 s]``."""
    source = part.get("source")
    path, seconds = (source.get("path"), source.get("duration_sec")) if isinstance(source, Mapping) else (None, None)
    file = f" {path}" if isinstance(path, str) else ""
    length = f", {seconds:g} s" if file and isinstance(seconds, int | float) else ""
    return f"[{part.get('type') or 'part'}{file}{length}]"


def parsed(text: Any) -> Any:
    """An object or list that a text contains as JSON; otherwise the value itself."""
    if isinstance(text, str) and text.lstrip()[:1] in ("{", "["):
        try:
            return json_value(json.loads(text))
        except (ValueError, RecursionError):
            return text
    return text


def json_value(value: Any) -> Any:
    """A JSON value that every database can hold; one that is too large is the beginning of its text."""
    if value is None or isinstance(value, bool | int):
        return value
    try:
        clean = storable_json(value, [])
        written = clean if isinstance(clean, str) else json.dumps(clean, ensure_ascii=False, default=str)
    except (ValueError, RecursionError, TypeError):
        raise StepProblem(f"{shown(value, 60)} is not a JSON value of moderate depth.") from None
    return clean if len(written) <= MAX_CHARACTERS else cut(written)


def cut(text: str, most: int = MAX_CHARACTERS) -> str:
    """The text, of which what is longer is left out and counted."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} more characters are not stored)"


def shown(value: Any, length: int) -> str:
    """A value for a message, however deep it nests."""
    try:
        return shortened(repr(value), length)
    except RecursionError:
        return f"a {type(value).__name__} that nests too deep"


def _text(given: Mapping[str, Any], name: str, most: int) -> str:
    value = given.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise StepProblem(f"“{name}” is {shown(value, 60)}, not a text.")
    return storable(value, [])[:most] if most == MAX_NAME else cut(storable(value, []), most)


def _moment(value: Any) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError, TypeError):
        raise StepProblem(f"“at” is {shown(value, 60)}, not a time such as 2026-01-31T12:00:00Z.") from None


def _number(given: Mapping[str, Any], name: str, most: float) -> float | None:
    value = given.get(name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is not None and not (is_number and math.isfinite(value) and 0 <= value <= most):
        raise StepProblem(f"“{name}” is {shown(value, 40)}, not a number of at least 0.")
    return None if value is None else float(value)


def _count(given: Mapping[str, Any], name: str, most: int = LARGEST_COUNT) -> int | None:
    value = given.get(name)
    if value is not None and not (type(value) is int and 0 <= value <= most):
        raise StepProblem(f"“{name}” is {shown(value, 40)}, not a whole number up to {most:,}.")
    return value
