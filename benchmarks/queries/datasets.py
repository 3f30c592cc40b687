"""Reads of datasets, their versions, tasks and files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Case, Count, F, OuterRef, Q, QuerySet, Subquery, TextField, Value, When
from django.db.models.functions import Concat, Left

from benchmarks.engine.execution.prompts import PromptBuilder
from benchmarks.engine.execution.work_items import Prompt
from benchmarks.models import EXAMPLE_SET, HIDDEN_KINDS, Dataset, DatasetFile, DatasetVersion, Run, RunKind, Task
from benchmarks.queries.keyset import KeysetPage, Order, keyset_page, window_page
from benchmarks.queries.runs import runs
from tasks_app.loader import REPRESENTATIONS

PREVIEW = 160
TASKS_ON_A_PAGE = 25
FEW_MORE = 5
"""So many tasks more stand on the last page, instead of on one of their own."""
TEXTS_SEARCHED, NAMES_SEARCHED = 1_000, 10_000
"""Tasks per page of a search in texts, and of one in names only."""


@dataclass(frozen=True, slots=True)
class TaskFilters:
    text: str = ""
    difficulty: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class VersionChanges:
    """Tasks that differ between two versions, matched by id: the first of each kind, and how many there are."""

    added: list[Task]
    removed: list[Task]
    changed: list[tuple[Task, Task]]
    n_added: int
    n_removed: int
    n_changed: int
    reordered: bool

    @property
    def n_not_shown(self) -> int:
        """Tasks that differ and are not among those given."""
        given = len(self.added) + len(self.removed) + len(self.changed)
        return self.n_added + self.n_removed + self.n_changed - given


def dataset_list(kind: str = "") -> QuerySet[Dataset]:
    """Datasets with their current version, file, number of runs and the id of the latest."""
    of_dataset = Run.objects.filter(~Q(kind=RunKind.TRIAL), dataset=OuterRef("pk"))
    latest = of_dataset.order_by("-id")
    counted = of_dataset.order_by().values("dataset").annotate(n=Count("pk")).values("n")
    datasets = (
        Dataset.objects.select_related("current_version", "file")
        .defer(
            *("current_version__tools", "current_version__tool_results", "current_version__world"),
            "current_version__rubrics",
            *("current_version__description", "file__problems"),
        )
        .annotate(
            run_count=Subquery(counted),
            last_run_id=Subquery(latest.values("id")[:1]),
        )
    )
    datasets = datasets.exclude(kind__in=HIDDEN_KINDS)
    return datasets.filter(kind=kind) if kind else datasets


def with_last_runs(datasets: Iterable[Any]) -> list[Any]:
    """Rows of ``dataset_list``, each with its ``last_run`` as lists of runs show it, or ``None``."""
    rows = list(datasets)
    found = runs(Q()).in_bulk([row.last_run_id for row in rows if row.last_run_id])
    for row in rows:
        row.last_run = found.get(row.last_run_id)
    return rows


def full_datasets() -> QuerySet[Dataset]:
    """Datasets that can be run, with their current version and file, for the API."""
    datasets = Dataset.objects.filter(current_version__isnull=False).select_related("current_version", "file")
    return datasets.defer("file__problems").order_by("slug")


def full_tasks(slug: str) -> QuerySet[Task]:
    """The tasks of a dataset's current version in order, for the API. Raises ``Dataset.DoesNotExist``."""
    return Task.objects.filter(version=full_datasets().get(slug=slug).current_version_id).order_by("position")


def runnable_datasets() -> list[Dataset]:
    """Datasets that a run can be started on, by name; not the fresh tasks of a check for contamination."""
    of_version = ("number", "task_count", "metrics", "facets", "rubrics")
    columns = ("slug", "name", "kind", "canvas_set__count", *(f"current_version__{name}" for name in of_version))
    return list(_runnable().select_related("current_version", "canvas_set").only(*columns).order_by("kind", "slug"))


SHIPPED = frozenset(
    {
        *("basic-coding", "basic-coding-large", "conversations", "conversations-large", "instruction-following"),
        *("library-desk", "long-context", "long-context-128k", "long-context-64k", "long-context-large"),
        *("long-context-short", "rag-faithfulness", "rag-faithfulness-large", "reasoning", "reasoning-large"),
        *("structured-output", "structured-output-large", "tool-use-basic", "tool-use-large", "tool-use-shop"),
    }
)
"""The files of the datasets directory that the project brings, without ``.yaml``."""


def has_own_datasets() -> bool:
    """Whether somebody made a dataset or canvas set here, or put a file beside those that are shipped."""
    elsewhere = (DatasetVersion.Origin.FILE, DatasetVersion.Origin.IMPORTED)
    made = DatasetVersion.objects.exclude(origin__in=elsewhere).exclude(dataset__slug=EXAMPLE_SET)
    files = DatasetFile.objects.filter(dataset__isnull=False).exclude(path__in=[f"{name}.yaml" for name in SHIPPED])
    return made.exists() or files.exists()


def recently_run_datasets(text: str = "") -> QuerySet[Dataset]:
    """The same with the time of their latest run, those with the newest first; of those whose names have ``text``."""
    of_version = ("number", "task_count", "metrics", "facets")
    columns = ("slug", "name", "kind", "canvas_set__count", *(f"current_version__{name}" for name in of_version))
    latest = Run.objects.filter(dataset=OuterRef("pk")).order_by("-id").values("created_at")[:1]
    named = Q(slug__icontains=text) | Q(name__icontains=text) if text else Q()
    datasets = (
        _runnable()
        .select_related("current_version", "canvas_set")
        .filter(named)
        .only(*columns)
        .annotate(last_run_at=Subquery(latest))
    )
    return datasets.order_by(F("last_run_at").desc(nulls_last=True), "slug")


def _runnable() -> QuerySet[Dataset]:
    fresh = Run.objects.filter(fresh_of__isnull=False).values("dataset")
    datasets = Dataset.objects.filter(current_version__isnull=False).exclude(pk__in=fresh)
    return datasets.select_related("current_version")


def dataset_detail(slug: str) -> Dataset:
    """Raises ``Dataset.DoesNotExist``."""
    dataset = Dataset.objects.select_related("current_version", "file", "canvas_set").get(slug=slug)
    if dataset.current_version:
        dataset.current_version.dataset = dataset  # known, so that nothing asks for it again
    return dataset


def versions_of(dataset: Dataset) -> list[DatasetVersion]:
    """Newest first, without tools and descriptions."""
    return list(
        dataset.versions.select_related("created_by")
        .defer("tools", "tool_results", "world", "rubrics", "description")
        .order_by("-number")[:50]
    )


def runs_by_version(dataset: Dataset) -> dict[int, int]:
    """Version → the number of runs on it, without trials."""
    counted = Run.objects.filter(~Q(kind=RunKind.TRIAL), dataset=dataset).order_by().values_list("dataset_version")
    return dict(counted.annotate(n=Count("pk")))


def version_of(dataset: Dataset, number: int) -> DatasetVersion:
    """Raises ``DatasetVersion.DoesNotExist``."""
    return dataset.versions.get(number=number)


def answers_preview(length: int, task: str = "") -> Case:
    """The beginning of a task's first accepted answer, and whether there are others. ``task`` is the way to the task,
    such as ``task__``."""
    first = Left(f"{task}expected_output", length)
    alone = When(**{f"{task}other_answers__isnull": True}, then=first)
    return Case(alone, default=Concat(first, Value(" or others")), output_field=TextField())


def task_list(version: DatasetVersion) -> QuerySet[Task]:
    """Tasks of a version in order, with previews of their texts."""
    tasks = version.tasks.order_by("position")
    return tasks.only("version", "position", "task_id", "name", "difficulty", "group", "n_shapes").annotate(
        input_preview=Left("input", PREVIEW),
        expected_preview=answers_preview(PREVIEW),
        canvas_index=F("question__canvas__index"),
    )


def task_page(
    version: DatasetVersion, filters: TaskFilters, after: str | None = None, before: str | None = None
) -> KeysetPage[Task]:
    """One page of a version's tasks, in at most two queries. Raises ``BadCursor``.

    A search covers the tasks window by window: the texts of YAML tasks, but of generated tasks only the names, which
    describe their content. A task whose id equals the search text comes first.
    """
    chosen = {"difficulty": filters.difficulty, "group": filters.group}
    given = {name: value for name, value in chosen.items() if value}
    if any(value not in version.facets.get(name, ()) for name, value in given.items()):  # saves a search through all
        return KeysetPage([], None)
    tasks = task_list(version).filter(**given)
    if not filters.text:
        return keyset_page(tasks, Order("position"), TASKS_ON_A_PAGE, after, before, few=FEW_MORE)
    named = [] if after else list(tasks.filter(task_id=filters.text))
    written = version.dataset.kind == Dataset.Kind.YAML
    window = TEXTS_SEARCHED if written else NAMES_SEARCHED
    others = tasks.exclude(task_id=filters.text)
    matches = Q(task_id__icontains=filters.text) | Q(name__icontains=filters.text)
    if written:
        matches |= Q(input__icontains=filters.text) | Q(expected_output__icontains=filters.text)
    page = window_page(others, matches, TASKS_ON_A_PAGE, window=window, last=version.task_count, after=after)
    return replace(page, rows=[*named, *page.rows])


def task_detail(dataset: Dataset, pk: int) -> Task:
    """Raises ``Task.DoesNotExist``."""
    return Task.objects.select_related("version").get(pk=pk, version__dataset=dataset)


def files_needing_attention() -> list[DatasetFile]:
    """Files of the datasets directory that have errors, are missing, or wait for a decision."""
    return list(DatasetFile.objects.exclude(state=DatasetFile.State.GOOD).select_related("dataset"))


def version_changes(old: DatasetVersion, new: DatasetVersion, limit: int = 200) -> VersionChanges:
    """At most ``limit`` tasks each that were added, removed and changed from ``old`` to ``new``, in six queries."""
    before, after = (
        dict(version.tasks.order_by("position").values_list("task_id", "content_hash")) for version in (old, new)
    )
    all_changed = [task_id for task_id, digest in after.items() if before.get(task_id, digest) != digest]
    added, removed = [key for key in after if key not in before], [key for key in before if key not in after]
    changed = all_changed[:limit]
    first = {task.task_id: task for task in old.tasks.filter(task_id__in=changed)}
    second = {task.task_id: task for task in new.tasks.filter(task_id__in=changed)}
    return VersionChanges(
        added=list(new.tasks.filter(task_id__in=added[:limit])),
        removed=list(old.tasks.filter(task_id__in=removed[:limit])),
        changed=[(first[task_id], second[task_id]) for task_id in changed],
        n_added=len(added),
        n_removed=len(removed),
        n_changed=len(all_changed),
        reordered=[key for key in before if key in after] != [key for key in after if key in before],
    )


def prompt_of(task: Task, settings: Mapping[str, Any]) -> Prompt:
    """The prompt that a run with these settings sends: ``system_prompt``, ``representation``, ``few_shot``."""
    run = Run(
        dataset_version=task.version,
        parameters={"system_prompt": settings.get("system_prompt") or None},
        representation=settings.get("representation") or REPRESENTATIONS[0],
        few_shot=settings.get("few_shot", False),
    )
    return PromptBuilder(run).prompt(task)
