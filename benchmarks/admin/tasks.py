"""Tasks, each edited on its own page. Saving one creates the next version of its dataset."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.db.models.functions import Left
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import urlencode

from benchmarks.admin.base import (
    DatasetFilter,
    ModelAdmin,
    ServiceDeletion,
    change_url,
    column,
    folded,
    form_data,
    key_number,
    link,
)
from benchmarks.forms.datasets import TaskForm, report_of
from benchmarks.models import Dataset, DatasetVersion, Task
from benchmarks.presentation.numbers import plural
from benchmarks.presentation.texts import visible
from benchmarks.queries.datasets import prompt_of
from benchmarks.services.datasets import editing
from benchmarks.services.datasets.versions import stored_fields
from benchmarks.services.errors import InvalidRequest, NotPossible
from tasks_app.loader import REPRESENTATIONS

PREVIEW = 120
"""Characters of the input that the list shows."""
WHOLE_PROMPT = 200_000
"""Characters of a message that the preview of a prompt shows."""


class SettingsForm(forms.Form):
    """The settings of a run that change a prompt."""

    system_prompt = forms.CharField(required=False, widget=forms.Textarea({"rows": 2, "class": "vLargeTextField"}))
    representation = forms.ChoiceField(required=False, choices=[(name, name) for name in REPRESENTATIONS])
    few_shot = forms.BooleanField(required=False, label="Include worked examples")


class DatasetOfTaskFilter(DatasetFilter):
    kinds = (Dataset.Kind.YAML,)


@admin.register(Task)
class TaskAdmin(ServiceDeletion):
    list_display = ("visible_id", "title", "difficulty", "beginning", "dataset")
    list_select_related = ("version__dataset",)
    list_filter = (("version__dataset", DatasetOfTaskFilter), "difficulty")
    search_fields = ("task_id",)
    search_help_text = "Id, name or beginning of the input"
    ordering = ("version_id", "position")  # an index; by "version", every task would be sorted by its dataset's name
    actions = ("delete_selected",)
    # For tasks that cannot be edited. Their texts are on the dashboard.
    fields = readonly_fields = ("task_id", "name", "dataset", "version", "position", "difficulty", "group")
    views = (("preview", "<int:pk>/preview/"),)
    change_form_template = "admin/benchmarks/task/change_form.html"
    deletion_template = "task/delete.html"

    visible_id = column("id", lambda task: visible(task.task_id))
    title = column("name", lambda task: visible(task.name))
    beginning = column("input", lambda task: visible(task.input_preview) + "…" * (len(task.input_preview) == PREVIEW))
    dataset = column("dataset", lambda task: link(task.version.dataset))

    def view_on_site(self, obj: Task) -> str:
        return reverse("frontend:task", args=(obj.version.dataset.slug, obj.pk))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("version__dataset")

    def list_rows(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """The tasks of current versions that people write."""
        current = Dataset.objects.filter(kind=Dataset.Kind.YAML, current_version__isnull=False)
        written = super().list_rows(rows).filter(version__in=current.values("current_version"))
        annotated: QuerySet[Any] = written.annotate(input_preview=Left("input", PREVIEW))
        return annotated

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        names = Q(task_id__icontains=search_term) | Q(name__icontains=search_term)
        return queryset.filter(names | Q(input__istartswith=search_term)) if search_term else queryset, False

    def has_change_permission(self, request: HttpRequest, obj: Task | None = None) -> bool:
        """Only tasks of current versions can be edited."""
        return super().has_change_permission(request, obj) and (obj is None or _is_current(obj))

    def has_delete_permission(self, request: HttpRequest, obj: Task | None = None) -> bool:
        return super().has_delete_permission(request, obj) and (obj is None or _is_current(obj))

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        written = Dataset.objects.filter(kind=Dataset.Kind.YAML, current_version__isnull=False)
        dataset = written.filter(pk=key_number(request.GET.get("dataset")) or 0).first()
        if dataset is None:
            messages.info(request, "Choose the dataset for the new task, then select “Add task” on its page.")
            return HttpResponseRedirect(reverse("admin:benchmarks_dataset_changelist"))
        form = TaskForm(*form_data(request), version=current_version(dataset))
        return self._form(request, form, title=f"Add task to {dataset.slug}")

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        stored = self.get_object(request, unquote(object_id))
        may_edit = stored is not None and is_written(stored.version.dataset) and super().has_change_permission(request)
        # A POST to a task of an older version comes from an edit that began before the current version was saved.
        # It goes to the service as well, which refuses it and keeps the edit in the form.
        if stored is None or not may_edit or not (request.method == "POST" or _is_current(stored)):
            context = {"subtitle": None, **(_read_only_context(stored) if stored else {})}
            response: HttpResponse = super().change_view(request, object_id, extra_context=context)
            return response
        dataset = stored.version.dataset
        form = TaskForm(*form_data(request), version=current_version(dataset), stored=stored)
        return self._form(request, form, title=f"Task {stored.task_id} of {dataset.slug}", obj=stored)

    def _form(self, request: HttpRequest, form: TaskForm, **page: Any) -> HttpResponse:
        prompt = None
        if "_preview" in request.POST:
            if form.is_valid() and form.task is not None:
                prompt = prompt_shown(Task(version=form.version, **stored_fields(form.task)))
        elif version := form.save(request.user):
            task_id = form.cleaned_data["id"]
            done = f"Task {task_id} {'changed' if form.stored else 'added'}"
            report_version(self, request, form.cleaned_data["base"], version, done)
            if "_addanother" in request.POST:
                return HttpResponseRedirect(add_url(version.dataset))
            edited = version.tasks.get(task_id=task_id) if "_continue" in request.POST else version.dataset
            return HttpResponseRedirect(change_url(edited))
        context: dict[str, Any] = {"dataset": form.version.dataset, "prompt": prompt, "show_save_and_add_another": True}
        return self.form_page(request, form, template="admin/benchmarks/task/edit.html", **context, **page)

    def preview_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The prompt of a stored task with settings that the reader chooses."""
        task = self.visible_object(request, pk)
        form = SettingsForm(request.GET)
        settings = form.cleaned_data if form.is_valid() else {}
        if task.question_id is None:
            del form.fields["representation"], form.fields["few_shot"]
        context = {"task": task, "task_url": change_url(task), "form": form, "prompt": prompt_shown(task, settings)}
        return self.page(request, "task/preview.html", f"Prompt of {task.task_id}", **context)

    def url_after_deletion(self, obj: Task) -> str:
        return change_url(obj.version.dataset)

    def delete_objects(self, request: HttpRequest, objects: list[Task]) -> None:
        """Create a version of each dataset without the tasks, because versions are immutable."""
        for base, group in groupby(objects, key=lambda task: task.version):
            dataset, ids = base.dataset, {task.task_id for task in group}
            try:
                version = editing.remove_tasks(dataset, base.pk, ids, request.user)
            except InvalidRequest as refusal:
                for path, texts in refusal.errors.items():
                    messages.error(request, f"{dataset.slug}: {path}: {' '.join(texts)}")
            except NotPossible as refusal:
                messages.error(request, refusal.message)
            else:
                done = f"Task {next(iter(ids))} deleted" if len(ids) == 1 else f"{plural(len(ids), 'task')} deleted"
                report_version(self, request, base.pk, version, done)


def is_written(dataset: Dataset) -> bool:
    """Whether people write the dataset. Canvas datasets are generated and cannot be edited."""
    return dataset.kind == Dataset.Kind.YAML


def current_version(dataset: Dataset) -> DatasetVersion:
    """The version that an edit starts from. Raises ``Http404`` if there is none."""
    if dataset.current_version is None:
        raise Http404(f"{dataset.slug} has no content yet.")
    return dataset.current_version


def report_version(
    model_admin: ModelAdmin, request: HttpRequest, base: int | None, version: DatasetVersion, done: str
) -> None:
    """Say which version the edit of version ``base`` led to, and log it in the history of the dataset."""
    messages.success(request, report_of(version, base, done))
    if version.pk != base:
        model_admin.log_change(request, version.dataset, f"{done} (version {version.number}).")


def add_url(dataset: Dataset) -> str:
    """The address of the form that adds a task to the dataset."""
    return f"{reverse('admin:benchmarks_task_add')}?{urlencode({'dataset': dataset.pk})}"


def prompt_shown(task: Task, settings: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The prompt that a run with these settings sends, built by the engine itself, for reading."""
    prompt = prompt_of(task, settings or {})
    messages: list[tuple[str, Any]] = []
    images: list[str] = []
    for message in (*prompt.messages, *prompt.turns):
        content: Any = message["content"]
        parts: Any = [{"type": "text", "text": content}] if isinstance(content, str) else content
        images += [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        text = "\n".join(part["text"] for part in parts if part["type"] == "text")
        messages.append((message["role"], folded(text, WHOLE_PROMPT)))
    tools = folded(json.dumps(prompt.tools, indent=2, ensure_ascii=False)) if prompt.tools else ""
    return {"messages": messages, "images": images, "tools": tools, "n_tools": len(prompt.tools), "hash": prompt.hash()}


def _read_only_context(task: Task) -> dict[str, object]:
    dataset = task.version.dataset
    current = Task.objects.filter(version=dataset.current_version_id, task_id=task.task_id).exclude(pk=task.pk)
    title = f"Task {task.task_id} of {dataset.slug}, version {task.version.number}"
    return {"title": title, "current_task": current.only("task_id").first()}


def _is_current(task: Task) -> bool:
    dataset = task.version.dataset
    return is_written(dataset) and dataset.current_version_id == task.version_id
