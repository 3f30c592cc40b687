"""Where a stored or served value was lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def lost(before: Any, after: Any, where: str = "") -> Iterator[str]:
    """The places at which a value of ``before`` is missing or another one in ``after``, which may have more."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name, value in before.items():
            yield from lost(value, after.get(name, "missing"), f"{where}/{name}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, pair in enumerate(zip(before, after, strict=True)):
            yield from lost(*pair, f"{where}/{place}")
    elif before != after:
        yield f"{where}: {before!r} is {after!r}"
