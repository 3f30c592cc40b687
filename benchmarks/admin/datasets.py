"""Datasets: name, description, tools, tasks and versions, YAML files in and out, tables, copies."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from benchmarks.admin.base import UPLOAD, ServiceDeletion, change_url, column, folded, form_data, key_number, link
from benchmarks.admin.tasks import add_url, current_version, is_written, report_version
from benchmarks.dataset_format.dumping import dump_dataset
from benchmarks.forms.dataset_files import NewVersionForm, UploadForm
from benchmarks.forms.datasets import DatasetForm, DuplicateForm, NewDatasetForm, ProblemForm
from benchmarks.forms.imports import TableForm
from benchmarks.models import HIDDEN_KINDS, Dataset, DatasetFile, DatasetVersion
from benchmarks.presentation.numbers import plural
from benchmarks.presentation.texts import visible
from benchmarks.queries.datasets import files_needing_attention, task_list, versions_of
from benchmarks.services.datasets import editing
from benchmarks.services.datasets.versions import spec_of
from benchmarks.services.errors import NotPossible

TASKS_SHOWN = 50


def _file_state(dataset: Dataset) -> str:
    file = getattr(dataset, "file", None)
    edited = dataset.edited_here and file and file.state == DatasetFile.State.GOOD
    return link(file, "Edited here" if edited else file.get_state_display()) if file else "–"


@admin.register(Dataset)
class DatasetAdmin(ServiceDeletion):
    list_display = ("slug", "title", "kind", "version_number", "task_count", "file_state", "updated_at")
    list_select_related = ("current_version", "file")
    list_filter = (("kind", admin.AllValuesFieldListFilter), "edited_here", "file__state")
    search_fields = ("slug", "name")
    ordering = ("slug",)
    actions = None
    # For canvas datasets and for accounts that may not edit.
    fields = ("slug", "name", "kind", "description_text", "version_number", "task_count", "created_at")
    deletion_note = "This cannot be undone. To keep a copy, download the YAML first."
    deletion_service = staticmethod(editing.delete_dataset)
    views = (
        ("upload_new", "upload/"),
        ("table", "table/"),
        *((name, f"<int:pk>/{name}/") for name in ("upload", "download", "duplicate", "restore")),
    )
    change_list_template = "admin/benchmarks/dataset/list.html"
    change_form_template = "admin/benchmarks/dataset/change_form.html"

    title = column("name", lambda dataset: visible(dataset.name))
    version_number = column("version", lambda dataset: getattr(dataset.current_version, "number", None))
    task_count = column("tasks", lambda dataset: getattr(dataset.current_version, "task_count", 0))
    file_state = column("file", _file_state)
    description_text = column("description", lambda dataset: folded(dataset.description))

    def view_on_site(self, obj: Dataset) -> str:
        return reverse("frontend:dataset", args=(obj.slug,))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """All but the answers with known truth, which calibrations of judges keep to themselves."""
        datasets = super().get_queryset(request).exclude(kind__in=HIDDEN_KINDS)
        return datasets.select_related("current_version", "file")

    def has_change_permission(self, request: HttpRequest, obj: Dataset | None = None) -> bool:
        return super().has_change_permission(request, obj) and (obj is None or is_written(obj))

    def has_delete_permission(self, request: HttpRequest, obj: Dataset | None = None) -> bool:
        return super().has_delete_permission(request, obj) and (obj is None or is_written(obj))

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> Any:
        return super().changelist_view(request, {"files": files_needing_attention(), **(extra_context or {})})

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        form = NewDatasetForm(*form_data(request))
        return self._new(request, form, title="Add dataset", template="admin/benchmarks/dataset/add.html")

    def upload_new_view(self, request: HttpRequest) -> HttpResponse:
        """A YAML file as a new dataset."""
        return self._new(request, UploadForm(*form_data(request)), title="Upload dataset")

    def table_view(self, request: HttpRequest) -> HttpResponse:
        """A table of questions and answers as a new dataset."""
        return self._new(request, TableForm(*form_data(request)), title="Import table")

    def duplicate_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        dataset = self.visible_object(request, pk)
        if not is_written(dataset):
            raise PermissionDenied
        form = DuplicateForm(*form_data(request), dataset=dataset)
        return self._new(request, form, title=f"Duplicate {dataset.slug}", obj=dataset, button="Duplicate")

    def _new(self, request: HttpRequest, form: ProblemForm, *, template: str = UPLOAD, **page: Any) -> HttpResponse:
        """The page of a form that creates a dataset, and its submission."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        if version := form.save(request.user):
            if columns := getattr(form, "columns", ""):
                messages.info(request, f"Columns used: {columns}")
            done = f"Dataset {version.dataset.slug} created with {plural(version.task_count, 'task')}."
            messages.success(request, done)
            self.log_addition(request, version.dataset, done)
            return HttpResponseRedirect(change_url(version.dataset))
        return self.form_page(request, form, template=template, **page)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        dataset = self.get_object(request, unquote(object_id))
        context = _page_context(request, dataset) if dataset else {}
        if dataset is None or not self.has_change_permission(request, dataset):
            response: HttpResponse = super().change_view(request, object_id, form_url, context)
            return response
        form = DatasetForm(*form_data(request), version=current_version(dataset))
        if version := form.save(request.user):
            report_version(self, request, form.cleaned_data["base"], version, "Dataset changed")
            return HttpResponseRedirect(change_url(dataset) if "_continue" in request.POST else self.list_url())
        template = self.change_form_template
        return self.form_page(request, form, title=dataset.slug, obj=dataset, template=template, **context)

    def upload_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """A YAML file as the next version of a dataset."""
        dataset = self._editable(request, pk)
        form = NewVersionForm(*form_data(request), version=current_version(dataset))
        if version := form.save(request.user):
            report_version(self, request, form.cleaned_data["base"], version, "File imported")
            return HttpResponseRedirect(change_url(dataset))
        title = f"Upload new version of {dataset.slug}"
        return self.form_page(request, form, title=title, obj=dataset, template=UPLOAD)

    def download_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The current version as a YAML file, or the version whose number is in the query."""
        dataset = self.visible_object(request, pk)
        if not is_written(dataset):
            raise Http404(f"{dataset.slug} is a canvas dataset, which has no YAML.")
        number = request.GET.get("version")
        version = current_version(dataset) if number is None else _version(dataset, number)
        name = dataset.slug if number is None else f"{dataset.slug}-version-{version.number}"
        headers = {"Content-Disposition": f'attachment; filename="{name}.yaml"'}
        content = dump_dataset(spec_of(version))
        return HttpResponse(content, content_type="application/yaml; charset=utf-8", headers=headers)

    def restore_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Make an earlier version current again."""
        dataset = self._editable(request, pk)
        if request.method != "POST":
            raise PermissionDenied
        version = _version(dataset, request.POST.get("version"))
        base = key_number(request.POST.get("base"))
        try:
            restored = editing.restore_version(version, base, request.user)
        except NotPossible as refusal:
            messages.error(request, refusal.message)
        else:
            report_version(self, request, base, restored, f"Version {version.number} restored")
        return HttpResponseRedirect(change_url(dataset))

    def _editable(self, request: HttpRequest, pk: int) -> Dataset:
        dataset: Dataset = self.visible_object(request, pk)
        if not self.has_change_permission(request, dataset):
            raise PermissionDenied
        return dataset

    def deletion_notes(self, obj: Dataset) -> tuple[str, str]:
        return editing.lost_by_deletion(obj), editing.why_not_deletable(obj)


def _version(dataset: Dataset, number: str | None) -> DatasetVersion:
    version = dataset.versions.filter(number=key_number(number) or 0).first()
    if version is None:
        raise Http404(f"{dataset.slug} has no version {number}.")
    return version


def _page_context(request: HttpRequest, dataset: Dataset) -> dict[str, Any]:
    """What the page shows besides the form: the file, the tasks with the beginnings of their texts, the versions."""
    version, versions = dataset.current_version, versions_of(dataset)
    tasks = Paginator(task_list(version), TASKS_SHOWN).get_page(request.GET.get("page")) if version else None
    return {
        "file": getattr(dataset, "file", None),
        "version": version,
        "versions": list(zip_longest(versions, versions[1:])),
        "tasks_page": tasks,
        "add_task_url": add_url(dataset),
        "is_written": is_written(dataset),
    }
