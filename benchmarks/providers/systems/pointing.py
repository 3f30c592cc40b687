"""The parts of a JSON document, for pointing at one: which value of a request is the question, and which of a reply is
the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from benchmarks.providers.clean_text import shortened, storable

Steps = tuple[str | int, ...]
"""From the top of a document to one of its parts: keys of objects and indexes of lists."""
MOST_PARTS = 300
MOST_DEPTH = 20
_SHOWN = 200
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Part:
    """``text`` is the value's JSON, shortened; empty for objects and lists that have parts of their own."""

    steps: Steps
    label: str
    text: str
    value: Any

    @property
    def depth(self) -> int:
        return len(self.steps)

    @property
    def pointer(self) -> str:
        """The steps as a form sends them back."""
        return orjson.dumps(self.steps).decode()


def parts_of(document: Any) -> list[Part]:
    """The parts in reading order, at most ``MOST_PARTS`` and ``MOST_DEPTH`` deep."""
    found: list[Part] = []
    for part in _walk(document, ()):
        if len(found) == MOST_PARTS:
            break
        found.append(part)
    return found


def steps_of(pointer: str) -> Steps:
    """Raises ``ValueError`` for what is no pointer."""
    try:
        steps = orjson.loads(pointer)
    except orjson.JSONDecodeError:
        steps = None
    if not isinstance(steps, list) or not all(type(step) in (str, int) for step in steps):
        raise ValueError("This is not a part of the document.")
    return tuple(steps)


def path_of(steps: Sequence[str | int]) -> str:
    """The JMESPath expression of a part, such as ``choices[0].message."x-text"``; ``@`` for the whole document."""
    path = ""
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            name = step if _PLAIN.fullmatch(step) else orjson.dumps(step).decode()
            path += f".{name}" if path else name
    return path or "@"


def path_for(place: str, steps: Steps) -> str:
    """The expression that finds what was pointed at. Pointing at one passage means all of its list, and at a part of a
    tool call all calls."""
    indexes = [at for at, step in enumerate(steps) if isinstance(step, int)]
    if place == "retrieved" and indexes:
        last = indexes[-1]
        rest = path_of(steps[last + 1 :]) if steps[last + 1 :] else ""
        return f"{path_of(steps[:last]) if last else '@'}[]" + (f".{rest}" if rest else "")
    if place == "tool_calls" and indexes:
        return path_of(steps[: indexes[-1]])
    return path_of(steps)


def replaced(document: Any, steps: Steps, value: Any) -> Any:
    """The document with another value at a place. Raises ``ValueError`` if it has no such place."""
    if not steps:
        return value
    first, *rest = steps
    try:
        inner = replaced(document[first], tuple(rest), value)
    except (KeyError, IndexError, TypeError):
        raise ValueError("The body has no such part.") from None
    if isinstance(document, dict):
        return document | {first: inner}
    return [inner if at == first else member for at, member in enumerate(document)]


def escaped(document: Any) -> Any:
    """The document as a template of itself: its braces are doubled."""
    if isinstance(document, str):
        return document.replace("{", "{{").replace("}", "}}")
    if isinstance(document, dict):
        return {escaped(name): escaped(member) for name, member in document.items()}
    return [escaped(member) for member in document] if isinstance(document, list) else document


def _shown(value: Any) -> str:
    if isinstance(value, dict | list) and value:  # too deep to look into
        return "[…]" if isinstance(value, list) else "{…}"
    return json.dumps(value, ensure_ascii=False)


def _walk(document: Any, steps: Steps) -> Iterator[Part]:
    inner: Sequence[tuple[str | int, Any]] = ()
    if len(steps) < MOST_DEPTH and isinstance(document, dict | list):
        inner = list(document.items() if isinstance(document, dict) else enumerate(document))
    text = "" if inner else shortened(_shown(document), _SHOWN)
    yield Part(steps, shortened(storable(str(steps[-1]), []), 60) if steps else "", storable(text, []), document)
    for step, member in inner:
        yield from _walk(member, (*steps, step))
