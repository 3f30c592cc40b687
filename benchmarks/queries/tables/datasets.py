"""The tables of datasets and of what is wrong in their files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.models import Dataset, DatasetFile
from benchmarks.presentation.cells import Cell, Link, Moment, Words, run_state, tag
from benchmarks.presentation.numbers import number
from benchmarks.presentation.tables import Column, Table
from benchmarks.presentation.texts import cut

KIND = {"canvas": "Canvas set", "yaml": "YAML"}
NEVER = Words("Never", "soft")


def _file(dataset: Dataset) -> DatasetFile | None:
    return getattr(dataset, "file", None)


def _name(dataset: Dataset) -> Cell:
    file = _file(dataset)
    marks = ["Edited here"] if dataset.edited_here else []
    marks += [f"File: {file.get_state_display()}"] if file and file.state != DatasetFile.State.GOOD else []
    link = Link(dataset.slug, "dataset", (dataset.slug,))
    return [link, Words(dataset.name, "soft"), *map(tag, marks)]


def _tasks(dataset: Dataset) -> Cell:
    return dataset.current_version.task_count if dataset.current_version else None


def _latest(dataset: Any) -> Cell:
    if dataset.last_run_id is None:
        return NEVER
    imported = [tag("Imported")] if dataset.last_run_imported else []
    return [Link(dataset.last_run_model, "run", (dataset.last_run_id,)), *imported]


def _launch(dataset: Dataset) -> Cell:
    return Link("New run", "launch", query={"dataset": dataset.slug}) if dataset.current_version_id else ""


DATASETS = Table[Any](
    "Datasets",
    [
        Column("Dataset", _name, "name"),
        Column("Kind", lambda row: KIND[row.kind], look="nowrap wide-only"),
        Column("Version", lambda row: row.current_version and row.current_version.label, "number", "wide-only"),
        Column("Tasks", _tasks, "number"),
        Column("Runs", lambda row: Link(number(row.run_count or 0), "runs", query={"dataset": row.slug}), "number"),
        Column("Latest run", _latest, look="anywhere"),
        Column("Status", lambda row: run_state(row.last_run_status) if row.last_run_id else ""),
        Column("Queued", lambda row: Moment(row.last_run_at) if row.last_run_id else "", look="nowrap"),
        Column("File", lambda row: file.path if (file := _file(row)) else "", only="text"),
        Column("New run", _launch, "number", hidden_head=True, only="page", given="may_launch"),
    ],
)
"""Of rows of ``dataset_list``."""


PROBLEMS = Table[Mapping[str, object]](
    "Errors",
    [
        Column("Line", lambda problem: str(problem["line"]), "number"),
        Column("Location", lambda problem: cut(problem["path"], 120), look="mono anywhere"),
        Column("Problem", lambda problem: cut(problem["message"], 500), look="wide-text anywhere"),
        Column("Source line", lambda problem: cut(problem.get("text"), 160), look="mono anywhere"),
    ],
    region=True,
)
"""What is wrong in a file, a row for each problem."""
