"""Write datasets: a spec becomes an immutable version, and the version becomes the dataset's current one.

References are marked as doubtful here, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Any

from django.db import transaction

from benchmarks import jobs
from benchmarks.dataset_format.dumping import content_hash, task_hash
from benchmarks.dataset_format.expectations import TurnSpec
from benchmarks.dataset_format.fields import TAGS
from benchmarks.dataset_format.spec import TASK_KEYS, DatasetSpec, TaskSpec, as_mapping
from benchmarks.dataset_format.tools import ToolUse
from benchmarks.metrics.task_parts import WorldTables
from benchmarks.models import Dataset, DatasetFile, DatasetVersion, Task
from benchmarks.presentation.numbers import plural
from benchmarks.services.access import Caller, account_of, record
from benchmarks.services.errors import NotPossible

EXPECTING = tuple(key for key in TASK_KEYS if key not in TaskSpec.describing | {"id", "input"})
"""Keys of a task that metrics may need. A version counts how many of its tasks have each."""

MOST_VALUES = 20
MOST_KEYS = 10
"""Runs are broken down by at most this many keys of metadata, each with at most ``MOST_VALUES`` values."""


def import_dataset(spec: DatasetSpec, slug: str, origin: str, user: Caller = None) -> DatasetVersion:
    """Store the content as the dataset's current version. Content that it had before becomes current again.

    Safe in several processes at once: equal content is stored once, and versions are numbered without gaps. Raises
    ``NotPossible`` if the slug belongs to a canvas dataset.
    """
    with transaction.atomic():
        dataset, _ = Dataset.objects.select_for_update().get_or_create(slug=slug, defaults={"name": spec.name})
        return _make_current(dataset, spec, origin, user)


def save_edited_version(
    dataset: Dataset, spec: DatasetSpec, user: Caller, origin: str = DatasetVersion.Origin.ADMIN
) -> DatasetVersion:
    """Store an edit. Unchanged content stays the same version.

    From now on a change of the dataset's file waits for a decision, so that it does not overwrite the edit. Raises
    ``NotPossible`` for a canvas dataset.
    """
    with transaction.atomic():
        locked = Dataset.objects.select_for_update().get(pk=dataset.pk)
        before = locked.current_version
        if before is not None and before.content_hash == content_hash(spec):
            return before
        locked.edited_here = DatasetFile.objects.filter(dataset=locked).exists()
        return _make_current(locked, spec, origin, user)


def spec_of(version: DatasetVersion, first: int | None = None) -> DatasetSpec:
    """The content of a stored version of a YAML dataset, equal to what was stored; with ``first``, of so many tasks."""
    return DatasetSpec(
        name=version.name,
        description=version.description,
        metrics=tuple(version.metrics),
        tools=tuple(version.tools),
        tool_results=version.tool_results,
        world=version.world or WorldTables(),
        rubrics=tuple(version.rubrics),
        tasks=tuple(task_spec(task) for task in version.tasks.order_by("position")[:first]),
    )


def _make_current(dataset: Dataset, spec: DatasetSpec, origin: str, user: Caller) -> DatasetVersion:
    """Find or write the version and make it current. The caller holds the lock on the dataset's row."""
    if dataset.kind != Dataset.Kind.YAML:
        raise NotPossible(f"{dataset.slug} is a canvas dataset, whose tasks are generated. Choose another identifier.")
    version = dataset.versions.filter(content_hash=content_hash(spec)).first()
    if version is None:
        version = add_version(
            dataset,
            [_task(task, spec) for task in spec.tasks],
            user,
            content_hash=content_hash(spec),
            origin=origin,
            name=spec.name,
            description=spec.description,
            metrics=list(spec.metrics),
            tools=list(spec.tools),
            tool_results=dict(spec.tool_results),
            world=dict(spec.world) or None,
            rubrics=[dict(rubric) for rubric in spec.rubrics],
            facets=_facets(spec),
        )
        record(user, "dataset.edit", f"dataset {dataset.slug}", version=version.number, origin=str(origin))
    dataset.current_version = version
    dataset.name = spec.name
    dataset.description = spec.description
    dataset.save()
    return version


def add_version(dataset: Dataset, tasks: Sequence[Task], user: Caller, **fields: Any) -> DatasetVersion:
    """Store the next version of a dataset with its tasks. The caller holds the lock on the dataset's row."""
    latest = dataset.versions.order_by("-number").values_list("number", flat=True).first() or 0
    version = DatasetVersion.objects.create(
        dataset=dataset, number=latest + 1, task_count=len(tasks), created_by=account_of(user), **fields
    )
    doubtful = set(
        Task.objects.filter(version__dataset=dataset, is_doubtful=True).values_list("content_hash", flat=True)
    )
    for position, task in enumerate(tasks, 1):
        task.version, task.position, task.is_doubtful = version, position, task.content_hash in doubtful
    Task.objects.bulk_create(tasks, batch_size=500)
    return version


def _facets(spec: DatasetSpec) -> dict[str, object]:
    present = Counter(name for task in spec.tasks for name in EXPECTING if task.states(name))
    splits = Counter(task.split for task in spec.tasks if task.split)
    simulated = sum(bool(task.user) for task in spec.tasks)
    labels = _label_facets(spec)
    named = [task.cluster for task in spec.tasks]
    clusters = len(set(named) - {""}) + named.count("") if any(named) else 0
    weights = {task.weight for task in spec.tasks}
    return {
        "difficulty": dict(Counter(task.difficulty for task in spec.tasks)),
        "fields": {name: present[name] for name in EXPECTING if present[name]},
        **({"simulated_users": simulated} if simulated else {}),
        **({"split": dict(splits)} if splits else {}),
        **({"clusters": clusters} if clusters else {}),
        **({"weights": [min(weights), max(weights)]} if len(weights) > 1 else {}),
        **({"labels": labels} if labels else {}),
        **({"generator": asdict(spec.generator)} if spec.generator else {}),
    }


def _label_facets(spec: DatasetSpec) -> dict[str, dict[str, int]]:
    """Key of labels → value → number of tasks, of those that runs are broken down by.

    These are the most frequent tags that do not belong to all tasks, and the keys of metadata with a few values.
    """
    counts: dict[str, Counter[str]] = {}
    for task in spec.tasks:
        for key, _, value in (label.partition(": ") for label in task.labels):
            counts.setdefault(key, Counter())[value] += 1
    tags = counts.pop(TAGS, Counter())
    common = [(tag, n) for tag, n in tags.most_common() if n < len(spec.tasks)][:MOST_VALUES]
    telling = [(key, dict(sorted(values.items()))) for key, values in counts.items() if 1 < len(values) <= MOST_VALUES]
    return ({TAGS: dict(common)} if common else {}) | dict(telling[:MOST_KEYS])


def _task(task: TaskSpec, spec: DatasetSpec) -> Task:
    return Task(content_hash=task_hash(task, spec), **stored_fields(task))


def stored_fields(task: TaskSpec) -> dict[str, Any]:
    """The content of a task as fields of ``Task``."""
    values = as_mapping(task)
    values["task_id"] = values.pop("id")
    values["expected_tools"] = [
        {"name": use.name, "args": dict(use.args), **({"accept": dict(use.accept)} if use.accept else {})}
        for use in task.expected_tools
    ]
    values["expected_output"], *others = task.accepted_answers
    values["input"] = task.question
    beside = {key: values.pop(key) for key in list(values) if not hasattr(Task, key)}
    return values | {"other_answers": others or None, "labels": task.labels or None, "other_fields": beside or None}


def task_spec(task: Task) -> TaskSpec:
    """The content of a stored task of a YAML dataset."""
    stored = ((key, task.value_of(key)) for key in TASK_KEYS if key != "id")
    values = {key: _as_tuple(value) for key, value in stored if value is not None}
    values["id"] = task.task_id
    if task.messages or task.turns:
        values["input"] = ""
    if task.other_answers:
        values["expected_output"] = (task.expected_output, *task.other_answers)
    values["expected_tools"] = tuple(ToolUse(**use) for use in task.expected_tools)
    values["turns"] = tuple(
        TurnSpec(**{name: _as_tuple(given) for name, given in turn.items()}) for turn in task.turns or ()
    )
    return TaskSpec(**values)


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def mark_doubtful(
    version: DatasetVersion, task_ids: Collection[str], user: Caller = None, *, doubtful: bool = True
) -> int:
    """Mark the references of these tasks of a version as doubtful, or as sound again; returns how many tasks.

    The same tasks in all versions of the dataset are marked, and so are those of later versions until their content
    changes. A worker refreshes the numbers of the runs. Raises ``NotPossible`` if a task does not exist.
    """
    chosen = dict(version.tasks.filter(task_id__in=task_ids).values_list("task_id", "content_hash"))
    if missing := sorted(set(task_ids) - chosen.keys()):
        raise NotPossible(f"Version {version.number} of {version.dataset.slug} has no task {missing[0]}.")
    if not chosen:
        raise NotPossible("Select at least one task.")
    with transaction.atomic():
        same = Task.objects.filter(version__dataset=version.dataset_id, content_hash__in=chosen.values())
        same.update(is_doubtful=doubtful)
        record(
            user,
            "dataset.doubtful",
            f"dataset {version.dataset.slug}",
            tasks=plural(len(chosen), "task"),
            first=sorted(chosen)[:20],
            doubtful=doubtful,
        )
        dataset_id = version.dataset_id
        transaction.on_commit(lambda: jobs.refresh_doubtful_references.delay(dataset_id), robust=True)
    return len(chosen)
