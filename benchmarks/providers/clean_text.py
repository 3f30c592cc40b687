"""Text as PostgreSQL, a page and a log can hold it: without NUL characters and lone surrogates, and without secrets."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

NUL_SHOWN_AS = "␀"
SURROGATE_SHOWN_AS = "\N{REPLACEMENT CHARACTER}"
SECRET_SHOWN_AS = "[key hidden]"
_SHORTEST_SECRET = 6
"""Shorter "keys" are dummies such as ``none``, which would only mangle messages if they were masked."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_KEY_LIKE = re.compile(
    r"\b(?:sk|pk|rk|gsk|hf|xai|r8|nvapi|pplx|csk|fw)[-_][A-Za-z0-9_\-*.]{8,}"  # vendors' prefixes
    r"|\bAIza[A-Za-z0-9_\-]{20,}"
    r"|(?<=[Bb]earer )[A-Za-z0-9_\-.=+/*]{6,}"
)


def storable(text: str, notes: list[str]) -> str:
    """``text`` with NUL characters and lone surrogates replaced visibly; ``notes`` gets a line for each kind."""
    if text.isascii() and "\0" not in text:
        return text
    nuls = text.count("\0")
    text, surrogates = _SURROGATE.subn(SURROGATE_SHOWN_AS, text)
    _note(notes, nuls, "NUL character", NUL_SHOWN_AS)
    _note(notes, surrogates, "lone surrogate", SURROGATE_SHOWN_AS)
    return text.replace("\0", NUL_SHOWN_AS)


def storable_json(value: Any, notes: list[str]) -> Any:
    """``value`` with every string and key in it storable. ``ValueError`` for numbers that JSON does not have.

    ``RecursionError`` where it nests deeper than Python goes, which the caller treats as malformed.
    """
    if isinstance(value, str):
        return storable(value, notes)
    if isinstance(value, dict):
        return {storable(str(key), notes): storable_json(member, notes) for key, member in value.items()}
    if isinstance(value, list):
        return [storable_json(member, notes) for member in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is no JSON number")
    return value


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """``text`` with the known secrets, and whatever looks like a vendor's key, masked."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, SECRET_SHOWN_AS)
    return _KEY_LIKE.sub(SECRET_SHOWN_AS, text)


def shortened(text: str, length: int = 300) -> str:
    """One line of at most ``length`` characters."""
    line = " ".join(text[: 4 * length].split())
    return line if len(line) <= length else line[: length - 1] + "…"


def _note(notes: list[str], count: int, what: str, shown_as: str) -> None:
    if count:
        notes.append(f"{count} {what}{'s' if count > 1 else ''} in the reply replaced by {shown_as}")
