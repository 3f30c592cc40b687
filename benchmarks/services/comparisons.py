"""What a request for a comparison may ask."""

from __future__ import annotations

import math

from benchmarks.services.errors import InvalidRequest
from benchmarks.statistics.margins import MARGIN


def read_margin(text: object) -> float:
    """A margin in points as a score from 0 to 1, by default ``MARGIN``. Raises ``InvalidRequest``."""
    if text is None or text == "":
        return MARGIN
    try:
        points = float(str(text))
    except ValueError:
        points = math.nan
    if not 0 < points <= 100:
        raise InvalidRequest({"margin": [f"{str(text)[:40]!r}: enter points above 0 and at most 100, for example, 2."]})
    return points / 100
