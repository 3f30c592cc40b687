"""Text that PostgreSQL, a page and a log can hold: without NUL characters, lone surrogates and secrets."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from benchmarks.providers.base import ChatReply, ToolCall

NUL_SHOWN_AS = "␀"
SURROGATE_SHOWN_AS = "\N{REPLACEMENT CHARACTER}"
SECRET_SHOWN_AS = "[key hidden]"
SHORTEST_KEY = 16
"""Shorter keys are dummies of local servers, such as ``ollama`` or ``not-needed``, which an answer may well contain."""
NOTE = f"a key that the endpoint quoted replaced by {SECRET_SHOWN_AS}"
_SHORTEST_SECRET = 6
"""Shorter keys, such as ``none``, are masked only where a text gives them as the value of something or quotes them;
masking them everywhere would garble messages."""
_SECRET_HEADERS = ("auth", "key", "token", "secret", "cookie", "password")
_remembered: set[str] = set()
_UNDECODED = re.compile("[\udc80-\udcff]")
"""What ``surrogateescape`` makes of a byte that it cannot decode."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_KEY_LIKE = re.compile(
    r"\b(?:sk|pk|rk|gsk|hf|xai|r8|nvapi|pplx|csk|fw)[-_][A-Za-z0-9_\-*.]{8,}"  # vendors' prefixes
    r"|\bAIza[A-Za-z0-9_\-]{20,}"
    r"|(?<=[Bb]earer )[A-Za-z0-9_\-.=+/*]{6,}"
)

_GIVEN_AS_VALUE = r"(?:(?<=[:=\"'`“‘])|(?<=[:=] )|(?<=[Bb]earer )|(?<=[Bb]asic )|(?<=[Tt]oken )|(?<=[Kk]ey )){}(?!\w)"


def storable(text: str, notes: list[str]) -> str:
    """``text`` with NUL characters, bytes that are not UTF-8 and lone surrogates replaced visibly; ``notes`` gets a
    line for each kind."""
    if text.isascii() and "\0" not in text:
        return text
    nuls = text.count("\0")
    text, undecoded = _UNDECODED.subn(SURROGATE_SHOWN_AS, text)
    text, surrogates = _SURROGATE.subn(SURROGATE_SHOWN_AS, text)
    for count, one, many, shown_as in (
        (nuls, "NUL character", "NUL characters", NUL_SHOWN_AS),
        (undecoded, "byte that is not UTF-8", "bytes that are not UTF-8", SURROGATE_SHOWN_AS),
        (surrogates, "lone surrogate", "lone surrogates", SURROGATE_SHOWN_AS),
    ):
        if count:
            notes.append(f"{count} {one if count == 1 else many} in the response replaced by {shown_as}")
    return text.replace("\0", NUL_SHOWN_AS)


def storable_json(value: Any, notes: list[str]) -> Any:
    """``value`` with every string and key in it storable. Raises ``ValueError`` for numbers that JSON does not have.

    Raises ``RecursionError`` if it nests deeper than Python allows, which callers treat as malformed.
    """
    if isinstance(value, str):
        return storable(value, notes)
    if isinstance(value, dict):
        return {storable(str(key), notes): storable_json(member, notes) for key, member in value.items()}
    if isinstance(value, list):
        return [storable_json(member, notes) for member in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not a JSON number")
    return value


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """``text`` with the known secrets, those remembered, and whatever looks like a vendor's key, masked."""
    for secret in sorted({*secrets, *_remembered}, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, SECRET_SHOWN_AS)
        elif secret and secret in text:
            text = re.sub(_GIVEN_AS_VALUE.format(re.escape(secret)), SECRET_SHOWN_AS, text)
    return _KEY_LIKE.sub(SECRET_SHOWN_AS, text)


def remember_secret(secret: str) -> None:
    """Have ``without_secrets`` mask this secret from now on in this process, in log lines for example.

    For keys from the database: secrets of the environment are known when logging is set up.
    """
    _remembered.add(secret)


def shortened(text: str, length: int = 300) -> str:
    """One line of at most ``length`` characters."""
    line = " ".join(text[: 4 * length].split())
    return line if len(line) <= length else line[: length - 1] + "…"


def full_sentence(text: object) -> str:
    """What somebody else wrote, as a sentence: with one full stop, whether or not it had one."""
    written = str(text).rstrip(". ")
    return written if not written or written.endswith(("!", "?", "…", ".”")) else f"{written}."


def keys_sent(api_key: str | None, headers: Mapping[str, str]) -> tuple[str, ...]:
    """The secret parts of a provider's key and headers; a header ``Authorization: Scheme key`` also without its scheme.

    Answers are searched for these only: an endpoint can quote only what it was sent, and text that merely looks like a
    key may be what the model was asked for.
    """
    named = [value for name, value in headers.items() if any(part in name.lower() for part in _SECRET_HEADERS)]
    keys = {part for value in (api_key or "", *named) for part in (value, value.rpartition(" ")[2])}
    return tuple(sorted((key for key in keys if len(key) >= SHORTEST_KEY), key=len, reverse=True))


def without_keys(reply: ChatReply, keys: Sequence[str]) -> ChatReply:
    """The reply with each of ``keys`` masked and a note about it; the same object if it quotes none."""

    if not keys:
        return reply

    def mask(value: Any) -> Any:
        if isinstance(value, str):
            for key in keys:
                value = value.replace(key, SECRET_SHOWN_AS)
            return value
        if isinstance(value, Mapping):
            return {mask(name): mask(member) for name, member in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(map(mask, value))
        if isinstance(value, ToolCall):
            # Parsed arguments may contain in plain what is escaped in the raw ones, so both are masked.
            return ToolCall(*(mask(getattr(value, each.name)) for each in fields(value)))
        return value

    masked = replace(reply, **{each.name: mask(getattr(reply, each.name)) for each in fields(reply)})
    return reply if masked == reply else replace(masked, notes=(*masked.notes, NOTE))
