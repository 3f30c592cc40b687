"""Datasets, their tasks, and what changed between two versions."""

from __future__ import annotations

import json
from itertools import zip_longest

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from benchmarks.models import Dataset, DatasetVersion, Task
from benchmarks.queries import datasets as reads
from benchmarks.queries.keyset import BadCursor
from benchmarks.queries.results import same_task_elsewhere
from benchmarks.queries.runs import RunFilters
from benchmarks.queries.runs import run_list as runs_of
from benchmarks.services.access import may_launch
from frontend import params
from frontend.texts import Difference, difference
from frontend.view_models import run_rows

PAGE_SIZE = 50
RUNS_SHOWN = 5
CHANGES_SHOWN = 40
COMPARED = (
    *("name", "difficulty", "input", "expected_output", "expected_tools", "context", "tools", "tool_results"),
    *("choices", "pattern", "tolerance", "schema", "tests"),
)


@require_safe
def dataset_list(request: HttpRequest) -> HttpResponse:
    page = Paginator(reads.dataset_list(), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {"page": page, "files": reads.files_to_mend(), "may_launch": may_launch(request.user)}
    return render(request, "frontend/datasets/list.html", context)


@require_safe
def dataset(request: HttpRequest, slug: str) -> HttpResponse:
    found = _dataset(slug)
    versions = reads.versions_of(found)
    number = params.whole_number(request.GET, "version")
    version = _version(found, number) if number else found.current_version
    filters = params.task_filters(request.GET)
    context = {
        "dataset": found,
        "version": version,
        "versions": list(zip_longest(versions, versions[1:])),
        "filters": filters,
        "page": None if version is None else _tasks(request, version, filters),
        "runs": run_rows(runs_of(RunFilters(dataset=slug))[:RUNS_SHOWN]),
        "may_launch": may_launch(request.user),
        "crumbs": [("Datasets", reverse("frontend:datasets")), (found.slug, None)],
    }
    return render(request, "frontend/datasets/detail.html", context)


@require_safe
def task(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    found = _dataset(slug)
    try:
        shown = reads.task_detail(found, pk)
    except Task.DoesNotExist:
        raise Http404("there is no such task") from None
    context = {
        "dataset": found,
        "task": shown,
        "elsewhere": same_task_elsewhere(shown),
        "crumbs": [
            ("Datasets", reverse("frontend:datasets")),
            (found.slug, reverse("frontend:dataset", args=(slug,))),
            (shown.task_id, None),
        ],
    }
    return render(request, "frontend/datasets/task.html", context)


@require_safe
def changes(request: HttpRequest, slug: str, old: int, new: int) -> HttpResponse:
    found = _dataset(slug)
    changed = reads.version_changes(_version(found, old), _version(found, new), CHANGES_SHOWN)
    context = {
        "dataset": found,
        "old": old,
        "new": new,
        "changes": changed,
        "changed": [(before, after, _parts(before, after)) for before, after in changed.changed],
        "crumbs": [
            ("Datasets", reverse("frontend:datasets")),
            (found.slug, reverse("frontend:dataset", args=(slug,))),
            (f"Version {old} to {new}", None),
        ],
    }
    return render(request, "frontend/datasets/changes.html", context)


def _tasks(request: HttpRequest, version: DatasetVersion, filters: reads.TaskFilters) -> reads.TaskPage:
    try:
        return reads.task_page(version, filters, request.GET.get("after"), request.GET.get("before"))
    except BadCursor:
        return reads.task_page(version, filters)


def _dataset(slug: str) -> Dataset:
    try:
        return reads.dataset_detail(slug)
    except Dataset.DoesNotExist:
        raise Http404(f"there is no dataset {slug}") from None


def _version(dataset: Dataset, number: int) -> DatasetVersion:
    try:
        return reads.version_of(dataset, number)
    except DatasetVersion.DoesNotExist:
        raise Http404(f"{dataset.slug} has no version {number}") from None


def _parts(before: Task, after: Task) -> list[tuple[str, str, str, Difference | None]]:
    """The fields in which two tasks differ, with both texts and their marked difference."""
    found = []
    for name in COMPARED:
        left, right = (_as_text(getattr(task, name)) for task in (before, after))
        if left != right:
            found.append((name.replace("_", " ").capitalize(), left, right, difference(left, right)))
    return found


def _as_text(value: object) -> str:
    """A field's value to be read; nothing where the field is left out."""
    if value in (None, [], {}):
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
