"""Editing datasets by hand. Versions are immutable, so every edit makes the next one out of the current one.

An edit names the version that its author had before their eyes. Where another has become current meanwhile, it is
refused with ``EditedMeanwhile`` and nothing is written, so that no one's work is lost unseen. Whatever is saved passes
the same checks as a YAML file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, replace
from typing import Any

from django.db import transaction

from benchmarks.dataset_format import (
    DatasetSpec,
    FieldProblems,
    TaskSpec,
    as_mapping,
    validate_dataset_fields,
)
from benchmarks.dataset_format.files import SLUG
from benchmarks.models import Dataset, DatasetFile, DatasetVersion
from benchmarks.services.access import record
from benchmarks.services.datasets.versions import Actor, import_dataset, save_edited_version, spec_of
from benchmarks.services.errors import InvalidRequest, NotPossible

HEAD = tuple(field.name for field in fields(DatasetSpec) if field.name != "tasks")
"""The keys of a dataset beside its tasks."""


class EditedMeanwhile(NotPossible):
    """Another version has become current since the edit was begun; ``current`` is that version."""

    def __init__(self, begun: DatasetVersion | None, current: DatasetVersion) -> None:
        who = current.created_by.get_username() if current.created_by else "a file or an import"
        since = f"you began on version {begun.number}" if begun else "you began"
        super().__init__(f"Version {current.number}, made by {who}, has become current since {since}.")
        self.current = current


def create_dataset(slug: str, values: Mapping[str, Any], user: Actor = None) -> DatasetVersion:
    """Store a new dataset of plain values. Raises ``InvalidRequest`` by path, or by ``slug`` where that cannot be."""
    spec, problems = validate_dataset_fields(values)
    problems = {**_slug_problems(slug), **problems}
    if spec is None or problems:
        raise InvalidRequest(problems)
    return _create(slug, spec, DatasetVersion.Origin.ADMIN, user)


def upload_dataset(slug: str, spec: DatasetSpec, user: Actor = None) -> DatasetVersion:
    """Store an uploaded dataset under a new name. Raises ``InvalidRequest`` by ``slug`` where that cannot be."""
    if problems := _slug_problems(slug):
        raise InvalidRequest(problems)
    return _create(slug, spec, DatasetVersion.Origin.UPLOAD, user)


def upload_version(dataset: Dataset, base: int | None, spec: DatasetSpec, user: Actor = None) -> DatasetVersion:
    """Replace the whole content by an uploaded one, as an edit that a later change of the file must ask about."""
    with transaction.atomic():
        current = _locked_current(dataset, base)
        version = import_dataset(spec, dataset.slug, DatasetVersion.Origin.UPLOAD, user)
        if version != current:
            by_hand = DatasetFile.objects.filter(dataset=dataset).exists()
            Dataset.objects.filter(pk=dataset.pk).update(edited_here=by_hand)
    return version


def duplicate_dataset(dataset: Dataset, slug: str, name: str, user: Actor = None) -> DatasetVersion:
    """Store the current content once more under another slug and name. Raises ``InvalidRequest`` by field."""
    if dataset.current_version is None:
        raise NotPossible(f"{dataset.slug} has no content yet that could be duplicated.")
    values = as_mapping(spec_of(dataset.current_version)) | {"name": name}
    return create_dataset(slug, values, user)


def change_head(dataset: Dataset, base: int | None, values: Mapping[str, Any], user: Actor = None) -> DatasetVersion:
    """Replace what stands beside the tasks; keys of ``HEAD`` without a value are left out. Errors are by path."""

    def changed(spec: DatasetSpec) -> dict[str, Any]:
        return {**values, "tasks": [as_mapping(task) for task in spec.tasks]}

    return _save(dataset, base, changed, user)


def add_task(
    dataset: Dataset, base: int | None, task: TaskSpec, *, place: int | None = None, user: Actor = None
) -> DatasetVersion:
    """Add a task at a place counted from 1, at the end without one. Errors are by the task's own keys."""

    def changed(spec: DatasetSpec) -> dict[str, Any]:
        return _with_task(spec, list(spec.tasks), task, place)

    return _save(dataset, base, changed, user, task.id)


def change_task(
    dataset: Dataset, base: int | None, task_id: str, task: TaskSpec, *, place: int | None = None, user: Actor = None
) -> DatasetVersion:
    """Put ``task`` where the one of that id stands, or at another place. Errors are by the task's own keys."""

    def changed(spec: DatasetSpec) -> dict[str, Any]:
        ids = [each.id for each in spec.tasks]
        if task_id not in ids:
            raise NotPossible(
                f"The current version has no task {task_id} any more. Add it as a new one if it is wanted."
            )
        others = [each for each in spec.tasks if each.id != task_id]
        return _with_task(spec, others, task, place or ids.index(task_id) + 1)

    return _save(dataset, base, changed, user, task.id)


def remove_tasks(dataset: Dataset, base: int | None, task_ids: Collection[str], user: Actor = None) -> DatasetVersion:
    """Make a version without these tasks. Raises ``NotPossible`` where none would be left."""

    def changed(spec: DatasetSpec) -> dict[str, Any]:
        left = tuple(task for task in spec.tasks if task.id not in task_ids)
        if not left:
            raise NotPossible(f"A dataset needs at least one task: delete {dataset.slug} as a whole instead.")
        return as_mapping(replace(spec, tasks=left))

    return _save(dataset, base, changed, user)


def restore_version(version: DatasetVersion, base: int | None, user: Actor = None) -> DatasetVersion:
    """Make an earlier content current again, as an edit."""
    with transaction.atomic():
        _locked_current(version.dataset, base)
        return save_edited_version(version.dataset, spec_of(version), user)


def delete_dataset(dataset: Dataset, user: Actor = None) -> None:
    """Delete a dataset with all its versions. Raises ``NotPossible`` as ``why_not_deletable`` says."""
    with transaction.atomic():
        locked = Dataset.objects.select_for_update().get(pk=dataset.pk)
        if reason := why_not_deletable(locked):
            raise NotPossible(reason)
        record(user, "dataset.delete", f"dataset {locked.slug}")
        DatasetFile.objects.filter(dataset=locked).delete()
        Dataset.objects.filter(pk=locked.pk).update(current_version=None)
        Dataset.objects.get(pk=locked.pk).delete()


def why_not_deletable(dataset: Dataset) -> str:
    """Why the dataset has to stay, empty where it can be deleted."""
    if dataset.kind != Dataset.Kind.YAML:
        return f"{dataset.slug} is a canvas dataset: it goes with its canvas set."
    if runs := dataset.runs.count():
        counted = "1 run, which" if runs == 1 else f"{runs} runs, which"
        return f"{dataset.slug} has {counted} would lose what was asked: delete first what refers to it."
    return ""


def _create(slug: str, spec: DatasetSpec, origin: str, user: Actor) -> DatasetVersion:
    with transaction.atomic():
        dataset, created = Dataset.objects.get_or_create(slug=slug, defaults={"name": spec.name})
        if not created:
            raise InvalidRequest({"slug": [_taken(dataset)]})
        return import_dataset(spec, slug, origin, user)


def _slug_problems(slug: str) -> FieldProblems:
    if not SLUG.fullmatch(slug):
        return {"slug": ["must be 1 to 100 letters, digits, _ or -: it is the dataset's identifier"]}
    taken = Dataset.objects.filter(slug=slug).first()
    return {"slug": [_taken(taken)]} if taken else {}


def _taken(dataset: Dataset) -> str:
    return f"{dataset.slug} is there already: choose another, or upload a new version on its own page"


def _save(
    dataset: Dataset,
    base: int | None,
    changed: Callable[[DatasetSpec], dict[str, Any]],
    user: Actor,
    edited_task: str | None = None,
) -> DatasetVersion:
    """Check and store what ``changed`` makes of the current content, with the dataset locked.

    Problems of the task that is edited come under its own keys, others under their paths.
    """
    with transaction.atomic():
        values = changed(spec_of(_locked_current(dataset, base)))
        spec, problems = validate_dataset_fields(values)
        if spec is None:
            raise InvalidRequest(_own_keys(problems, values, edited_task))
        return save_edited_version(dataset, spec, user)


def _locked_current(dataset: Dataset, base: int | None) -> DatasetVersion:
    """Lock the dataset's row and return its current version, if that is still ``base``."""
    locked = Dataset.objects.select_for_update(of=("self",)).get(pk=dataset.pk)
    current = locked.current_version
    if locked.kind != Dataset.Kind.YAML or current is None:
        raise NotPossible(f"{locked.slug} is no dataset that people write: its tasks are generated.")
    if current.pk != base:
        raise EditedMeanwhile(locked.versions.filter(pk=base).first() if base else None, current)
    return current


def _with_task(spec: DatasetSpec, others: list[TaskSpec], task: TaskSpec, place: int | None) -> dict[str, Any]:
    index = len(others) if place is None else max(place, 1) - 1
    return as_mapping(replace(spec, tasks=(*others[:index], task, *others[index:])))


def _own_keys(problems: FieldProblems, values: Mapping[str, Any], task_id: str | None) -> FieldProblems:
    if task_id is None:
        return problems
    own = {f"tasks[{index}]." for index, task in enumerate(values["tasks"]) if task["id"] == task_id}
    found: FieldProblems = {}
    for path, messages in problems.items():
        prefix = next((prefix for prefix in own if path.startswith(prefix)), "")
        found.setdefault(path.removeprefix(prefix), []).extend(messages)
    return found
