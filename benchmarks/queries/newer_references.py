"""Whether the references by which runs were scored have changed since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.core.cache import cache
from django.db.models import F

from benchmarks.models import Dataset, DatasetVersion, Run, Task
from benchmarks.queries.runs import runs_to_rescore

BATCH = 1_000
"""Tasks that one query compares."""


@dataclass(frozen=True, slots=True)
class NewerReferences:
    """A dataset whose current version, ``new``, holds answers to ``n_tasks`` of version ``old`` against other
    references. Unless its questions are the same, stored answers cannot be scored by it."""

    dataset: Dataset
    old: int
    new: int
    n_tasks: int
    same_questions: bool


def newer_references(runs: Iterable[Run]) -> list[NewerReferences]:
    """Of each version that the runs are on; empty if all are current, or only tell tasks in other words."""
    used = DatasetVersion.objects.filter(pk__in={run.dataset_version_id for run in runs})
    older = used.filter(dataset__current_version__number__gt=F("number")).select_related("dataset__current_version")
    found = []
    for old in older.order_by("dataset__slug", "number"):
        new = old.dataset.current_version
        n_tasks, same_questions = _changed(old, new) if new else (0, True)
        if new and n_tasks:
            found.append(NewerReferences(old.dataset, old.number, new.number, n_tasks, same_questions))
    return found


def rescorable(old: DatasetVersion, new: DatasetVersion) -> bool:
    """Whether runs on the old version have answers that the new one asks for, too, and scores differently."""
    n_tasks, same_questions = _changed(old, new)
    return bool(n_tasks and same_questions and runs_to_rescore(old, new, 1))


def _changed(old: DatasetVersion, new: DatasetVersion) -> tuple[int, bool]:
    """The number of tasks with other references, and whether the new version asks nothing else than the old one.

    Versions do not change, so it is computed once for two of them.
    """
    name = f"newer_references:{old.content_hash}:{new.content_hash}"
    kept: tuple[int, bool] | None = cache.get(name)
    if kept is None:
        before, after = (dict(version.tasks.values_list("task_id", "content_hash")) for version in (old, new))
        differ = [key for key, digest in after.items() if before.get(key, digest) != digest]
        references, asked = (sum(_differences(old, new, differ, each)) for each in (Task.REFERENCES, Task.ASKED))
        same_tools = (old.tools, old.tool_results) == (new.tools, new.tool_results)
        kept = references, not asked and same_tools and before.keys() >= after.keys()
        cache.set(name, kept, None)
    return kept


def _differences(
    old: DatasetVersion, new: DatasetVersion, task_ids: Sequence[str], fields: Sequence[str]
) -> Iterator[bool]:
    """For each of the tasks, which both versions have, whether any of the fields differs."""
    for start in range(0, len(task_ids), BATCH):
        chosen = task_ids[start : start + BATCH]
        before, after = (
            {
                task_id: values
                for task_id, *values in version.tasks.filter(task_id__in=chosen).values_list("task_id", *fields)
            }
            for version in (old, new)
        )
        yield from (before[task_id] != after[task_id] for task_id in chosen)
