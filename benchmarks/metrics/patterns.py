"""Regular expressions from datasets, matched by RE2: linear time and bounded memory for any pattern and text, and an
error if even a linear search would take seconds; and JSON Schemas from datasets that cannot be used.

In return, look-around and back-references are not available. Inline flags such as ``(?i)`` and ``(?m)`` work.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import re2  # type: ignore[import-untyped]  # google-re2 ships no types

MAX_MEMORY = 8 << 20
"""Bytes for one compiled pattern, including its search."""
MAX_WORK = 200_000_000
"""Size of the compiled pattern times characters of the text: one to two seconds."""


class PatternError(ValueError):
    """A pattern that cannot be used, or not on a text this long; the message says why."""


def find(pattern: str, text: str) -> str | None:
    """The first text in ``text`` that ``pattern`` matches, or ``None``. Raises ``PatternError``."""
    compiled = _compiled(pattern)
    if compiled.programsize * len(text) > MAX_WORK:
        raise PatternError(f"the pattern is too large for a text of {len(text):,} characters")
    match = compiled.search(_encodable(text))
    return None if match is None else str(match.group())


def pattern_problem(pattern: str) -> str | None:
    """What is wrong with a pattern, or ``None``. For checking datasets before any run."""
    try:
        _compiled(pattern)
    except PatternError as error:
        return str(error)
    return None


class UnusableSchemaError(ValueError):
    """An invalid schema, one that refers to other documents, or one that takes too much work."""


def unusable_keywords(schema: Mapping[str, object]) -> str | None:
    """Which keywords of the schema cannot be used together, or ``None``. For checking datasets before any run."""
    # jsonschema's unevaluatedProperties matches patternProperties with Python's own, backtracking expressions.
    text = json.dumps(schema)
    if "unevaluatedProperties" in text and "patternProperties" in text:
        return "unevaluatedProperties and patternProperties cannot be used together"
    return None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.max_mem = MAX_MEMORY
    options.log_errors = False
    options.never_capture = True  # only the whole match is read, and hundreds of groups make a search slow
    try:
        return re2.compile(_encodable(pattern), options)
    except re2.error as error:
        reason = error.args[0] if error.args else "unknown"
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise PatternError(f"RE2 reports: {text}") from None


def _encodable(text: str) -> str:
    """Lone surrogates have no UTF-8 form; they become question marks."""
    return text.encode("utf-8", "replace").decode()
