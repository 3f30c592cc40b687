"""Files of the datasets directory: their errors, and the choice if both file and dataset have changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from benchmarks.admin.base import ReadOnlyAdmin, change_url, column, link
from benchmarks.admin.edits import current_version
from benchmarks.admin.versions import changes_between
from benchmarks.dataset_format.files import read_dataset_file
from benchmarks.models import Dataset, DatasetFile
from benchmarks.presentation.labels import FILE_STATE
from benchmarks.services.datasets.files import accept_file, keep_dataset, sync_datasets
from benchmarks.services.datasets.versions import spec_of
from benchmarks.services.errors import NotPossible


@admin.register(DatasetFile)
class DatasetFileAdmin(ReadOnlyAdmin):
    list_display = ("path", "state_label", "dataset_link", "size", "checked_at")
    list_select_related = ("dataset",)
    list_filter = ("state",)
    search_fields = ("path",)
    ordering = ("path",)
    list_fields = ("path", "state", "size", "checked_at", "dataset__slug")
    fields = ("path", "state_label", "dataset_link", "size", "checked_at", "problem_table")
    views: ClassVar[Mapping[str, str]] = {"sync": "sync/", "decide": "<int:pk>/decide/"}
    change_list_template = "admin/benchmarks/datasetfile/list.html"
    change_form_template = "admin/benchmarks/datasetfile/view.html"

    state_label = column("state", lambda file: FILE_STATE.get(file.state, file.state))
    dataset_link = column("dataset", lambda file: link(file.dataset))
    problem_table = column("errors", lambda file: _problem_table(file.problems))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("dataset")

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        return super().changelist_view(request, {"may_sync": _may_decide(request), **(extra_context or {})})

    def sync_view(self, request: HttpRequest) -> HttpResponse:
        """Import the datasets directory now, comparing contents."""
        if request.method != "POST" or not _may_decide(request):
            raise PermissionDenied
        try:
            report = sync_datasets(settings.DATASETS_DIR, reread=True)
        except NotPossible as refusal:
            messages.error(request, refusal.message)
        else:
            level = messages.WARNING if report.problems else messages.SUCCESS
            messages.add_message(request, level, str(report).partition("\n")[0])
        return HttpResponseRedirect(self.list_url())

    def decide_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Show what the file would change, and let the reader use the file or keep the edits."""
        file = self.visible_object(request, pk)
        if file.dataset is None:
            raise Http404(f"{file.path} has no dataset.")
        if not _may_decide(request):
            raise PermissionDenied
        if request.method == "POST":
            return self._decide(request, file, file.dataset)
        directory = settings.DATASETS_DIR
        parsed = read_dataset_file(directory / file.path, directory)
        version = current_version(file.dataset)
        context = {
            "file": file,
            "dataset": file.dataset,
            "version": version,
            "problems": parsed.problems,
            "changes": changes_between(spec_of(version), parsed.spec) if parsed.spec else None,
        }
        title = f"{file.path} and {file.dataset.slug} have both changed"
        return self.page(request, "datasetfile/decide.html", title, **context)

    def _decide(self, request: HttpRequest, file: DatasetFile, dataset: Dataset) -> HttpResponse:
        decision = request.POST.get("decision")
        if decision not in ("accept", "keep"):
            messages.error(request, "Choose “Use file” or “Keep edits”.")
            return HttpResponseRedirect(request.path)
        # The choice applies to the changes on the page. If the dataset has changed since, they are different ones.
        if request.POST.get("base") != str(dataset.current_version_id):
            messages.error(request, "The dataset changed after you opened this page. Review the changes again.")
            return HttpResponseRedirect(request.path)
        try:
            if decision == "accept":
                version = accept_file(file, settings.DATASETS_DIR, request.user)
                done = f"Imported {file.path} as version {version.number}. Earlier versions are kept."
            else:
                keep_dataset(file, settings.DATASETS_DIR)
                done = f"Kept the edits of {dataset.slug}. If {file.path} changes again, you choose again."
        except NotPossible as refusal:
            messages.error(request, refusal.message)
            return HttpResponseRedirect(change_url(file))
        messages.success(request, done)
        self.log_change(request, dataset, done)
        return HttpResponseRedirect(change_url(dataset))


def _problem_table(problems: list[dict[str, Any]]) -> SafeString | str:
    if not problems:
        return "None"
    rows = format_html_join(
        "",
        "<tr><td>{}</td><td><code>{}</code></td><td>{}</td><td><code>{}</code></td></tr>",
        ((row.get("line"), row.get("path"), row.get("message"), row.get("text", "")) for row in problems),
    )
    return format_html(
        '<table class="cf-problems"><thead><tr><th>Line</th><th>Location</th><th>Problem</th><th>Source line</th></tr>'
        "</thead><tbody>{}</tbody></table>",
        rows,
    )


def _may_decide(request: HttpRequest) -> bool:
    return request.user.has_perm("benchmarks.change_dataset")
