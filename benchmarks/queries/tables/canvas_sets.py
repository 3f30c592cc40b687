"""The table of canvas sets."""

from __future__ import annotations

from benchmarks.presentation.cells import Cell, Link, Moment, Progress, Words
from benchmarks.presentation.numbers import number
from benchmarks.presentation.tables import Column, Table
from benchmarks.presentation.texts import cut
from tasks_app.models import CanvasSet


def _name(canvas_set: CanvasSet) -> Cell:
    error = canvas_set.error_message
    said = [Words(cut(error, 300), "field-error")] if error else []
    return [Link(canvas_set.name, "gallery", (canvas_set.slug,)), *said]


def _canvases(canvas_set: CanvasSet) -> Cell:
    count, wanted = canvas_set.count, canvas_set.wanted
    drawn = [Progress(count, wanted, "Generated", str(count))] if canvas_set.is_growing else []
    return [*drawn, number(count) + (f" of {number(wanted)}" if wanted > count else "")]


def _shapes(canvas_set: CanvasSet) -> Cell:
    low, high = canvas_set.shapes_low, canvas_set.shapes_high
    return f"{low} to {high}" if high != low else str(low)


def tasks_of(canvas_set: CanvasSet) -> int | None:
    dataset = getattr(canvas_set, "dataset", None)  # one that is being generated has none
    return dataset.current_version.task_count if dataset and dataset.current_version else None


def _origin(canvas_set: CanvasSet) -> Cell:
    seed, generator = canvas_set.seed, canvas_set.generator_version
    parts = ["" if seed is None else f"seed {seed}", generator and f"generator {generator}"]
    return ", ".join([canvas_set.origin.capitalize(), *filter(None, parts)])


def _links(canvas_set: CanvasSet) -> Cell:
    dataset = getattr(canvas_set, "dataset", None)
    audit = Link("Audit", "audit", (canvas_set.slug,))
    return [audit, "·", Link("Tasks and runs", "dataset", (dataset.slug,))] if dataset else audit


CANVAS_SETS = Table[CanvasSet](
    "Canvas sets, newest first",
    [
        Column("Set", _name, "name"),
        Column("Slug", lambda row: row.slug, only="text"),
        Column("Canvases", _canvases, "number"),
        Column("Shapes", _shapes, "number"),
        Column("Tasks", tasks_of, "number"),
        Column("Origin", _origin),
        Column("Created", lambda row: Moment(row.created_at)),
        Column("Links", _links, look="nowrap", hidden_head=True, only="page"),
    ],
)
