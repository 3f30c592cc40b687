"""Numbers as a person reads them, the same in pages, commands, the admin, exports and reports.

``None`` is never written as 0: an unknown amount of money is ``UNKNOWN``, any other missing number is ``MISSING``.
A number and its unit are joined by a no-break space, so that no line ends between them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime

UNKNOWN = "unknown"
MISSING = "–"

_NBSP = "\u00a0"
_MINUS = "−"
_SIZES = ("bytes", "kB", "MB", "GB", "TB")
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_AGO = ((86_400 * 365, "year"), (86_400 * 30, "month"), (86_400, "day"), (3_600, "hour"), (60, "minute"))


def number(value: float | None, digits: int = 0) -> str:
    """``1234567`` → ``1,234,567``."""
    return MISSING if value is None else _signed(f"{value:,.{digits}f}")


def score(value: float | None) -> str:
    """Three decimals for a score, a whole number for a large measurement: ``0.704``, ``1,234``."""
    if value is None:
        return MISSING
    return number(value) if abs(value) >= 100 else _signed(f"{value:.3f}")


def points(difference: float) -> str:
    """A score or a difference of scores in percentage points: ``0.042`` → ``4.2``."""
    return _signed(f"{100 * difference:.1f}")


def whole_points(difference: float) -> str:
    """A difference that tasks can show, of which tenths would say too much: ``0.298`` → ``30``, ``0.004`` → ``0.4``."""
    return f"{100 * difference:.0f}" if difference >= 0.01 else points(difference)


def signed_points(difference: float | None) -> str:
    """A difference in percentage points with its sign: ``+11.7``, ``−0.8``."""
    if difference is None:
        return MISSING
    return f"{'+' if round(difference, 3) > 0 else ''}{points(difference)}"


def percent(share: float | None) -> str:
    """``0.979`` → ``97.9%``, ``0.95`` → ``95%``."""
    return MISSING if share is None else f"{points(share).removesuffix('.0')}%"


def rank_range(low: int, high: int) -> str:
    """The ranks that tests allow: ``1–3``, or ``2``."""
    return f"{low}–{high}" if low < high else str(low)


def chance(share: float | None) -> str:
    """A probability that was estimated from samples: ``37%``, ``< 1%``, ``> 99%``."""
    if share is None:
        return MISSING
    if share < 0.01:
        return "< 1%"
    return "> 99%" if share > 0.99 else f"{100 * share:.0f}%"


def p_value(value: float | None) -> str:
    """Three decimals, ``< 0.001`` below them."""
    if value is None:
        return MISSING
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def p_words(value: float) -> str:
    """A p-value inside a sentence: ``p = 0.032``, ``p < 0.001``; two decimals from 0.1."""
    return f"p {p_value(value)}" if value < 0.001 else f"p = {value:.3f}" if value < 0.1 else f"p = {value:.2f}"


def money(usd: float | None) -> str:
    """US dollars: cents, and two significant digits of less than ten: ``$1,234.50``, ``$0.46``, ``$0.013``."""
    if usd is None:
        return UNKNOWN
    if usd == 0:
        return "$0"
    if abs(usd) < 0.0001:
        return "< $0.0001"
    if abs(usd) >= 0.1:
        return f"${usd:,.2f}"
    # Trailing zeros go, but two decimals stay, as in every price: $0.05, not $0.050.
    whole, _, digits = f"{usd:.{1 - math.floor(math.log10(abs(usd)))}f}".partition(".")
    return f"${whole}.{digits.rstrip('0').ljust(2, '0')}"


def money_range(low: float | None, high: float | None) -> str:
    """``$0.12 to $0.46``, or one amount if both are equal; unknown as soon as one of the two is."""
    if low is None or high is None:
        return UNKNOWN
    return money(low) if money(low) == money(high) else interval(low, high, money)


def duration(seconds: float | None) -> str:
    """``412 ms``, ``3.4 s``, ``15 min 51 s``: the two largest units."""
    if seconds is None:
        return MISSING
    # Compared after rounding, or 0.9996 s would be written as 1000 ms.
    if round(seconds * 1000) < 1000:
        return f"{seconds * 1000:.0f}{_NBSP}ms"
    if round(seconds, 1) < 10:
        return f"{seconds:.1f}{_NBSP}s"
    rest, parts = round(seconds), []
    for length, unit in _UNITS:
        count, rest = divmod(rest, length)
        if count:
            parts.append(f"{count}{_NBSP}{unit}")
    return _NBSP.join(parts[:2])


def milliseconds(value: float | None) -> str:
    return duration(None if value is None else value / 1000)


def size(n_bytes: int) -> str:
    """``20 MB``, ``1.5 kB``, in steps of 1,024; one decimal below 10."""
    value, unit = float(n_bytes), 0
    while value >= 1024 and unit < len(_SIZES) - 1:
        value, unit = value / 1024, unit + 1
    written = f"{value:.1f}".removesuffix(".0") if value < 10 and unit else f"{value:,.0f}"
    return f"{written}{_NBSP}{_SIZES[unit]}"


def interval(low: float | None, high: float | None, written: Callable[[float], str] = score) -> str:
    """``0.665 to 0.740``, the bounds written by ``written``."""
    return MISSING if low is None or high is None else f"{written(low)} to {written(high)}"


def n_of(n: int, total: int) -> str:
    """``3 of 1,200``."""
    return f"{number(n)} of {number(total)}"


def plural(n: int, noun: str) -> str:
    """``1 task``, ``1,024 tasks``, ``2 canvases``, ``3 replies``."""
    if n == 1:
        return f"1 {noun}"
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{number(n)} {noun}es"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{number(n)} {noun[:-1]}ies"
    return f"{number(n)} {noun}s"


def ago(moment: datetime, now: datetime) -> str:
    """How long before ``now``: ``just now``, ``3 minutes ago``. A later moment (skewed clocks) is ``just now``."""
    seconds = (now - moment).total_seconds()
    for length, unit in _AGO:
        if seconds >= length:
            return f"{plural(int(seconds // length), unit)} ago"
    return "just now"


def ahead(moment: datetime, now: datetime) -> str:
    """How long after ``now``: ``in 22 hours``. An earlier moment is ``now``."""
    words = ago(now, moment)
    return f"in {words.removesuffix(' ago')}" if words.endswith(" ago") else "now"


def _signed(text: str) -> str:
    """With a true minus sign, and none before a zero."""
    if not text.startswith("-"):
        return text
    return _MINUS + text[1:] if text.strip("-0.,") else text[1:]
