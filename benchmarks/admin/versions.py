"""Versions of datasets: their changes, their YAML, and restoring one as the current version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from benchmarks.admin.base import (
    DatasetFilter,
    ReadOnlyAdmin,
    change_url,
    column,
    folded,
    key_number,
    link,
    shown_json,
)
from benchmarks.admin.edits import is_written, report_version
from benchmarks.admin.fields import pretty
from benchmarks.dataset_format.dumping import dump_dataset
from benchmarks.dataset_format.spec import DatasetSpec, TaskSpec, as_mapping
from benchmarks.models import DatasetVersion
from benchmarks.presentation.labels import VERSION_ORIGIN
from benchmarks.presentation.numbers import plural
from benchmarks.services.datasets.editing import restore_version
from benchmarks.services.datasets.versions import spec_of
from benchmarks.services.errors import NotPossible

MAX_CHANGED = 50
"""Changed tasks shown in full."""
MAX_VALUE = 4_000
"""Characters shown of a value that changed."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The value of one key before and after, as HTML; empty if absent."""

    key: str
    before: SafeString
    after: SafeString


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes from one content to another: tasks by id in the new order, changed ones with their differences."""

    head: list[Difference]
    added: list[TaskSpec]
    removed: list[TaskSpec]
    changed: list[tuple[TaskSpec, list[Difference]]]
    reordered: bool
    more: int
    """Changed tasks beyond ``MAX_CHANGED``."""

    def __bool__(self) -> bool:
        return bool(self.head or self.added or self.removed or self.changed or self.reordered)


def changes_between(before: DatasetSpec, after: DatasetSpec) -> Changes:
    """Compare key by key. Tasks with the same id are the same task."""
    old, new = ({task.id: task for task in spec.tasks} for spec in (before, after))
    changed = [task for task in after.tasks if task.id in old and old[task.id] != task]
    old_head, new_head = ({**as_mapping(spec), "tasks": None} for spec in (before, after))
    return Changes(
        head=_differences(old_head, new_head),
        added=[task for task in after.tasks if task.id not in old],
        removed=[task for task in before.tasks if task.id not in new],
        changed=[(task, _differences(as_mapping(old[task.id]), as_mapping(task))) for task in changed[:MAX_CHANGED]],
        reordered=[key for key in old if key in new] != [key for key in new if key in old],
        more=max(len(changed) - MAX_CHANGED, 0),
    )


def _differences(before: dict[str, Any], after: dict[str, Any]) -> list[Difference]:
    def written(value: Any) -> SafeString:
        text = value if isinstance(value, str) else pretty(value)
        return SafeString("") if value is None else folded(text, MAX_VALUE)

    keys = dict.fromkeys((*before, *after))
    pairs = ((key, before.get(key), after.get(key)) for key in keys)
    return [Difference(key, written(old), written(new)) for key, old, new in pairs if old != new]


@admin.register(DatasetVersion)
class DatasetVersionAdmin(ReadOnlyAdmin):
    list_display = ("numbered", "dataset_link", "origin_label", "task_count", "created_by", "created_at")
    list_display_links = ("numbered",)
    list_select_related = ("dataset", "created_by")
    list_filter = (DatasetFilter, "origin")
    ordering = ("-id",)
    list_fields = (
        *("number", "origin", "task_count", "created_at", "dataset__slug", "dataset__current_version"),
        "created_by__username",
    )
    fieldsets = (
        (None, {"fields": ("dataset_link", "numbered", "origin_label", "created_by", "created_at", "content_hash")}),
        ("Content", {"fields": ("name", "description_text", "tasks_link", "tools_json", "tool_results_json")}),
    )
    views: ClassVar[Mapping[str, str]] = {"download": "<int:pk>/download/", "restore": "<int:pk>/restore/"}
    change_form_template = "admin/benchmarks/datasetversion/view.html"

    numbered = column(
        "version",
        lambda version: f"{version.number}{', current' if version.dataset.current_version_id == version.pk else ''}",
    )
    dataset_link = column("dataset", lambda version: link(version.dataset))
    origin_label = column("origin", lambda version: VERSION_ORIGIN.get(version.origin, version.origin))
    description_text = column("description", lambda version: folded(version.description))
    tasks_link = column(
        "tasks",
        lambda version: format_html(
            '<a href="{}?version={}">{}</a>',
            reverse("admin:benchmarks_task_changelist"),
            version.pk,
            plural(version.task_count, "task"),
        ),
    )
    tools_json = column("tools", lambda version: shown_json(version.tools))
    tool_results_json = column("tool results", lambda version: shown_json(version.tool_results))

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Versions have no entry in the index, because they are listed with their dataset."""
        return False

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        version = self.get_object(request, unquote(object_id))
        context: dict[str, Any] = {"subtitle": None}
        if version is not None and self.has_view_permission(request, version):
            dataset = version.dataset
            written = is_written(dataset)
            before = dataset.versions.filter(number__lt=version.number).order_by("-number").first() if written else None
            context |= {
                "title": f"{dataset.slug}, version {version.number}",
                "before": before,
                "changes": changes_between(spec_of(before), spec_of(version)) if before else None,
                "is_current": dataset.current_version_id == version.pk,
                "may_restore": written and request.user.has_perm("benchmarks.change_dataset"),
                "is_written": written,
            }
        return super().change_view(request, object_id, form_url, context)

    def download_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        version = self._written_version(request, pk)
        return yaml_response(version, f"{version.dataset.slug}-version-{version.number}.yaml")

    def restore_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Make the version current again."""
        version = self._written_version(request, pk)
        if request.method != "POST" or not request.user.has_perm("benchmarks.change_dataset"):
            raise PermissionDenied
        base = key_number(request.POST.get("base"))
        try:
            restored = restore_version(version, base, request.user)
        except NotPossible as refusal:
            messages.error(request, refusal.message)
            return HttpResponseRedirect(change_url(version))
        report_version(self, request, base, restored, f"Version {version.number} restored")
        return HttpResponseRedirect(change_url(version.dataset))

    def _written_version(self, request: HttpRequest, pk: int) -> DatasetVersion:
        version: DatasetVersion = self.visible_object(request, pk)
        if not is_written(version.dataset):
            raise Http404("Versions of canvas datasets have no YAML.")
        return version


def yaml_response(version: DatasetVersion, name: str) -> HttpResponse:
    """A version as a YAML file to download."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(dump_dataset(spec_of(version)), content_type="application/yaml; charset=utf-8", headers=headers)
