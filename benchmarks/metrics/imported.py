"""Scores that another tool gave, imported with a run of that tool. They are shown and compared, never computed here."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable

from benchmarks.metrics.base import Item, Metric

TOOLS = {
    "inspect": "Inspect",
    "promptfoo": "promptfoo",
    "lm-eval": "lm-evaluation-harness",
    "deepeval": "DeepEval",
    "api": "API",
}
SENT = {tool: f"by {name}" for tool, name in TOOLS.items()} | {"api": "over the API"}
SCORE, MEASUREMENT = ":", "#"
_SCORES, _MEASUREMENTS = (tuple(tool + mark for tool in TOOLS) for mark in (SCORE, MEASUREMENT))
MAX_NAME = 64
"""Characters, the width of the database column for metric names."""


class ImportedMetric(Metric):
    """A scorer or assertion of another tool. Its name holds everything about it: ``inspect:match`` scores from 0 to 1,
    ``inspect#points`` is a measurement of any size that decides no outcome.
    """

    def __init__(self, name: str, tool: str, scorer: str, *, measurement: bool) -> None:
        self.name = name  # type: ignore[misc]  # a class variable of the registered metrics
        self.title = f"{scorer} ({TOOLS[tool]})"  # type: ignore[misc]  # as above
        self.description = f"Score as reported {SENT[tool]}"  # type: ignore[misc]  # as above
        if measurement:
            self.range = (-math.inf, None)  # type: ignore[misc]  # as above
            self.decides_outcome = False  # type: ignore[misc]  # as above

    def has_answer(self, item: Item) -> bool:
        """The tool may have scored more than the text, such as what an agent did."""
        return True


def imported_name(tool: str, scorer: str, measurement: bool) -> str:
    """The name of a scorer's metric. A name that is too long ends in part of its hash, so that names stay distinct."""
    name = f"{tool}{MEASUREMENT if measurement else SCORE}{scorer}"
    if len(name) <= MAX_NAME:
        return name
    return f"{name[: MAX_NAME - 9]}~{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def deciding_names(names: Iterable[str]) -> list[str]:
    """The metrics, in their order, that may decide how a result ends: of a run that another tool scored, the tool's
    scores, or its measurements if it has no others.

    What this dashboard adds to an import says nothing about what the tool found, also where the tool found nothing.
    """
    known = list(names)
    by_kind = ([name for name in known if name.startswith(begins)] for begins in (_SCORES, _MEASUREMENTS))
    return next(filter(None, by_kind), known)


def imported_metric(name: str) -> ImportedMetric | None:
    """The metric of that name, or ``None`` if the name does not belong to another tool."""
    for tool in TOOLS:
        for mark in (SCORE, MEASUREMENT):
            if name.startswith(tool + mark):
                return ImportedMetric(name, tool, name.removeprefix(tool + mark), measurement=mark == MEASUREMENT)
    return None
