"""Tasks, each with a page of its own. Saving one makes the next version of its dataset."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import urlencode

from benchmarks.admin.base import change_url, whole
from benchmarks.admin.edits import current_version, posted, saved_version, tell_version
from benchmarks.admin.forms import TaskForm
from benchmarks.admin.previews import for_reading, prompt_of, prompt_of_edit
from benchmarks.admin.task_columns import TaskColumns
from benchmarks.dataset_format import TaskSpec
from benchmarks.models import Dataset, DatasetVersion, Task
from benchmarks.services.datasets import editing
from benchmarks.services.errors import InvalidRequest, NotPossible
from tasks_app.loader import REPRESENTATIONS

EDIT = "admin/benchmarks/task/edit.html"


class SettingsForm(forms.Form):
    """What of a run's settings changes a prompt."""

    system_prompt = forms.CharField(required=False, widget=forms.Textarea({"rows": 2, "class": "vLargeTextField"}))
    representation = forms.ChoiceField(required=False, choices=[(name, name) for name in REPRESENTATIONS])
    few_shot = forms.BooleanField(required=False)


@admin.register(Task)
class TaskAdmin(TaskColumns):
    actions = ("remove_tasks",)
    views: ClassVar[Mapping[str, str]] = {"preview": "<int:pk>/preview/"}

    def get_view_on_site_url(self, obj: Any = None) -> str | None:
        return reverse("frontend:task", args=(obj.version.dataset.slug, obj.pk)) if obj and obj.pk else None

    def has_change_permission(self, request: HttpRequest, obj: Task | None = None) -> bool:
        """Only tasks of a current version can be edited; the others are shown as they were."""
        return super().has_change_permission(request, obj) and (obj is None or _is_current(obj))

    def has_delete_permission(self, request: HttpRequest, obj: Task | None = None) -> bool:
        return super().has_delete_permission(request, obj) and (obj is None or _is_current(obj))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("version__dataset")

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        if object_id is None:
            return self._add(request)
        task = self.get_object(request, unquote(object_id))
        # An edit that was begun on a version which is not current any more is refused by the service, with the edit
        # kept on the page; so whatever is posted to an old task's address goes there, too.
        open_to_edits = task is not None and _is_written(task) and (request.method == "POST" or _is_current(task))
        if task is not None and open_to_edits and super().has_change_permission(request):
            return self._edit(request, task)
        context = {"current_task": _current_of(task) if task else None, "subtitle": None, **(extra_context or {})}
        if task is not None:
            context["title"] = f"Task {task.task_id} of {task.version.dataset.slug}, version {task.version.number}"
        return super().changeform_view(request, object_id, form_url, context)

    def _add(self, request: HttpRequest) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        dataset = _dataset_to_add_to(request)
        if dataset is None:
            messages.info(request, "Choose the dataset that the task is to be added to, then “Add a task” there.")
            return HttpResponseRedirect(reverse("admin:benchmarks_dataset_changelist"))
        version = current_version(dataset)
        form = TaskForm(posted(request), version=version)

        def save(task: TaskSpec) -> DatasetVersion:
            data = form.cleaned_data
            return editing.add_task(dataset, data["base"], task, place=data["place"], user=request.user)

        return self._form(request, form, dataset, save, title=f"Add a task to {dataset.slug}")

    def _edit(self, request: HttpRequest, stored: Task) -> HttpResponse:
        dataset = stored.version.dataset
        form = TaskForm(posted(request), version=current_version(dataset), stored=stored)

        def save(task: TaskSpec) -> DatasetVersion:
            data = form.cleaned_data
            kept = {"place": data["place"], "user": request.user}
            return editing.change_task(dataset, data["base"], stored.task_id, task, **kept)

        return self._form(request, form, dataset, save, title=f"Task {stored.task_id} of {dataset.slug}", stored=stored)

    def _form(
        self,
        request: HttpRequest,
        form: TaskForm,
        dataset: Dataset,
        save: Callable[[TaskSpec], DatasetVersion],
        *,
        title: str,
        stored: Task | None = None,
    ) -> HttpResponse:
        shown = None
        if form.is_valid() and (task := form.task) is not None:
            if "_preview" in request.POST:
                shown = for_reading(prompt_of_edit(task, form.version))
            elif version := saved_version(form, lambda: save(task)):
                said = f"Task {task.id} is {'changed' if stored else 'added'}"
                tell_version(self, request, form.cleaned_data["base"], version, said)
                return HttpResponseRedirect(_after(request, version, task))
        context = {"dataset": dataset, "prompt": shown, "show_save_and_add_another": True}
        return self.form_page(request, form, title=title, obj=stored, template=EDIT, context=context)

    def preview_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The prompt of a stored task under settings that the reader chooses."""
        task = self.get_object(request, str(pk))
        if task is None:
            raise Http404(f"there is no task {pk}")
        if not self.has_view_permission(request, task):
            raise PermissionDenied
        form = SettingsForm(request.GET)
        data = form.cleaned_data if form.is_valid() else {}
        if task.question_id is None:
            del form.fields["representation"], form.fields["few_shot"]
        prompt = prompt_of(
            task,
            task.version,
            data.get("system_prompt", ""),
            data.get("representation") or REPRESENTATIONS[0],
            data.get("few_shot", False),
        )
        context = {
            **self.admin_site.each_context(request),
            "title": f"The prompt of {task.task_id}",
            "opts": self.opts,
            "task": task,
            "task_url": change_url(task),
            "form": form,
            "prompt": for_reading(prompt),
            "media": self.media,
        }
        return TemplateResponse(request, "admin/benchmarks/task/preview.html", context)

    @admin.action(description="Delete selected tasks (makes a new version)", permissions=["delete"])
    def remove_tasks(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        chosen: dict[Dataset, list[Task]] = {}
        for task in queryset:
            chosen.setdefault(task.version.dataset, []).append(task)
        if "confirmed" not in request.POST:
            context = {
                **self.admin_site.each_context(request),
                "title": "Delete tasks",
                "opts": self.opts,
                "chosen": chosen.items(),
                "ids": [task.pk for tasks in chosen.values() for task in tasks],
            }
            return TemplateResponse(request, "admin/benchmarks/task/remove.html", context)
        for dataset, tasks in chosen.items():
            self._remove(request, dataset, tasks)
        return None

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None) -> Any:
        """Ask, then make the version without the task."""
        task = self.get_object(request, unquote(object_id))
        if task is None:
            raise Http404(f"there is no task {object_id}")
        if not self.has_delete_permission(request, task):
            raise PermissionDenied
        dataset = task.version.dataset
        if request.method == "POST":
            self._remove(request, dataset, [task])
            return HttpResponseRedirect(change_url(dataset))
        context = {
            **self.admin_site.each_context(request),
            "title": "Delete a task",
            "opts": self.opts,
            "chosen": [(dataset, [task])],
        }
        return TemplateResponse(request, "admin/benchmarks/task/remove.html", context)

    def _remove(self, request: HttpRequest, dataset: Dataset, tasks: list[Task]) -> None:
        """Remove tasks of one version, which has to be the current one still."""
        base = tasks[0].version_id
        ids = {task.task_id for task in tasks if task.version_id == base}
        try:
            version = editing.remove_tasks(dataset, base, ids, request.user)
        except InvalidRequest as refusal:
            for where, said in refusal.errors.items():
                messages.error(request, f"{dataset.slug}: {where}: {' '.join(said)}")
        except NotPossible as refusal:
            messages.error(request, refusal.message)
        else:
            count = f"{len(ids)} tasks are" if len(ids) > 1 else f"Task {next(iter(ids))} is"
            tell_version(self, request, base, version, f"{count} deleted")


def add_url(dataset: Dataset) -> str:
    """Where a task is added to the dataset."""
    return f"{reverse('admin:benchmarks_task_add')}?{urlencode({'dataset': dataset.pk})}"


def _dataset_to_add_to(request: HttpRequest) -> Dataset | None:
    number = whole(request.GET.get("dataset"))
    written = Dataset.objects.filter(kind=Dataset.Kind.YAML, current_version__isnull=False)
    return written.filter(pk=number).first() if number is not None else None


def _after(request: HttpRequest, version: DatasetVersion, task: TaskSpec) -> str:
    """Where the pressed button leads once the task is saved."""
    if "_addanother" in request.POST:
        return add_url(version.dataset)
    return change_url(version.tasks.get(task_id=task.id) if "_continue" in request.POST else version.dataset)


def _is_written(task: Task) -> bool:
    return task.version.dataset.kind == Dataset.Kind.YAML


def _is_current(task: Task) -> bool:
    return _is_written(task) and task.version.dataset.current_version_id == task.version_id


def _current_of(task: Task) -> Task | None:
    """The task of the same id in the current version, where this one is of another."""
    dataset = task.version.dataset
    if dataset.current_version_id in (None, task.version_id):
        return None
    return Task.objects.filter(version=dataset.current_version_id, task_id=task.task_id).only("task_id").first()
