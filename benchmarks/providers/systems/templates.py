"""Templates of requests to systems under test: JSON in whose texts ``{input}`` and other names of a task are replaced.

A text that is one name alone becomes the value's JSON; within a longer text, the value is written as text. ``{{`` and
``}}`` stand for braces. This is not ``str.format``: a template reaches no attribute and no index.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

import orjson

PLACEHOLDERS = ("input", "context", "messages", "metadata", "parameters", "tools", "model", "id", "conversation_id")
MAX_DEPTH = 50
_PART = re.compile(r"\{\{|\}\}|\{(\w+(?:\.[^{}\s.]+)*)\}|[{}]")
_SHOWN = 30


def problem_of(template: Any) -> str | None:
    """What is wrong with a template and what to do; ``None`` if it can be used."""
    try:
        parts = [(text, part) for text in _texts(template) for part in _PART.finditer(text)]
    except RecursionError:
        return f"The template nests deeper than {MAX_DEPTH} levels. Flatten it."
    for text, part in parts:
        name = (part[1] or "").partition(".")[0]
        if part[0] in ("{", "}") or (name and name not in PLACEHOLDERS):
            names = ", ".join(f"{{{each}}}" for each in PLACEHOLDERS)
            shown = text[part.start() :][:_SHOWN]
            return f"“{shown}” is not a placeholder. Use {names}, and write {{{{ and }}}} for braces."
    return None


def names_in(template: Any) -> set[str]:
    """The placeholders of a template, such as ``input`` and ``metadata.user``."""
    return {part[1] for text in _texts(template) for part in _PART.finditer(text) if part[1]}


def filled(template: Any, values: Mapping[str, Any]) -> Any:
    """The template with ``values`` in place of its names. Expects one without a problem."""
    if isinstance(template, Mapping):
        return {_text(name, values, str): filled(member, values) for name, member in template.items()}
    if isinstance(template, list):
        return [filled(member, values) for member in template]
    if not isinstance(template, str):
        return template
    alone = _PART.fullmatch(template)
    return _value(alone[1], values) if alone and alone[1] else _text(template, values, str)


def filled_path(template: str, values: Mapping[str, Any]) -> str:
    """The path of a URL with its values percent-encoded, so that none adds a part or a parameter."""
    return _text(template, values, lambda text: quote(text, safe=""))


def _text(template: str, values: Mapping[str, Any], written: Callable[[str], str]) -> str:
    def shown(part: re.Match[str]) -> str:
        return written(_as_text(_value(part[1], values))) if part[1] else part[0][0]

    return _PART.sub(shown, template)


def _value(name: str, values: Mapping[str, Any]) -> Any:
    """The value of ``input`` or ``metadata.user``; ``None`` if a part of the name leads nowhere."""
    first, *rest = name.split(".")
    value = values[first]
    for part in rest:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return "\n\n".join(value)
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _texts(template: Any, depth: int = 0) -> Iterator[str]:
    if depth > MAX_DEPTH:
        raise RecursionError
    if isinstance(template, str):
        yield template
    elif isinstance(template, Mapping):
        for name, member in template.items():
            yield str(name)
            yield from _texts(member, depth + 1)
    elif isinstance(template, list):
        for member in template:
            yield from _texts(member, depth + 1)
