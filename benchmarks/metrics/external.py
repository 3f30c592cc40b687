"""Scores that another tool gave, taken over with a run of that tool. They are shown and compared, never taken here."""

from __future__ import annotations

import hashlib

from benchmarks.metrics.base import Metric

TOOLS = {"inspect": "Inspect", "promptfoo": "promptfoo"}
SCORE, MEASUREMENT = ":", "#"
MOST_CHARACTERS = 64
"""As wide as the column that names are stored in."""


class ExternalMetric(Metric):
    """A scorer or assertion of another tool. Its name tells all there is to know: ``inspect:match`` scores from 0 to 1,
    ``inspect#points`` is a measurement from 0 up that says nothing about right and wrong.
    """

    def __init__(self, name: str, tool: str, scorer: str, *, measurement: bool) -> None:
        self.name = name  # type: ignore[misc]  # declared for the class, which has one name elsewhere
        self.title = f"{scorer} ({TOOLS[tool]})"  # type: ignore[misc]  # as above
        self.description = f"As {TOOLS[tool]} scored it"  # type: ignore[misc]  # as above
        if measurement:
            self.range = (0.0, None)  # type: ignore[misc]  # as above
            self.decides_outcome = False  # type: ignore[misc]  # as above


def external_name(tool: str, scorer: str, measurement: bool) -> str:
    """The name of a scorer's metric; one that is too long ends in a part of its hash, so that names stay different."""
    name = f"{tool}{MEASUREMENT if measurement else SCORE}{scorer}"
    if len(name) <= MOST_CHARACTERS:
        return name
    return f"{name[: MOST_CHARACTERS - 9]}~{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def external_metric(name: str) -> ExternalMetric | None:
    """The metric of that name, or ``None`` where the name is not that of another tool's."""
    for tool in TOOLS:
        for mark in (SCORE, MEASUREMENT):
            if name.startswith(tool + mark):
                return ExternalMetric(name, tool, name.removeprefix(tool + mark), measurement=mark == MEASUREMENT)
    return None
