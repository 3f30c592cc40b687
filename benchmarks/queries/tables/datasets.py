"""The tables of datasets and of what is wrong in their files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from benchmarks.imports.presets.base import Preset
from benchmarks.models import Dataset, DatasetFile, DatasetVersion, Result
from benchmarks.presentation.cells import (
    Button,
    Cell,
    Group,
    Link,
    Moment,
    Part,
    State,
    Strong,
    Submit,
    Words,
    state_of,
    tag,
)
from benchmarks.presentation.labels import metric_title, result_label
from benchmarks.presentation.numbers import number
from benchmarks.presentation.tables import Column, Table
from benchmarks.presentation.texts import cut
from benchmarks.queries.benchmarks import Benchmark
from benchmarks.queries.tables.benchmarks import best_model, best_score, drawn_models, launch_link
from benchmarks.queries.tables.runs import dataset_link

KIND = {"canvas": "Canvas set", "yaml": "YAML"}
NEVER = Words("No run yet", "soft")


def _file(dataset: Dataset) -> DatasetFile | None:
    return getattr(dataset, "file", None)


def _marks(dataset: Dataset) -> list[Part]:
    file = _file(dataset)
    marks = ["Edited here"] if dataset.edited_here else []
    marks += [f"File: {file.get_state_display()}"] if file and file.state != DatasetFile.State.GOOD else []
    return [*map(tag, marks)]


def _tasks(dataset: Dataset) -> Cell:
    return dataset.current_version.task_count if dataset.current_version else None


def _latest(dataset: Any) -> Cell:
    run = dataset.last_run
    if run is None:
        return NEVER
    imported = [tag("Imported")] if run.import_format else []
    return [Link(run.model, "run", (run.pk,)), *imported]


def _version(dataset: Dataset) -> Cell:
    return dataset.current_version.label if dataset.current_version else None


def _runs(dataset: Any) -> Cell:
    return Link(number(dataset.run_count or 0), "runs", query={"dataset": dataset.slug})


def _last_run(dataset: Any) -> Cell:
    run = dataset.last_run
    if run is None:
        return Words("Never", "soft")
    return [state_of(run), Group([Moment(run.created_at)], "soft small", block=True)]


DATASETS = Table[Any](
    "Datasets",
    [
        Column("Dataset", lambda row: [row.slug, row.title, *_marks(row)], "name"),
        Column("Kind", lambda row: KIND[row.kind]),
        Column("Version", _version, "number"),
        Column("Tasks", _tasks, "number"),
        Column("Runs", _runs, "number"),
        Column("Latest run", _latest),
        Column("Status", lambda row: state_of(row.last_run) if row.last_run else ""),
        Column("Queued", lambda row: Moment(row.last_run.created_at) if row.last_run else ""),
        Column("File", lambda row: file.path if (file := _file(row)) else ""),
    ],
)
"""Of ``with_last_runs``, as text."""

SCORED_DATASETS = Table[Benchmark](
    "Datasets",
    [
        Column("Dataset", lambda row: [dataset_link(row.dataset), *_marks(row.dataset)], "name"),
        Column("Version", lambda row: _version(row.dataset), "number", "wide-only"),
        Column("Tasks", lambda row: _tasks(row.dataset), "number"),
        Column("Runs", lambda row: _runs(row.dataset), "number"),
        Column("Model scores, 0 to 1", drawn_models, look="nowrap"),
        Column("Best score", best_score, "number"),
        Column("Best model", best_model),
        Column("Last run", lambda row: _last_run(row.dataset), look="wide-only"),
        Column(
            "Start",
            lambda row: launch_link(row) if row.dataset.current_version_id else "",
            "number",
            hidden_head=True,
            given="may_launch",
        ),
    ],
    look="scored",
)
"""The page of datasets, with what models recently scored."""


PROBLEMS = Table[Mapping[str, object]](
    "Errors",
    [
        Column("Line", lambda problem: str(problem["line"]), "number"),
        Column("Location", lambda problem: cut(problem["path"], 120), look="mono anywhere", bare=True),
        Column("Problem", lambda problem: cut(problem["message"], 500), look="wide-text anywhere", bare=True),
        Column(
            "Source line",
            lambda problem: cut(problem.get("text"), 160),
            look="mono anywhere",
            given="shows_source",
            bare=True,
        ),
    ],
    look="one-line",
    region=True,
)
"""What is wrong in a file, a row for each problem."""


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version, the one before it, the current one, which others may replace, how many runs used it, and in words what
    it changed, if that is known."""

    version: DatasetVersion
    older: DatasetVersion | None
    slug: str
    current: int | None
    runs: int
    said: str = ""


def version_rows(
    dataset: Dataset, versions: Sequence[DatasetVersion], runs: Mapping[int, int], said: Mapping[int, str]
) -> list[VersionRow]:
    """``versions`` are all of the dataset, newest first; ``runs`` counts those on each, ``said`` has their changes."""
    pairs, current = zip_longest(versions, versions[1:]), dataset.current_version_id
    return [
        VersionRow(each, older, dataset.slug, current, runs.get(each.pk, 0), said.get(each.pk, ""))
        for each, older in pairs
    ]


def _number(row: VersionRow) -> Cell:
    number = row.version.number
    link = Link(f"Version {number}", "dataset", (row.slug,), {"version": number})
    return [link, tag("Current")] if row.version.pk == row.current else link


def _origin(row: VersionRow) -> Cell:
    author = row.version.created_by
    return ", ".join([row.version.get_origin_display(), *([str(author)] if author else [])])


def _changes(row: VersionRow) -> Cell:
    if row.older is None:
        return Words("First version", "soft")
    old = row.older.number
    return Link(row.said or f"Changes since version {old}", "changes", (row.slug, old, row.version.number), look="more")


def _download(row: VersionRow) -> Cell:
    number = row.version.number

    def link(label: str, form: str, name: str) -> Link:
        of, query = (row.slug, form), {"version": number}
        return Link(label, "download-dataset", of, query, name=f"Version {number} as {name}")

    return [link("YAML", "yaml", "YAML"), "·", link("JSONL", "jsonl", "JSON Lines")]


def _restore(row: VersionRow) -> Cell:
    if row.version.pk == row.current:
        return ""
    number = row.version.number
    label, sent = f"Restore version {number}", {"base": str(row.current or ""), "version": str(number)}
    return Button(label, label, "dataset-action", (row.slug, "restore"), sent)


VERSIONS = Table[VersionRow](
    "Versions, newest first",
    [
        Column("Version", _number, "name"),
        Column("What changed", _changes, look="wide-text", bare=True),
        Column("Created", lambda row: Moment(row.version.created_at), bare=True),
        Column("Origin", _origin, bare=True),
        Column("Tasks", lambda row: row.version.task_count, "number"),
        Column("Runs", lambda row: row.runs, "number"),
        Column("Content hash", lambda row: row.version.content_hash[:12], look="mono wide-only"),
        Column("Download", _download, look="nowrap", only="page", given="is_written"),
        Column("Action", _restore, look="nowrap", hidden_head=True, only="page", given="may_restore"),
    ],
    region=True,
    look="one-line",
)


@dataclass(frozen=True, slots=True)
class PresetRow:
    """A public benchmark, and what is missing here to import it."""

    preset: Preset
    missing: str = ""

    @property
    def imported(self) -> int:
        """How many tasks an import makes of it."""
        return min(self.preset.limit or self.preset.size, self.preset.size)


def _import(row: PresetRow) -> Cell:
    if row.missing:
        return Words("Needs pyarrow", "soft")
    return Submit("Import", f"Import {row.preset.title}", "preset", row.preset.name)


def _imported(row: PresetRow) -> Cell:
    sampled = [Group([f"sampled of {number(row.preset.size)}"], "soft small", block=True)]
    return [number(row.imported), *(sampled if row.imported < row.preset.size else [])]


def _split(row: PresetRow) -> Cell:
    shots = f", {row.preset.shots}-shot" if row.preset.shots else ""
    return f"{row.preset.split}{shots}" if row.preset.repository else Words("generated", "soft")


def _license(row: PresetRow) -> Cell:
    """Names are short, and break at no hyphen; what some licenses say beside it stands below."""
    name, _, more = row.preset.license.rstrip(")").replace(" (", ", ", 1).partition(", ")
    return [Words(name, "nowrap"), Group([more], "soft small", block=True)] if more else Words(name, "nowrap")


PRESETS = Table[PresetRow](
    "Public benchmarks",
    [
        Column("Preset", lambda row: row.preset.name, "name", only="text"),
        Column(
            "Benchmark",
            lambda row: [Strong(row.preset.title), Group([row.preset.about], "soft small", block=True)],
            "name",
            only="page",
        ),
        Column("Tasks", _imported, "number", "nowrap"),
        Column("Repository", lambda row: row.preset.repository, only="text"),
        Column("Split", _split, look="wide-only nowrap", only="page"),
        Column("Split", lambda row: row.preset.split if row.preset.repository else "generated", only="text"),
        Column("Examples", lambda row: row.preset.shots, "number", only="text"),
        Column("Metrics", lambda row: ", ".join(map(metric_title, row.preset.metrics)), only="page", bare=True),
        Column("Metrics", lambda row: ", ".join(row.preset.metrics), only="text"),
        Column("License", _license, only="page", bare=True),
        Column("License", lambda row: row.preset.license, only="text"),
        Column("Action", _import, look="nowrap", hidden_head=True, only="page"),
    ],
    region=True,
    look="one-line",
)


def _outcome(result: Result) -> Cell:
    run = Link(f"Run {result.run_id}", "result", (result.run_id, result.pk))
    return [run, State(result.outcome or "pending", result_label(result.state, result.outcome))]


TASKS_TO_COPY = Table[Result](
    "Tasks to copy",
    [
        Column(
            "Task",
            lambda row: Link(row.task.task_id, "task", (row.run.dataset.slug, row.task_id)),
            "name",
        ),
        Column("Name", lambda row: row.task.name, look="anywhere"),
        Column("Dataset", lambda row: dataset_link(row.run.dataset), look="nowrap"),
        Column("Result", _outcome, look="nowrap"),
    ],
    region=True,
)
"""Of results whose tasks people wrote."""
