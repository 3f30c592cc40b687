"""Writing datasets: a spec becomes an immutable version, and the version becomes the dataset's current one."""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.db import transaction

from benchmarks.dataset_format import DatasetSpec, TaskSpec, ToolUse, content_hash, task_hash
from benchmarks.dataset_format.spec import Difficulty
from benchmarks.models import Dataset, DatasetFile, DatasetVersion, Task
from benchmarks.services.access import record
from benchmarks.services.errors import NotPossible

NEEDED_FIELDS = ("expected_output", "expected_tools", "context", "tests", "schema", "choices", "pattern", "tolerance")
"""Task fields that some metric needs; a version counts how many of its tasks have each."""

Actor = AbstractBaseUser | AnonymousUser | None


def import_dataset(spec: DatasetSpec, slug: str, origin: str, user: Actor = None) -> DatasetVersion:
    """Store the content as the dataset's current version; content it had before becomes current again.

    Safe in several processes at once: the same content is stored once, versions are numbered without gaps.
    Raises ``NotPossible`` where the slug belongs to a canvas dataset.
    """
    with transaction.atomic():
        dataset, _ = Dataset.objects.select_for_update().get_or_create(slug=slug, defaults={"name": spec.name})
        return _make_current(dataset, spec, origin, user)


def save_edited_version(dataset: Dataset, spec: DatasetSpec, user: Actor) -> DatasetVersion:
    """Store what was edited here. Unchanged content stays the version it is.

    From then on a change of the dataset's file, if it has one, waits for a decision instead of overwriting the edit.
    Raises ``NotPossible`` for a canvas dataset, whose tasks are generated.
    """
    with transaction.atomic():
        locked = Dataset.objects.select_for_update().get(pk=dataset.pk)
        before = locked.current_version
        if before is not None and before.content_hash == content_hash(spec):
            return before
        locked.edited_here = DatasetFile.objects.filter(dataset=locked).exists()
        return _make_current(locked, spec, DatasetVersion.Origin.ADMIN, user)


def spec_of(version: DatasetVersion) -> DatasetSpec:
    """The content of a stored version of a YAML dataset, equal to what was imported."""
    return DatasetSpec(
        name=version.name,
        description=version.description,
        tools=tuple(version.tools),
        tool_results=version.tool_results,
        tasks=tuple(_task_spec(task) for task in version.tasks.order_by("position")),
    )


def _make_current(dataset: Dataset, spec: DatasetSpec, origin: str, user: Actor) -> DatasetVersion:
    """With the dataset's row locked: find or write the version, and point the dataset at it."""
    if dataset.kind != Dataset.Kind.YAML:
        raise NotPossible(f"{dataset.slug} is a canvas dataset, whose tasks are generated: choose another name.")
    version = dataset.versions.filter(content_hash=content_hash(spec)).first()
    dataset.current_version = version or _new_version(dataset, spec, origin, user)
    dataset.name = spec.name
    dataset.description = spec.description
    dataset.save()
    return dataset.current_version


def _new_version(dataset: Dataset, spec: DatasetSpec, origin: str, user: Actor) -> DatasetVersion:
    latest = dataset.versions.order_by("-number").values_list("number", flat=True).first() or 0
    version = DatasetVersion.objects.create(
        dataset=dataset,
        number=latest + 1,
        content_hash=content_hash(spec),
        origin=origin,
        name=spec.name,
        description=spec.description,
        tools=list(spec.tools),
        tool_results=dict(spec.tool_results),
        task_count=len(spec.tasks),
        facets=_facets(spec),
        created_by=user if isinstance(user, User) else None,
    )
    rows = [_task(version, position, task, spec) for position, task in enumerate(spec.tasks, 1)]
    Task.objects.bulk_create(rows, batch_size=500)
    record(user, "dataset.edit", f"dataset {dataset.slug}", version=version.number, origin=str(origin))
    return version


def _facets(spec: DatasetSpec) -> dict[str, Any]:
    return {
        "difficulty": dict(Counter(task.difficulty for task in spec.tasks)),
        "fields": {name: count for name in NEEDED_FIELDS if (count := sum(_has(task, name) for task in spec.tasks))},
    }


def _has(task: TaskSpec, name: str) -> bool:
    return getattr(task, name) not in (None, "", (), {})


def _task(version: DatasetVersion, position: int, task: TaskSpec, spec: DatasetSpec) -> Task:
    return Task(
        version=version,
        position=position,
        task_id=task.id,
        name=task.name,
        input=task.input,
        expected_output=task.expected_output,
        difficulty=task.difficulty,
        expected_tools=[{"name": use.name, "args": dict(use.args)} for use in task.expected_tools],
        context=list(task.context),
        tools=list(task.tools) or None,
        tool_results=dict(task.tool_results),
        tests=task.tests,
        schema=task.schema,
        choices=list(task.choices),
        pattern=task.pattern,
        tolerance=task.tolerance,
        content_hash=task_hash(task, spec),
    )


def _task_spec(task: Task) -> TaskSpec:
    return TaskSpec(
        id=task.task_id,
        name=task.name,
        input=task.input,
        expected_output=task.expected_output,
        difficulty=cast(Difficulty, task.difficulty),
        expected_tools=tuple(ToolUse(name=use["name"], args=use["args"]) for use in task.expected_tools),
        context=tuple(task.context),
        tools=tuple(task.tools or ()),
        tool_results=task.tool_results,
        tests=task.tests,
        schema=task.schema,
        choices=tuple(task.choices),
        pattern=task.pattern,
        tolerance=task.tolerance,
    )
