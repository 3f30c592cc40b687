"""The table of what an agent did for a result."""

from __future__ import annotations

from benchmarks.models import StoredStep
from benchmarks.presentation.numbers import milliseconds
from benchmarks.presentation.tables import Column, Table
from benchmarks.providers.clean_text import shortened

STEPS = Table[StoredStep](
    "Steps in order",
    [
        Column("Step", lambda row: row.position, "number"),
        Column("Kind", lambda row: row.kind.replace("_", " ")),
        Column("Agent", lambda row: row.agent),
        Column("Name", lambda row: row.name, "name"),
        Column("Text", lambda row: shortened(row.begins, 80)),
        Column("Returned", lambda row: shortened(row.returns, 60)),
        Column("Failed", lambda row: "yes" if row.failed else ""),
        Column("Time", lambda row: milliseconds(row.duration_ms), "number"),
    ],
)
