"""Versions of datasets: kept for ever, looked at, compared with the one before, made current again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html

from benchmarks.admin.base import DatasetFilter, ReadOnlyAdmin, change_url, folded, link, shown_json, whole
from benchmarks.admin.changes import changes_between
from benchmarks.admin.datasets import yaml_of
from benchmarks.admin.edits import tell_version
from benchmarks.models import Dataset, DatasetVersion
from benchmarks.services.datasets.editing import restore_version
from benchmarks.services.datasets.files import spec_of
from benchmarks.services.errors import NotPossible


@admin.register(DatasetVersion)
class DatasetVersionAdmin(ReadOnlyAdmin):
    list_display = ("numbered", "dataset_link", "origin", "task_count", "created_by", "created_at")
    list_display_links = ("numbered",)
    list_select_related = ("dataset", "created_by")
    list_filter = (DatasetFilter, "origin")
    ordering = ("-id",)
    shown = (
        *("number", "origin", "task_count", "created_at", "dataset__slug", "dataset__current_version"),
        "created_by__username",
    )
    fieldsets = (
        (None, {"fields": ("dataset_link", "numbered", "origin", "created_by", "created_at", "content_hash")}),
        ("Content", {"fields": ("name", "description_text", "tasks_link", "tools_json", "tool_results_json")}),
    )
    readonly_fields = (
        *("numbered", "dataset_link", "description_text", "tasks_link", "tools_json", "tool_results_json"),
    )
    views: ClassVar[Mapping[str, str]] = {"download": "<int:pk>/download/", "restore": "<int:pk>/restore/"}
    change_form_template = "admin/benchmarks/datasetversion/view.html"

    @admin.display(description="version")
    def numbered(self, version: DatasetVersion) -> str:
        current = ", current" if version.dataset.current_version_id == version.pk else ""
        return f"{version.number}{current}"

    @admin.display(description="dataset")
    def dataset_link(self, version: DatasetVersion) -> str:
        return link(version.dataset)

    @admin.display(description="description")
    def description_text(self, version: DatasetVersion) -> str:
        return folded(version.description)

    @admin.display(description="tasks")
    def tasks_link(self, version: DatasetVersion) -> str:
        address = f"{reverse('admin:benchmarks_task_changelist')}?version={version.pk}"
        return format_html('<a href="{}">{} tasks</a>', address, version.task_count)

    @admin.display(description="tools")
    def tools_json(self, version: DatasetVersion) -> str:
        return shown_json(version.tools)

    @admin.display(description="tool results")
    def tool_results_json(self, version: DatasetVersion) -> str:
        return shown_json(version.tool_results)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Versions are reached from their dataset, and have no place of their own in the index."""
        return False

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        version = self.get_object(request, unquote(object_id)) if object_id else None
        context = dict(extra_context or {})
        if version is not None and self.has_view_permission(request, version):
            written = version.dataset.kind == Dataset.Kind.YAML
            before = _version_before(version) if written else None
            context |= {
                "title": f"{version.dataset.slug}, version {version.number}",
                "subtitle": None,
                "before": before,
                "changes": changes_between(spec_of(before), spec_of(version)) if before else None,
                "is_current": version.dataset.current_version_id == version.pk,
                "may_restore": written and request.user.has_perm("benchmarks.change_dataset"),
                "is_written": written,
            }
        return super().changeform_view(request, object_id, form_url, context)

    def download_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        version = self._visible(request, pk)
        return yaml_of(version, f"{version.dataset.slug}-version-{version.number}.yaml")

    def restore_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Make the version current again."""
        version = self._visible(request, pk)
        if request.method != "POST" or not request.user.has_perm("benchmarks.change_dataset"):
            raise PermissionDenied
        base = whole(request.POST.get("base"))
        try:
            restored = restore_version(version, base, request.user)
        except NotPossible as refusal:
            messages.error(request, refusal.message)
            return HttpResponseRedirect(change_url(version))
        tell_version(self, request, base, restored, f"Version {version.number} is restored")
        return HttpResponseRedirect(change_url(version.dataset))

    def _visible(self, request: HttpRequest, pk: int) -> DatasetVersion:
        version = DatasetVersion.objects.select_related("dataset").filter(pk=pk).first()
        if version is None or version.dataset.kind != Dataset.Kind.YAML:
            raise Http404(f"there is no version {pk} that people wrote")
        if not self.has_view_permission(request, version):
            raise PermissionDenied
        return version


def _version_before(version: DatasetVersion) -> DatasetVersion | None:
    return version.dataset.versions.filter(number__lt=version.number).order_by("-number").first()
