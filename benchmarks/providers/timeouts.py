"""How long a provider may take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds. ``first_byte`` also bounds every later silence; ``whole`` is from the start to the last byte."""

    connect: float = 10.0
    first_byte: float = 120.0
    whole: float = 300.0
