"""Words the task classes share. The sentences are those of the published canvases, letter for letter."""

from __future__ import annotations

from collections.abc import Sequence

_TEENS = [
    "zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth",
    "nineteenth",
]  # fmt: skip
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def ordinal(n: int) -> str:
    """Return the ordinal of `n` >= 1: "first", "twenty-first", and from 100 on in digits, "101st", "112th"."""
    if n < 20:
        return _TEENS[n]
    if n < 100:
        tens, unit = _TENS[n // 10 - 2], n % 10
        return f"{tens}-{_TEENS[unit]}" if unit else f"{tens[:-1]}ieth"
    suffix = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{suffix}"


def listing(names: Sequence[str]) -> str:
    """Return names as a list in a sentence: "a X, a Y, and a Z", or "a X and a Y"."""
    if len(names) < 3:
        return " and ".join(f"a {name}" for name in names)
    return f"a {', a '.join(names[:-1])}, and a {names[-1]}"
