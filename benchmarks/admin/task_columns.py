"""What a task's list and its read-only page show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest
from django.utils.translation import gettext as _

from benchmarks.admin.base import DatasetFilter, ModelAdmin, folded, link, shown_json, shown_texts, visible, whole
from benchmarks.models import Dataset, DatasetVersion, Task

PREVIEW = 120


class TasksOfDataset(DatasetFilter):
    path = "version__dataset"
    kind = Dataset.Kind.YAML


class VersionFilter(admin.SimpleListFilter):
    """Tasks of the current versions that people write; those of another version, or of canvases, by its own link."""

    title = "version"
    parameter_name = "version"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        number = whole(request.GET.get("version"))
        version = DatasetVersion.objects.select_related("dataset").filter(pk=number).first() if number else None
        return [(str(version.pk), f"{version.dataset.slug}, version {version.number}")] if version else []

    def has_output(self) -> bool:
        """Always: a filter without output would not be applied."""
        return True

    def choices(self, changelist: Any) -> Iterator[Any]:
        for choice in super().choices(changelist):
            yield {**choice, "display": "Current ones"} if choice["display"] == _("All") else choice

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if (number := whole(self.value())) is not None:
            return queryset.filter(version=number)
        current = Dataset.objects.filter(kind=Dataset.Kind.YAML, current_version__isnull=False)
        return queryset.filter(version__in=current.values("current_version"))


class TaskColumns(ModelAdmin):
    """The columns of the list and the fields of the page, long texts folded."""

    list_display = ("task_id", "name", "difficulty", "beginning", "dataset")
    list_select_related = ("version__dataset",)
    list_filter = (TasksOfDataset, VersionFilter, "difficulty")
    search_fields = ("task_id",)
    search_help_text = "By id or name, or by how the input begins"
    ordering = ("version", "position")
    shown = (
        *("task_id", "name", "difficulty", "position", "version__number"),
        *("version__dataset__slug", "version__dataset__kind", "version__dataset__current_version"),
    )
    fieldsets = (
        (None, {"fields": ("task_id", "name", "dataset", "version_link", "position", "difficulty", "group")}),
        ("Asked", {"fields": ("input_text", "context_texts", "tools_json", "tool_results_json")}),
        ("Expected", {"fields": ("expected_text", "expected_tools_json")}),
        ("Hints for metrics", {"fields": ("choices_texts", "pattern", "tolerance", "schema_json", "tests_text")}),
    )
    readonly_fields = (
        *("dataset", "version_link", "input_text", "context_texts", "tools_json", "tool_results_json"),
        *("expected_text", "expected_tools_json", "choices_texts", "schema_json", "tests_text"),
    )

    def narrowed(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        found: QuerySet[Any] = super().narrowed(rows).annotate(input_preview=Left("input", PREVIEW))
        return found

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """By id, name and input; in a version that the address names, which may be huge, by its exact id alone."""
        if not search_term:
            return queryset, False
        if whole(request.GET.get("version")) is not None:
            return queryset.filter(task_id=search_term), False
        wanted = Q(task_id__icontains=search_term) | Q(name__icontains=search_term)
        return queryset.filter(wanted | Q(input__istartswith=search_term)), False

    @admin.display(description="input")
    def beginning(self, task: Any) -> str:
        text = visible(task.input_preview)
        return text + "…" if len(task.input_preview) == PREVIEW else text

    @admin.display(description="dataset")
    def dataset(self, task: Task) -> str:
        return link(task.version.dataset)

    @admin.display(description="version")
    def version_link(self, task: Task) -> str:
        return link(task.version, f"version {task.version.number}")

    @admin.display(description="input")
    def input_text(self, task: Task) -> str:
        return folded(task.input)

    @admin.display(description="expected output")
    def expected_text(self, task: Task) -> str:
        return folded(task.expected_output)

    @admin.display(description="context")
    def context_texts(self, task: Task) -> str:
        return shown_texts(task.context)

    @admin.display(description="choices")
    def choices_texts(self, task: Task) -> str:
        return shown_texts(task.choices)

    @admin.display(description="tests")
    def tests_text(self, task: Task) -> str:
        return folded(task.tests) if task.tests else "–"

    @admin.display(description="tools")
    def tools_json(self, task: Task) -> str:
        return shown_json(task.tools)

    @admin.display(description="tool results")
    def tool_results_json(self, task: Task) -> str:
        return shown_json(task.tool_results)

    @admin.display(description="expected tools")
    def expected_tools_json(self, task: Task) -> str:
        return shown_json(task.expected_tools)

    @admin.display(description="schema")
    def schema_json(self, task: Task) -> str:
        return shown_json(task.schema)
