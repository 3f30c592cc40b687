"""The value of an unquoted YAML word: text, a JSON value, or an error because YAML readers disagree about it.

YAML 1.1 and 1.2 read ``yes``, ``007``, ``12:30``, ``2024-01-31`` and ``1_000`` differently, and the author of a
benchmark rarely means any of these readings. Such words are refused, not guessed.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

Scalar = str | int | float | bool | None

_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LARGEST_INTEGER = 2**63 - 1
_MAX_DIGITS = 20
"""Longer integers are not converted, because that takes quadratic time."""


class Unclear(NamedTuple):
    """A word that must be quoted. ``reading`` is what readers may make of it, ``instead`` how to write that clearly."""

    reading: str
    instead: str = ""


_UNCLEAR = {
    r"yes|Yes|YES|on|On|ON": Unclear("a boolean", "true"),
    r"no|No|NO|off|Off|OFF": Unclear("a boolean", "false"),
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}": Unclear("a date"),
    (r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}[0-9.:Z+\- \t]{0,20}"): Unclear(
        "a time"
    ),
    r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?": Unclear("a base-60 number"),
    r"[-+]?0(?:o[0-7_]+|x[0-9a-fA-F_]+|b[01_]+)": Unclear("a number in another base", "it in decimal"),
    r"[-+]?0[0-9_]+(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?": Unclear(
        "a number without the leading zeros, or an octal number"
    ),
    r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9_]+)(?:[eE][-+]?[0-9]+)?": Unclear("a number", "it without underscores"),
    r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)": Unclear("a number that JSON cannot represent"),
}


def read_plain(text: str) -> Scalar | Unclear:
    """The value of an unquoted word. Integers beyond 64 bits and infinite floats are unclear."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if not (text[0].isdigit() or text[0] in "+-.ynoYNO"):
        return text
    if _INTEGER.fullmatch(text):
        fits = len(text) <= _MAX_DIGITS and abs(int(text)) <= _LARGEST_INTEGER
        return int(text) if fits else Unclear("an imprecise number, because it exceeds 64 bits")
    if _FLOAT.fullmatch(text):
        return number if math.isfinite(number := float(text)) else Unclear("infinity, because the number is too large")
    return next((unclear for pattern, unclear in _UNCLEAR.items() if re.fullmatch(pattern, text)), text)


def unstorable(text: str) -> str | None:
    """What is wrong with text that UTF-8 or PostgreSQL cannot hold; ``None`` if it can be stored."""
    match = _UNSTORABLE.search(text)
    return f"contains the character U+{ord(match[0]):04X}, which cannot be stored: remove it" if match else None
