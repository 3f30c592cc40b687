"""Datasets as people edit them: what stands beside the tasks, the tasks as a list, YAML in and out, copies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from benchmarks.admin.base import UPLOAD, ChoicesFilter, ModelAdmin, change_url, folded, link, visible
from benchmarks.admin.edits import current_version, posted, saved_version, tell_version, uploaded
from benchmarks.admin.forms import DatasetForm, DuplicateForm, NewDatasetForm, NewVersionForm, UploadForm
from benchmarks.admin.imports import TableForm
from benchmarks.admin.tasks import add_url
from benchmarks.dataset_format import dump_dataset
from benchmarks.models import Dataset, DatasetFile, DatasetVersion
from benchmarks.queries.datasets import files_to_mend, task_list, versions_of
from benchmarks.services.datasets import editing
from benchmarks.services.datasets.files import spec_of
from benchmarks.services.errors import NotPossible

EDIT = "admin/benchmarks/dataset/edit.html"
TASKS_SHOWN = 50


class FileFilter(ChoicesFilter):
    title = "file"
    parameter_name = "file"
    options = DatasetFile.State.choices
    path = "file__state"


@admin.register(Dataset)
class DatasetAdmin(ModelAdmin):
    list_display = ("slug", "shown_name", "kind", "version_number", "tasks", "file_state", "updated_at")
    list_select_related = ("current_version", "file")
    list_filter = ("kind", "edited_here", FileFilter)
    search_fields = ("slug", "name")
    ordering = ("slug",)
    actions = None
    shown = (
        *("slug", "name", "kind", "edited_here", "updated_at", "current_version__number"),
        *("current_version__task_count", "file__path", "file__state"),
    )
    fieldsets = (
        (None, {"fields": ("slug", "name", "kind", "description_text", "version_link", "tasks", "created_at")}),
    )
    readonly_fields = ("description_text", "version_link", "tasks", "created_at")
    views: ClassVar[Mapping[str, str]] = {
        "upload_new": "upload/",
        "table": "table/",
        "upload": "<int:pk>/upload/",
        "download": "<int:pk>/download/",
        "duplicate": "<int:pk>/duplicate/",
    }
    change_list_template = "admin/benchmarks/dataset/list.html"

    @admin.display(description="name")
    def shown_name(self, dataset: Dataset) -> str:
        return visible(dataset.name)

    @admin.display(description="version")
    def version_number(self, dataset: Dataset) -> int | None:
        return dataset.current_version.number if dataset.current_version else None

    @admin.display(description="tasks")
    def tasks(self, dataset: Dataset) -> int:
        return dataset.current_version.task_count if dataset.current_version else 0

    @admin.display(description="file")
    def file_state(self, dataset: Dataset) -> str:
        file = _file_of(dataset)
        if file is None:
            return "–"
        edited = dataset.edited_here and file.state == DatasetFile.State.GOOD
        return link(file, "edited here since" if edited else str(file.get_state_display()))

    @admin.display(description="description")
    def description_text(self, dataset: Dataset) -> str:
        return folded(dataset.description)

    @admin.display(description="current version")
    def version_link(self, dataset: Dataset) -> str:
        version = dataset.current_version
        return link(version, f"version {version.number}") if version else "none yet"

    def get_view_on_site_url(self, obj: Any = None) -> str | None:
        return reverse("frontend:dataset", args=(obj.slug,)) if obj and obj.pk else None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("current_version", "file")

    def has_change_permission(self, request: HttpRequest, obj: Dataset | None = None) -> bool:
        """Canvas datasets are generated, and so only looked at here."""
        return super().has_change_permission(request, obj) and (obj is None or _is_written(obj))

    def has_delete_permission(self, request: HttpRequest, obj: Dataset | None = None) -> bool:
        return super().has_delete_permission(request, obj) and (obj is None or _is_written(obj))

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        return super().changelist_view(request, {"files": files_to_mend(), **(extra_context or {})})

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        if object_id is None:
            return self._add(request)
        dataset = self.get_object(request, unquote(object_id))
        if dataset is None or not self.has_change_permission(request, dataset):
            context = {**_around(request, dataset), **(extra_context or {})} if dataset else extra_context
            return super().changeform_view(request, object_id, form_url, context)
        return self._edit(request, dataset)

    def _add(self, request: HttpRequest) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = NewDatasetForm(posted(request))
        if form.is_valid():
            values, slug = form.values(), form.cleaned_data["slug"]
            version = saved_version(form, lambda: editing.create_dataset(slug, values, request.user), form.paths)
            if version is not None:
                return self._made(request, version)
        return self.form_page(request, form, title="Add a dataset", template="admin/benchmarks/dataset/add.html")

    def _edit(self, request: HttpRequest, dataset: Dataset) -> HttpResponse:
        form = DatasetForm(posted(request), version=current_version(dataset))
        if form.is_valid():
            base, values = form.cleaned_data["base"], form.values()
            if version := saved_version(form, lambda: editing.change_head(dataset, base, values, request.user)):
                tell_version(self, request, base, version, "The dataset is changed")
                listed = "_continue" not in request.POST
                return HttpResponseRedirect(_list_url() if listed else change_url(dataset))
        context = _around(request, dataset)
        return self.form_page(request, form, title=dataset.slug, obj=dataset, template=EDIT, context=context)

    def upload_new_view(self, request: HttpRequest) -> HttpResponse:
        """A YAML file as a new dataset."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = UploadForm(posted(request), uploaded(request))
        if form.is_valid() and (spec := form.spec) is not None:
            slug = form.cleaned_data["slug"]
            if version := saved_version(form, lambda: editing.upload_dataset(slug, spec, request.user)):
                return self._made(request, version)
        return self.form_page(request, form, title="Upload a dataset as YAML", template=UPLOAD)

    def table_view(self, request: HttpRequest) -> HttpResponse:
        """A table of questions and answers as a new dataset."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = TableForm(posted(request), uploaded(request))
        if form.is_valid() and (spec := form.spec) is not None:
            slug = form.cleaned_data["slug"]
            if version := saved_version(form, lambda: editing.upload_dataset(slug, spec, request.user)):
                messages.info(request, f"The columns were taken so: {form.columns}")
                return self._made(request, version)
        return self.form_page(request, form, title="Take over a table as a dataset", template=UPLOAD)

    def upload_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """A YAML file as the next version of a dataset."""
        dataset = self._editable(request, pk)
        current = current_version(dataset)
        form = NewVersionForm(posted(request), uploaded(request), initial={"base": current.pk})
        if form.is_valid() and (spec := form.spec) is not None:
            base = form.cleaned_data["base"]
            if version := saved_version(form, lambda: editing.upload_version(dataset, base, spec, request.user)):
                tell_version(self, request, base, version, "The file is taken over")
                return HttpResponseRedirect(change_url(dataset))
        title = f"Upload a new version of {dataset.slug}"
        return self.form_page(request, form, title=title, obj=dataset, template=UPLOAD)

    def download_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        dataset = self._visible(request, pk)
        if not _is_written(dataset):
            raise Http404(f"{dataset.slug} is a canvas dataset: there is no YAML of it")
        return yaml_of(current_version(dataset), f"{dataset.slug}.yaml")

    def duplicate_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        dataset = self._visible(request, pk)
        if not self.has_add_permission(request) or not _is_written(dataset):
            raise PermissionDenied
        initial = {"slug": f"{dataset.slug}-copy", "name": f"{dataset.name} (copy)"}
        form = DuplicateForm(posted(request), initial=initial)
        if form.is_valid():
            data, user = form.cleaned_data, request.user
            version = saved_version(form, lambda: editing.duplicate_dataset(dataset, data["slug"], data["name"], user))
            if version is not None:
                return self._made(request, version)
        context = {"button": "Duplicate"}
        return self.form_page(
            request, form, title=f"Duplicate {dataset.slug}", obj=dataset, template=UPLOAD, context=context
        )

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None) -> Any:
        """Ask, saying what goes with the dataset or why it has to stay; then delete it."""
        dataset = self.get_object(request, unquote(object_id))
        if dataset is None:
            raise Http404(f"there is no dataset {object_id}")
        if not self.has_delete_permission(request, dataset):
            raise PermissionDenied
        if request.method == "POST":
            try:
                self.log_deletions(request, Dataset.objects.filter(pk=dataset.pk))
                editing.delete_dataset(dataset, request.user)
            except NotPossible as refusal:
                messages.error(request, refusal.message)
                return HttpResponseRedirect(change_url(dataset))
            messages.success(request, f"The dataset {dataset.slug} is deleted with all its versions.")
            return HttpResponseRedirect(_list_url())
        context = {
            **self.admin_site.each_context(request),
            "title": f"Delete {dataset.slug}",
            "opts": self.opts,
            "dataset": dataset,
            "file": _file_of(dataset),
            "versions": dataset.versions.count(),
            "reason": editing.why_not_deletable(dataset),
        }
        return TemplateResponse(request, "admin/benchmarks/dataset/delete.html", context)

    def _made(self, request: HttpRequest, version: DatasetVersion) -> HttpResponse:
        count = version.task_count
        said = f"The dataset {version.dataset.slug} is there, with {count} {'task' if count == 1 else 'tasks'}."
        messages.success(request, said)
        self.log_addition(request, version.dataset, said)
        return HttpResponseRedirect(change_url(version.dataset))

    def _visible(self, request: HttpRequest, pk: int) -> Dataset:
        dataset = self.get_object(request, str(pk))
        if dataset is None:
            raise Http404(f"there is no dataset {pk}")
        if not self.has_view_permission(request, dataset):
            raise PermissionDenied
        found: Dataset = dataset
        return found

    def _editable(self, request: HttpRequest, pk: int) -> Dataset:
        dataset = self._visible(request, pk)
        if not self.has_change_permission(request, dataset):
            raise PermissionDenied
        return dataset


def yaml_of(version: DatasetVersion, name: str) -> HttpResponse:
    """A version as a YAML file to be kept."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(dump_dataset(spec_of(version)), content_type="application/yaml; charset=utf-8", headers=headers)


def _around(request: HttpRequest, dataset: Dataset) -> dict[str, Any]:
    """What the page shows beside the form: the file, the tasks with the beginnings of their texts, the versions."""
    version = dataset.current_version
    page = None
    if version is not None:
        page = Paginator(task_list(version), TASKS_SHOWN).get_page(request.GET.get("page"))
    return {
        "file": _file_of(dataset),
        "version": version,
        "versions": versions_of(dataset),
        "tasks_page": page,
        "add_task_url": add_url(dataset),
        "is_written": _is_written(dataset),
    }


def _file_of(dataset: Dataset) -> DatasetFile | None:
    return getattr(dataset, "file", None)


def _is_written(dataset: Dataset) -> bool:
    return dataset.kind == Dataset.Kind.YAML


def _list_url() -> str:
    return reverse("admin:benchmarks_dataset_changelist")
