"""How numbers, times, money and untrusted texts are written on pages. Pure functions; an unknown is never a zero."""

from __future__ import annotations

from datetime import datetime

UNKNOWN = "unknown"
NOTHING = "–"

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_AGO = ((86_400 * 365, "year"), (86_400 * 30, "month"), (86_400, "day"), (3_600, "hour"), (60, "minute"))
_BIDI = {
    code: f"⟨{name}⟩"
    for code, name in {
        0x061C: "ALM",
        0x200E: "LRM",
        0x200F: "RLM",
        0x202A: "LRE",
        0x202B: "RLE",
        0x202C: "PDF",
        0x202D: "LRO",
        0x202E: "RLO",
        0x2066: "LRI",
        0x2067: "RLI",
        0x2068: "FSI",
        0x2069: "PDI",
    }.items()
}
_NAMED = {0x00: "⟨NUL⟩", 0x07: "⟨BEL⟩", 0x08: "⟨BS⟩", 0x0D: "⟨CR⟩", 0x1B: "⟨ESC⟩", 0x7F: "⟨DEL⟩"}
_CONTROLS = {
    code: f"⟨U+{code:04X}⟩" for code in (*range(32), *range(0x80, 0xA0), 0xFFFE, 0xFFFF) if chr(code) not in "\n\t"
}
_VISIBLE = {**_CONTROLS, **_NAMED, **_BIDI}


def visible(text: str) -> str:
    """Make characters seen that act unseen: control characters (terminal colours among them), direction marks, and the
    two codes that are no characters.

    Line breaks and tabs stay, ``\\r\\n`` counts as one line break.
    """
    return text.replace("\r\n", "\n").translate(_VISIBLE)


def number(value: float | None, digits: int = 0) -> str:
    """``1234567`` → ``1 234 567`` with narrow no-break spaces; ``None`` → a dash."""
    return NOTHING if value is None else f"{value:,.{digits}f}".replace(",", "\u202f")


def score(value: float | None) -> str:
    """Three decimals for a score, whole numbers for a large measurement, a dash for none."""
    if value is None:
        return NOTHING
    return number(value) if abs(value) >= 100 else f"{value:.3f}".replace("-", "−")


def p_value(value: float | None) -> str:
    """Three decimals, ``< 0.001`` below them, a dash for none."""
    if value is None:
        return NOTHING
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def money(usd: float | None) -> str:
    """US dollars with the digits that matter; ``None`` is an unknown price, and says so."""
    if usd is None:
        return UNKNOWN
    if usd == 0:
        return "$0"
    if abs(usd) < 0.0001:
        return "< $0.0001"
    return f"${usd:.4f}" if abs(usd) < 1 else f"${usd:,.2f}"


def duration(seconds: float | None) -> str:
    """``0.42`` → ``420 ms``, ``75`` → ``1 min 15 s``; the two largest units."""
    if seconds is None:
        return NOTHING
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    rest, parts = round(seconds), []
    for size, unit in _UNITS:
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])


def milliseconds(value: float | None) -> str:
    return duration(None if value is None else value / 1000)


def ago(moment: datetime, now: datetime) -> str:
    """How long before ``now``: ``just now``, ``3 minutes ago``. A moment ahead of a skewed clock is ``just now``."""
    seconds = (now - moment).total_seconds()
    for size, unit in _AGO:
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"


def words(name: str) -> str:
    """``completed_with_errors`` → ``completed with errors``."""
    return name.replace("_", " ")
