"""What an unquoted YAML word means here: text, a JSON value, or something that YAML readers disagree about.

YAML 1.1 and 1.2 read ``yes``, ``007``, ``12:30``, ``2024-01-31`` or ``1_000`` differently, and none of those readings
is likely what the author of a benchmark meant. Such words are refused instead of guessed.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

Scalar = str | int | float | bool | None

_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LARGEST_INTEGER = 2**63 - 1
_MOST_DIGITS = 20


@dataclass(frozen=True, slots=True)
class Unclear:
    """A word that must be quoted. ``reading`` says how it may be read, ``instead`` what to write to mean that."""

    reading: str
    instead: str = ""


_UNCLEAR = (
    (re.compile(r"yes|Yes|YES|on|On|ON"), Unclear("a boolean to some YAML readers", "true")),
    (re.compile(r"no|No|NO|off|Off|OFF"), Unclear("a boolean to some YAML readers", "false")),
    (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"), Unclear("a date to some YAML readers")),
    (
        re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}[0-9.:Z+\- \t]{0,20}"),
        Unclear("a moment in time to some YAML readers"),
    ),
    (
        re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"),
        Unclear("a base-60 number to some YAML readers"),
    ),
    (re.compile(r"[-+]?0(?:o[0-7_]+|x[0-9a-fA-F_]+|b[01_]+)"), Unclear("a number in another base", "it in decimal")),
    (
        re.compile(r"[-+]?0[0-9_]+(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?"),
        Unclear("a number whose leading zeros YAML drops or reads as octal"),
    ),
    (
        re.compile(r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9_]+)(?:[eE][-+]?[0-9]+)?"),
        Unclear("a number to some YAML readers", "it without underscores"),
    ),
    (re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"), Unclear("a number that JSON does not have")),
)


def read_plain(text: str) -> Scalar | Unclear:
    """Read an unquoted word. Integers fit 64 bits and floats are finite, otherwise the word is unclear."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if not (text[0].isdigit() or text[0] in "+-.ynoYNO"):
        return text
    if _INTEGER.fullmatch(text):
        return _read_integer(text)
    if _FLOAT.fullmatch(text):
        return number if math.isfinite(number := float(text)) else Unclear("a number too large to hold")
    return next((unclear for pattern, unclear in _UNCLEAR if pattern.fullmatch(text)), text)


def _read_integer(text: str) -> int | Unclear:
    if len(text) > _MOST_DIGITS or abs(int(text)) > _LARGEST_INTEGER:
        return Unclear("a number of more than 64 bits, which not every reader can hold")
    return int(text)


def reads_as_text(text: str) -> bool:
    """Whether the unquoted word would be read back as this very text."""
    return isinstance(read_plain(text), str)
