"""Datasets, their versions and their tasks, as other programs read them."""

from __future__ import annotations

from dataclasses import dataclass, make_dataclass
from datetime import datetime
from typing import Any, ClassVar, Self

from benchmarks.dataset_format.spec import TASK_KEYS
from benchmarks.models import Dataset, DatasetFile, Task
from benchmarks.queries.resources.base import Reader, Resource, type_of


@dataclass(frozen=True, kw_only=True)
class File(Resource):
    """The file in the datasets directory that a dataset is imported from."""

    described_by: ClassVar = DatasetFile

    path: str
    state: DatasetFile.State


@dataclass(frozen=True, kw_only=True)
class DatasetResource(Resource):
    described_by: ClassVar = Dataset

    slug: str
    name: str
    description: str
    kind: Dataset.Kind
    version: int | None
    added_canvases: int | None
    """Canvases by which a canvas set was enlarged since it was created"""
    tasks: int | None
    file: File | None
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, row: Dataset, reader: Reader, **given: Any) -> Self:
        version, file = row.current_version, getattr(row, "file", None)
        return super().of(
            row,
            reader,
            version=version and version.number,
            added_canvases=version and version.added_canvases,
            tasks=version and version.task_count,
            file=file and File.of(file, reader),
            **given,
        )


@dataclass(frozen=True, kw_only=True)
class Version(Resource):
    number: int
    content_hash: str
    origin: str
    task_count: int
    added_canvases: int
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class DatasetDetail(DatasetResource):
    versions: list[Version]

    @classmethod
    def of(cls, row: Dataset, reader: Reader, **given: Any) -> Self:
        return super().of(row, reader, versions=[Version.of(each, reader) for each in row.versions.all()], **given)


@dataclass(frozen=True, kw_only=True)
class _Task(Resource):
    """A task with the keys of the dataset format; tags and metadata are in ``labels``."""

    described_by: ClassVar = Task

    id: str
    name: str
    input: str
    difficulty: Task.Difficulty
    other_answers: list[str]
    """Texts that are accepted besides the expected output; empty if there are none."""
    labels: list[str]
    """Tags, split and metadata of a task, such as `tags: math` and `source: gsm8k`."""
    group: str
    n_shapes: int | None
    content_hash: str

    @classmethod
    def of(cls, row: Task, reader: Reader, **given: Any) -> Self:
        keys = {key: row.value_of(key) for key in _OTHER_KEYS}
        lists = {"other_answers": row.other_answers or [], "labels": row.labels or []}
        return super().of(row, reader, id=row.task_id, **keys, **lists, **given)


_OTHER_KEYS = [key for key in TASK_KEYS if key not in {"tags", "metadata"} | _Task.__dataclass_fields__.keys()]


def _key(name: str) -> tuple[str, Any]:
    return name, type_of(Task._meta.get_field(name)) if hasattr(Task, name) else Any | None


TaskResource: type[_Task] = make_dataclass(
    "TaskResource",
    map(_key, _OTHER_KEYS),
    bases=(_Task,),
    namespace={"__doc__": _Task.__doc__},
    frozen=True,
    kw_only=True,
)
"""A task with all keys, each a field."""
