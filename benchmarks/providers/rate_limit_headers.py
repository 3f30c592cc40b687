"""How long to wait, by what endpoints say in their headers: before a retry, and before they would refuse a request."""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime

_MOST_SECONDS = 366 * 86_400.0
_PART = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ms|d|h|m|s)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_PAIRS = tuple(
    (remaining, remaining.replace("remaining", "reset"))
    for remaining in (
        *("x-ratelimit-remaining-requests", "x-ratelimit-remaining-tokens", "x-ratelimit-remaining"),
        *("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-tokens-remaining"),
        *("anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-output-tokens-remaining"),
    )
)
"""Headers with what is left of a limit (OpenAI and its likes, Anthropic), and with when it is full again."""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by ``retry-after-ms`` or ``Retry-After`` (seconds or an HTTP date); never negative."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    given = headers.get("Retry-After")
    seconds = _number(given)
    if seconds is not None or given is None:
        return seconds
    try:
        return max(0.0, email.utils.parsedate_to_datetime(given).timestamp() - time.time())
    except (ValueError, OverflowError, OSError):
        return None


def seconds_until_allowed(headers: Mapping[str, str]) -> float | None:
    """Seconds until a limit of which nothing is left is full again; ``None`` if all have something left, or say nothing
    readable about it."""
    waits = [
        _until(headers.get(reset, "")) for left, reset in _PAIRS if left in headers and _number(headers[left]) == 0
    ]
    return max((wait for wait in waits if wait is not None), default=None)


def duration(text: str) -> float | None:
    """Seconds of a text such as ``1m30s``; ``None`` if it is not a duration."""
    parts = _PART.findall(text)
    if not parts or "".join(amount + unit for amount, unit in parts) != text:
        return None
    return min(sum(float(amount) * _UNITS[unit] for amount, unit in parts), _MOST_SECONDS)


def _until(reset: str) -> float | None:
    """Seconds until a reset given as a duration (``1m30s``), seconds, a time since 1970 (in s or ms) or RFC 3339."""
    number = _number(reset)
    if number is not None:
        if number > 1e11:  # milliseconds since 1970
            number /= 1000
        return max(0.0, number - time.time()) if number > 1e9 else number
    if (seconds := duration(reset)) is not None:
        return seconds
    try:
        moment = datetime.fromisoformat(reset)
    except ValueError:
        return None
    return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - time.time())


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None
