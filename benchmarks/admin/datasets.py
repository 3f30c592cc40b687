"""Datasets: their name, description and tools, their list of tasks, YAML files in and out, tables, copies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from benchmarks.admin.base import UPLOAD, ServiceDeletion, change_url, column, folded, form_data, link, visible
from benchmarks.admin.edits import current_version, is_written, report_version
from benchmarks.admin.forms import (
    DatasetFileForm,
    DatasetForm,
    DuplicateForm,
    NewDatasetForm,
    NewVersionForm,
    ProblemForm,
    UploadForm,
)
from benchmarks.admin.imports import TableForm
from benchmarks.admin.tasks import add_url
from benchmarks.admin.versions import yaml_response
from benchmarks.models import Dataset, DatasetFile, DatasetVersion
from benchmarks.presentation.labels import FILE_STATE, VERSION_ORIGIN
from benchmarks.presentation.numbers import plural
from benchmarks.queries.datasets import files_needing_attention, task_list, versions_of
from benchmarks.services.datasets import editing

TASKS_SHOWN = 50


def _file_of(dataset: Dataset) -> DatasetFile | None:
    return getattr(dataset, "file", None)


def _file_state(dataset: Dataset) -> str:
    file = _file_of(dataset)
    if file is None:
        return "–"
    edited = dataset.edited_here and file.state == DatasetFile.State.GOOD
    return link(file, "Edited here" if edited else FILE_STATE.get(file.state, file.state))


@admin.register(Dataset)
class DatasetAdmin(ServiceDeletion):
    list_display = ("slug", "title", "kind", "version_number", "task_count", "file_state", "updated_at")
    list_select_related = ("current_version", "file")
    list_filter = ("kind", "edited_here", "file__state")
    search_fields = ("slug", "name")
    ordering = ("slug",)
    actions = None
    list_fields = (
        *("slug", "name", "kind", "edited_here", "updated_at", "current_version__number"),
        *("current_version__task_count", "file__path", "file__state"),
    )
    # For canvas datasets and for accounts that may not edit.
    fields = ("slug", "name", "kind", "description_text", "version_link", "task_count", "created_at")
    deletion_note = "This cannot be undone. To keep a copy, download the YAML first."
    views: ClassVar[Mapping[str, str]] = {
        "upload_new": "upload/",
        "table": "table/",
        "upload": "<int:pk>/upload/",
        "download": "<int:pk>/download/",
        "duplicate": "<int:pk>/duplicate/",
    }
    change_list_template = "admin/benchmarks/dataset/list.html"
    change_form_template = "admin/benchmarks/dataset/change_form.html"

    title = column("name", lambda dataset: visible(dataset.name))
    version_number = column("version", lambda dataset: getattr(dataset.current_version, "number", None))
    task_count = column("tasks", lambda dataset: getattr(dataset.current_version, "task_count", 0))
    file_state = column("file", _file_state)
    description_text = column("description", lambda dataset: folded(dataset.description))
    version_link = column(
        "current version",
        lambda dataset: link(dataset.current_version, f"version {getattr(dataset.current_version, 'number', '')}"),
    )

    def view_on_site(self, obj: Dataset) -> str:
        return reverse("frontend:dataset", args=(obj.slug,))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("current_version", "file")

    def has_change_permission(self, request: HttpRequest, obj: Dataset | None = None) -> bool:
        return super().has_change_permission(request, obj) and (obj is None or is_written(obj))

    def has_delete_permission(self, request: HttpRequest, obj: Dataset | None = None) -> bool:
        return super().has_delete_permission(request, obj) and (obj is None or is_written(obj))

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        return super().changelist_view(request, {"files": files_needing_attention(), **(extra_context or {})})

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        form = NewDatasetForm(*form_data(request))
        template = "admin/benchmarks/dataset/add.html"

        def create() -> DatasetVersion:
            return editing.create_dataset(form.cleaned_data["slug"], form.values(), request.user)

        return self._new(request, form, create, title="Add dataset", template=template, fields=form.paths)

    def upload_new_view(self, request: HttpRequest) -> HttpResponse:
        """A YAML file as a new dataset."""
        return self._new_from_file(request, UploadForm(*form_data(request)), "Upload dataset")

    def table_view(self, request: HttpRequest) -> HttpResponse:
        """A table of questions and answers as a new dataset."""
        return self._new_from_file(request, TableForm(*form_data(request)), "Import table")

    def duplicate_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        dataset = self.visible_object(request, pk)
        if not is_written(dataset):
            raise PermissionDenied
        initial = {"slug": f"{dataset.slug}-copy", "name": f"{dataset.name} (copy)"}
        form = DuplicateForm(*form_data(request), initial=initial)

        def duplicate() -> DatasetVersion:
            return editing.duplicate_dataset(dataset, **form.cleaned_data, user=request.user)

        title = f"Duplicate {dataset.slug}"
        return self._new(request, form, duplicate, title=title, template=UPLOAD, obj=dataset, button="Duplicate")

    def _new_from_file(self, request: HttpRequest, form: DatasetFileForm, title: str) -> HttpResponse:
        def upload() -> DatasetVersion:
            assert form.spec is not None, "a valid form has read its file"
            return editing.upload_dataset(form.cleaned_data["slug"], form.spec, request.user)

        return self._new(request, form, upload, title=title, template=UPLOAD)

    def _new(
        self,
        request: HttpRequest,
        form: ProblemForm,
        create: Callable[[], DatasetVersion],
        *,
        title: str,
        template: str,
        obj: Dataset | None = None,
        button: str = "",
        fields: Mapping[str, str] | None = None,
    ) -> HttpResponse:
        """The page of a form that creates a dataset, and its submission."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        if form.is_valid() and (version := form.save(create, fields)):
            if columns := getattr(form, "columns", ""):
                messages.info(request, f"Columns used: {columns}")
            done = f"Dataset {version.dataset.slug} created with {plural(version.task_count, 'task')}."
            messages.success(request, done)
            self.log_addition(request, version.dataset, done)
            return HttpResponseRedirect(change_url(version.dataset))
        return self.form_page(request, form, title=title, obj=obj, template=template, context={"button": button})

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        dataset = self.get_object(request, unquote(object_id))
        if dataset is None or not self.has_change_permission(request, dataset):
            context = _page_context(request, dataset) if dataset else extra_context
            response: HttpResponse = super().change_view(request, object_id, form_url, context)
            return response
        form = DatasetForm(*form_data(request), version=current_version(dataset))
        if form.is_valid():
            base, values = form.cleaned_data["base"], form.values()
            if version := form.save(lambda: editing.change_head(dataset, base, values, request.user)):
                report_version(self, request, base, version, "Dataset changed")
                stay = "_continue" in request.POST
                return HttpResponseRedirect(change_url(dataset) if stay else self.list_url())
        context = _page_context(request, dataset)
        template = self.change_form_template
        return self.form_page(request, form, title=dataset.slug, obj=dataset, template=template, context=context)

    def upload_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """A YAML file as the next version of a dataset."""
        dataset = self.visible_object(request, pk)
        if not self.has_change_permission(request, dataset):
            raise PermissionDenied
        form = NewVersionForm(*form_data(request), initial={"base": current_version(dataset).pk})
        if form.is_valid() and (spec := form.spec) is not None:
            base = form.cleaned_data["base"]
            if version := form.save(lambda: editing.upload_version(dataset, base, spec, request.user)):
                report_version(self, request, base, version, "File imported")
                return HttpResponseRedirect(change_url(dataset))
        title = f"Upload new version of {dataset.slug}"
        return self.form_page(request, form, title=title, obj=dataset, template=UPLOAD)

    def download_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        dataset = self.visible_object(request, pk)
        if not is_written(dataset):
            raise Http404(f"{dataset.slug} is a canvas dataset, which has no YAML.")
        return yaml_response(current_version(dataset), f"{dataset.slug}.yaml")

    def deletion_notes(self, obj: Dataset) -> tuple[str, str]:
        note = f"{plural(obj.versions.count(), 'version')} with all their tasks"
        file = _file_of(obj)
        if file and file.state != DatasetFile.State.VANISHED:
            note += f". {file.path} is still in the datasets directory, so the dataset will be imported again from it."
        return note, editing.why_not_deletable(obj)

    def delete_by_service(self, request: HttpRequest, obj: Dataset) -> None:
        editing.delete_dataset(obj, request.user)


def _page_context(request: HttpRequest, dataset: Dataset) -> dict[str, Any]:
    """What the page shows besides the form: the file, the tasks with the beginnings of their texts, the versions."""
    version = dataset.current_version
    tasks = Paginator(task_list(version), TASKS_SHOWN).get_page(request.GET.get("page")) if version else None
    return {
        "file": _file_of(dataset),
        "version": version,
        "versions": [(each, VERSION_ORIGIN.get(each.origin, each.origin)) for each in versions_of(dataset)],
        "tasks_page": tasks,
        "add_task_url": add_url(dataset),
        "is_written": is_written(dataset),
    }
