"""Files of the datasets directory: their mistakes, and the choice where file and dataset have both changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from benchmarks.admin.base import ReadOnlyAdmin, change_url, link
from benchmarks.admin.changes import changes_between
from benchmarks.admin.edits import current_version
from benchmarks.dataset_format import Parsed, read_dataset_file
from benchmarks.models import Dataset, DatasetFile
from benchmarks.services.datasets.files import accept_file, keep_dataset, spec_of, sync_datasets
from benchmarks.services.errors import NotPossible


@admin.register(DatasetFile)
class DatasetFileAdmin(ReadOnlyAdmin):
    list_display = ("path", "state_text", "dataset_link", "size", "checked_at")
    list_select_related = ("dataset",)
    list_filter = ("state",)
    search_fields = ("path",)
    ordering = ("path",)
    shown = ("path", "state", "size", "checked_at", "dataset__slug")
    fieldsets = ((None, {"fields": ("path", "state_text", "dataset_link", "size", "checked_at", "problem_table")}),)
    readonly_fields = ("state_text", "dataset_link", "problem_table")
    views: ClassVar[Mapping[str, str]] = {"sync": "sync/", "decide": "<int:pk>/decide/"}
    change_list_template = "admin/benchmarks/datasetfile/list.html"
    change_form_template = "admin/benchmarks/datasetfile/view.html"

    @admin.display(description="state")
    def state_text(self, file: DatasetFile) -> str:
        return str(file.get_state_display())

    @admin.display(description="dataset")
    def dataset_link(self, file: DatasetFile) -> str:
        return link(file.dataset)

    @admin.display(description="mistakes")
    def problem_table(self, file: DatasetFile) -> str:
        if not file.problems:
            return "none"
        rows = format_html_join(
            "",
            "<tr><td>{}</td><td><code>{}</code></td><td>{}</td><td><code>{}</code></td></tr>",
            ((it.get("line"), it.get("path"), it.get("message"), it.get("text", "")) for it in file.problems),
        )
        head = "<tr><th>Line</th><th>Where</th><th>What is wrong</th><th>Its text</th></tr>"
        return format_html('<table class="cf-problems"><thead>' + head + "</thead><tbody>{}</tbody></table>", rows)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("dataset")

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        context = {"title": "A file of the datasets directory", **(extra_context or {})}
        return super().changeform_view(request, object_id, form_url, context)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        context = {"may_sync": _may_decide(request), **(extra_context or {})}
        return super().changelist_view(request, context)

    def sync_view(self, request: HttpRequest) -> HttpResponse:
        """Take over the datasets directory now, comparing contents."""
        if request.method != "POST" or not _may_decide(request):
            raise PermissionDenied
        try:
            report = sync_datasets(settings.DATASETS_DIR, reread=True)
        except NotPossible as refusal:
            messages.error(request, refusal.message)
        else:
            said = str(report).partition("\n")[0]
            messages.add_message(request, messages.WARNING if report.problems else messages.SUCCESS, said)
        return HttpResponseRedirect(reverse("admin:benchmarks_datasetfile_changelist"))

    def decide_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Show what the file would change, and let the reader take it over or keep what is here."""
        file = self.get_object(request, str(pk))
        if file is None or file.dataset is None:
            raise Http404(f"there is no file {pk} of a dataset")
        if not _may_decide(request):
            raise PermissionDenied
        if request.method == "POST":
            return self._decide(request, file, file.dataset)
        parsed = _read(file)
        version = current_version(file.dataset)
        context = {
            **self.admin_site.each_context(request),
            "title": f"{file.path} and {file.dataset.slug} have both changed",
            "opts": self.opts,
            "file": file,
            "dataset": file.dataset,
            "version": version,
            "problems": parsed.problems,
            "changes": changes_between(spec_of(version), parsed.spec) if parsed.spec else None,
            "media": self.media,
        }
        return TemplateResponse(request, "admin/benchmarks/datasetfile/decide.html", context)

    def _decide(self, request: HttpRequest, file: DatasetFile, dataset: Dataset) -> HttpResponse:
        if request.POST.get("decision") not in ("accept", "keep"):
            messages.error(request, "Choose the file, or what is here.")
            return HttpResponseRedirect(request.path)
        if request.POST.get("base") != str(dataset.current_version_id):
            messages.error(request, "The dataset has changed since you looked: look again, then decide.")
            return HttpResponseRedirect(request.path)
        try:
            if request.POST["decision"] == "accept":
                version = accept_file(file, settings.DATASETS_DIR, request.user)
                said = f"The file {file.path} is taken over as version {version.number}; the earlier versions are kept."
            else:
                keep_dataset(file, settings.DATASETS_DIR)
                said = f"The dataset {dataset.slug} stays as it is here; a further change of {file.path} asks again."
        except NotPossible as refusal:
            messages.error(request, refusal.message)
            return HttpResponseRedirect(change_url(file))
        messages.success(request, said)
        self.log_change(request, dataset, said)
        return HttpResponseRedirect(change_url(dataset))


def _may_decide(request: HttpRequest) -> bool:
    return request.user.has_perm("benchmarks.change_dataset")


def _read(file: DatasetFile) -> Parsed:
    directory: Path = settings.DATASETS_DIR
    return read_dataset_file(directory / file.path, directory)
