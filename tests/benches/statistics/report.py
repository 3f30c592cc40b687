"""Markdown tables, and the band in which a simulated coverage counts as correct."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

LOWEST, HIGHEST = 0.93, 0.97


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def share(value: float) -> str:
    return f"{100 * value:.1f}%"


def coverage(value: float) -> str:
    """A coverage, in bold and with the side on which it misses if it is outside the band."""
    if value < LOWEST:
        return f"**{share(value)} (low)**"
    return f"**{share(value)} (high)**" if value > HIGHEST else share(value)


def band_summary(values: Sequence[float]) -> str:
    low, high = sum(value < LOWEST for value in values), sum(value > HIGHEST for value in values)
    inside = len(values) - low - high
    return (
        f"{inside} of {len(values)} cells between {LOWEST:.0%} and {HIGHEST:.0%}, {low} below, {high} above; "
        f"mean {share(sum(values) / len(values))}, from {share(min(values))} to {share(max(values))}.\n"
    )
