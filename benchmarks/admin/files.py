"""Files of the datasets directory, and the choice if both a file and its dataset have changed.

The errors of a file are on the dashboard.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.safestring import SafeString

from benchmarks.admin.base import ModelAdmin, change_url, folded
from benchmarks.admin.tasks import current_version
from benchmarks.dataset_format.files import read_dataset_file
from benchmarks.dataset_format.spec import DatasetSpec, as_mapping
from benchmarks.forms.fields import pretty
from benchmarks.models import Dataset, DatasetFile
from benchmarks.services.datasets.files import accept_file, keep_dataset, sync_datasets
from benchmarks.services.datasets.versions import spec_of
from benchmarks.services.errors import NotPossible

MAX_CHANGES = 200
"""Changed values that are shown."""
MAX_VALUE = 4_000
"""Characters shown of a value that changed."""


@admin.register(DatasetFile)
class DatasetFileAdmin(ModelAdmin):
    permitted = ()
    list_display = ("path", "state", "dataset", "size", "checked_at")
    list_select_related = ("dataset",)
    list_filter = ("state",)
    search_fields = ("path",)
    ordering = ("path",)
    fields = list_display
    views = (("sync", "sync/"), ("decide", "<int:pk>/decide/"))
    change_list_template = "admin/benchmarks/datasetfile/list.html"
    change_form_template = "admin/benchmarks/datasetfile/view.html"

    def view_on_site(self, obj: DatasetFile) -> str:
        return f"{reverse('frontend:datasets')}#files"

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> Any:
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
        parsed = read_dataset_file(settings.DATASETS_DIR / file.path, settings.DATASETS_DIR)
        version = current_version(file.dataset)
        changes = islice(_changes(spec_of(version), parsed.spec), MAX_CHANGES + 1) if parsed.spec else ()
        context = {
            "file": file,
            "dataset": file.dataset,
            "version": version,
            "problems": parsed.problems,
            "changes": list(changes),
            "max_changes": MAX_CHANGES,
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


def _changes(before: DatasetSpec, after: DatasetSpec) -> Iterator[tuple[str, str, SafeString, SafeString]]:
    """Task or dataset, key, and the value before and after as HTML, of everything that differs.

    Tasks with the same id are the same task. A value that is absent is empty.
    """
    old, new = ({task.id: as_mapping(task) for task in spec.tasks} for spec in (before, after))
    heads = [
        # Of the tasks, the order of those in both.
        {**as_mapping(spec), "tasks": [task.id for task in spec.tasks if task.id in old and task.id in new]}
        for spec in (before, after)
    ]
    records: list[tuple[str, dict[str, object], dict[str, object]]] = [("Dataset", heads[0], heads[1])]
    records += [(task_id, old.get(task_id, {}), new.get(task_id, {})) for task_id in {**old, **new}]
    for place, left, right in records:
        for key in {**left, **right}:
            if left.get(key) != right.get(key):
                yield place, key, _value(left.get(key)), _value(right.get(key))


def _value(value: Any) -> SafeString:
    return SafeString() if value is None else folded(value if isinstance(value, str) else pretty(value), MAX_VALUE)


def _may_decide(request: HttpRequest) -> bool:
    return request.user.has_perm("benchmarks.change_dataset")
