"""Scores that another tool gave, imported with a run of that tool. They are shown and compared, never computed here."""

from __future__ import annotations

import hashlib
import math
import re
from functools import lru_cache

from benchmarks.metrics.base import Item, Metric
from benchmarks.plugins import registry

PUSHED = "api"
"""In place of an importer's name, for runs that were pushed over the API."""
SCORE, MEASUREMENT = ":", "#"
_NAME = re.compile(rf"(?!rubric:|task:)([a-z][a-z0-9-]*)([{SCORE}{MEASUREMENT}])(.*)", re.DOTALL)
"""Of any tool, because the package that imported a run may be gone."""
MAX_NAME = 64
"""Characters, the width of the database column for metric names."""


def tool_title(tool: str) -> str:
    """The name of a tool for people, by that of its importer."""
    if tool == PUSHED:
        return "API"
    importer = registry("importers").get(tool)
    return importer.title if importer else tool


def sent_by(tool: str) -> str:
    """How what the tool reported came here."""
    return "over the API" if tool == PUSHED else f"by {tool_title(tool)}"


class ImportedMetric(Metric):
    """A scorer or assertion of another tool. Its name holds everything about it: ``inspect:match`` scores from 0 to 1,
    ``inspect#points`` is a measurement of any size that decides no outcome.
    """

    def __init__(self, name: str, tool: str, scorer: str, *, measurement: bool) -> None:
        self.name = name  # type: ignore[misc]  # a class variable of the registered metrics
        self.title = f"{scorer} ({tool_title(tool)})"  # type: ignore[misc]  # as above
        self.description = f"Score as reported {sent_by(tool)}"  # type: ignore[misc]  # as above
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


@lru_cache(maxsize=128)  # asked several times for every result of a run
def deciding_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The metrics, in their order, that may decide how a result ends: of a run that another tool scored, the tool's
    scores, or its measurements if it has no others.

    What this dashboard adds to an import says nothing about what the tool found, also where the tool found nothing.
    """
    marks = {name: match[2] for name in names if (match := _NAME.fullmatch(name))}
    by_kind = (tuple(name for name, mark in marks.items() if mark == kind) for kind in (SCORE, MEASUREMENT))
    return next(filter(None, by_kind), names)


def imported_metric(name: str) -> ImportedMetric | None:
    """The metric of that name, or ``None`` if the name does not belong to another tool."""
    match = _NAME.fullmatch(name)
    return ImportedMetric(name, match[1], match[3], measurement=match[2] == MEASUREMENT) if match else None
