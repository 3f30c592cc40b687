"""Mark references as doubtful. Scores of such tasks count in no number, unless a run includes them."""

from __future__ import annotations

from collections.abc import Collection

from django.db import transaction

from benchmarks import jobs
from benchmarks.models import DatasetVersion, Task
from benchmarks.presentation.numbers import plural
from benchmarks.services.access import Caller, record
from benchmarks.services.errors import NotPossible


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
