"""What differs between two contents of a dataset, for reading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from benchmarks.admin.base import folded
from benchmarks.admin.fields import pretty
from benchmarks.dataset_format import DatasetSpec, TaskSpec, as_mapping

MOST = 50
"""Changed tasks shown in full."""
LONGEST = 4_000


@dataclass(frozen=True, slots=True)
class Difference:
    """One key's value before and after, ready for a page; empty where it had none."""

    key: str
    before: SafeString
    after: SafeString


@dataclass(frozen=True, slots=True)
class Changes:
    """From one content to another: tasks by id, in the new order; the changed ones with their differences."""

    head: list[Difference]
    added: list[TaskSpec]
    removed: list[TaskSpec]
    changed: list[tuple[TaskSpec, list[Difference]]]
    reordered: bool
    more: int
    """Changed tasks beyond the ``MOST`` shown."""

    def __bool__(self) -> bool:
        return bool(self.head or self.added or self.removed or self.changed or self.reordered)


def changes_between(before: DatasetSpec, after: DatasetSpec) -> Changes:
    """Compare key by key. Tasks are the same task where they have the same id."""
    old, new = ({task.id: task for task in spec.tasks} for spec in (before, after))
    changed = [task for task in after.tasks if task.id in old and old[task.id] != task]
    kept = [task_id for task_id in old if task_id in new]
    return Changes(
        head=_differences(_head(before), _head(after)),
        added=[task for task in after.tasks if task.id not in old],
        removed=[task for task in before.tasks if task.id not in new],
        changed=[(task, _differences(as_mapping(old[task.id]), as_mapping(task))) for task in changed[:MOST]],
        reordered=kept != [task_id for task_id in new if task_id in old],
        more=max(len(changed) - MOST, 0),
    )


def _head(spec: DatasetSpec) -> dict[str, Any]:
    return {key: value for key, value in as_mapping(spec).items() if key != "tasks"}


def _differences(before: dict[str, Any], after: dict[str, Any]) -> list[Difference]:
    keys = dict.fromkeys((*before, *after))
    return [
        Difference(key, _written(before.get(key)), _written(after.get(key)))
        for key in keys
        if before.get(key) != after.get(key)
    ]


def _written(value: Any) -> SafeString:
    if value is None:
        return SafeString("")
    return folded(value if isinstance(value, str) else pretty(value), LONGEST)
