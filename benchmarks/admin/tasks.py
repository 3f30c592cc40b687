"""Tasks, each edited on its own page. Saving one creates the next version of its dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from benchmarks.admin.base import DatasetFilter, ModelAdmin, change_url, column, form_data, key_number, link, visible
from benchmarks.admin.edits import current_version, is_written, report_version
from benchmarks.admin.forms import TaskForm
from benchmarks.admin.previews import SettingsForm, prompt_view, unsaved_prompt_view
from benchmarks.dataset_format.spec import TaskSpec
from benchmarks.models import Dataset, DatasetVersion, Task
from benchmarks.presentation.numbers import plural
from benchmarks.services.datasets import editing
from benchmarks.services.errors import InvalidRequest, NotPossible
from tasks_app.loader import REPRESENTATIONS

PREVIEW = 120
"""Characters of the input that the list shows."""


class DatasetOfTaskFilter(DatasetFilter):
    path = "version__dataset"
    kind = Dataset.Kind.YAML


class VersionFilter(admin.SimpleListFilter):
    """Tasks of the current versions of written datasets; tasks of another version by a link that names it."""

    title = "version"
    parameter_name = "version"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        number = key_number(request.GET.get("version"))
        version = DatasetVersion.objects.select_related("dataset").filter(pk=number).first() if number else None
        return [(str(version.pk), f"{version.dataset.slug}, version {version.number}")] if version else []

    def has_output(self) -> bool:
        """Always, because Django does not apply a filter without output."""
        return True

    def choices(self, changelist: Any) -> Iterator[Any]:
        for choice in super().choices(changelist):
            yield {**choice, "display": "Current versions"} if choice["display"] == _("All") else choice

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if (number := key_number(self.value())) is not None:
            return queryset.filter(version=number)
        current = Dataset.objects.filter(kind=Dataset.Kind.YAML, current_version__isnull=False)
        return queryset.filter(version__in=current.values("current_version"))


@admin.register(Task)
class TaskAdmin(ModelAdmin):
    list_display = ("task_id", "name", "difficulty", "beginning", "dataset")
    list_select_related = ("version__dataset",)
    list_filter = (DatasetOfTaskFilter, VersionFilter, "difficulty")
    search_fields = ("task_id",)
    search_help_text = "Id, name or beginning of the input"
    ordering = ("version", "position")
    actions = ("delete_selected",)
    list_fields = (
        *("task_id", "name", "difficulty", "position", "version__number"),
        *("version__dataset__slug", "version__dataset__kind", "version__dataset__current_version"),
    )
    # For tasks that cannot be edited. Their texts are on the dashboard.
    fields = readonly_fields = ("task_id", "name", "dataset", "version_link", "position", "difficulty", "group")
    views: ClassVar[Mapping[str, str]] = {"preview": "<int:pk>/preview/"}
    change_form_template = "admin/benchmarks/task/change_form.html"

    beginning = column("input", lambda task: visible(task.input_preview) + "…" * (len(task.input_preview) == PREVIEW))
    dataset = column("dataset", lambda task: link(task.version.dataset))
    version_link = column("version", lambda task: link(task.version, f"version {task.version.number}"))

    def view_on_site(self, obj: Task) -> str:
        return reverse("frontend:task", args=(obj.version.dataset.slug, obj.pk))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("version__dataset")

    def list_rows(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        annotated: QuerySet[Any] = super().list_rows(rows).annotate(input_preview=Left("input", PREVIEW))
        return annotated

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """By id, name and input. In a version that the address names, which may be huge, by exact id only."""
        if not search_term:
            return queryset, False
        if key_number(request.GET.get("version")) is not None:
            return queryset.filter(task_id=search_term), False
        names = Q(task_id__icontains=search_term) | Q(name__icontains=search_term)
        return queryset.filter(names | Q(input__istartswith=search_term)), False

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

        def save(task: TaskSpec) -> DatasetVersion:
            data = form.cleaned_data
            return editing.add_task(dataset, data["base"], task, place=data["place"], user=request.user)

        return self._form(request, form, dataset, save, title=f"Add task to {dataset.slug}")

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        stored = self.get_object(request, unquote(object_id))
        # A POST to a task of an older version comes from an edit that began before the current version was saved.
        # It goes to the service as well, which refuses it and keeps the edit in the form.
        editable = stored is not None and is_written(stored.version.dataset)
        if stored is None or not editable or not (request.method == "POST" or _is_current(stored)):
            return self._read_only(request, object_id, stored)
        if not super().has_change_permission(request):
            return self._read_only(request, object_id, stored)
        dataset = stored.version.dataset
        form = TaskForm(*form_data(request), version=current_version(dataset), stored=stored)

        def save(task: TaskSpec) -> DatasetVersion:
            data = form.cleaned_data
            options = {"place": data["place"], "user": request.user}
            return editing.change_task(dataset, data["base"], stored.task_id, task, **options)

        return self._form(request, form, dataset, save, title=f"Task {stored.task_id} of {dataset.slug}", stored=stored)

    def _read_only(self, request: HttpRequest, object_id: str, task: Task | None) -> HttpResponse:
        context: dict[str, Any] = {"subtitle": None}
        if task is not None:
            dataset = task.version.dataset
            context["title"] = f"Task {task.task_id} of {dataset.slug}, version {task.version.number}"
            if dataset.current_version_id not in (None, task.version_id):
                current = Task.objects.filter(version=dataset.current_version_id, task_id=task.task_id)
                context["current_task"] = current.only("task_id").first()
        response: HttpResponse = super().change_view(request, object_id, extra_context=context)
        return response

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
        prompt = None
        if form.is_valid() and (task := form.task) is not None:
            if "_preview" in request.POST:
                prompt = unsaved_prompt_view(task, form.version)
            elif version := form.save(lambda: save(task)):
                done = f"Task {task.id} {'changed' if stored else 'added'}"
                report_version(self, request, form.cleaned_data["base"], version, done)
                return HttpResponseRedirect(_next_page(request, version, task))
        context = {"dataset": dataset, "prompt": prompt, "show_save_and_add_another": True}
        template = "admin/benchmarks/task/edit.html"
        return self.form_page(request, form, title=title, obj=stored, template=template, context=context)

    def preview_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The prompt of a stored task with settings that the reader chooses."""
        task = self.visible_object(request, pk)
        form = SettingsForm(request.GET)
        settings = form.cleaned_data if form.is_valid() else {}
        if task.question_id is None:
            del form.fields["representation"], form.fields["few_shot"]
        prompt = prompt_view(
            task,
            task.version,
            settings.get("system_prompt", ""),
            settings.get("representation") or REPRESENTATIONS[0],
            settings.get("few_shot", False),
        )
        context = {"task": task, "task_url": change_url(task), "form": form, "prompt": prompt}
        return self.page(request, "task/preview.html", f"Prompt of {task.task_id}", **context)

    @admin.action(description="Delete selected tasks (creates a new version)", permissions=["delete"])
    def delete_selected(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Create versions without the tasks. Named like Django's action, which it replaces: versions are immutable."""
        chosen: dict[Dataset, list[Task]] = {}
        for task in queryset:
            chosen.setdefault(task.version.dataset, []).append(task)
        if "confirmed" not in request.POST:
            return self._confirmation(request, chosen)
        for dataset, tasks in chosen.items():
            self._delete(request, dataset, tasks)
        return None

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        task = self.visible_object(request, unquote(object_id))
        if not self.has_delete_permission(request, task):
            raise PermissionDenied
        dataset = task.version.dataset
        if request.method != "POST":
            return self._confirmation(request, {dataset: [task]})
        self._delete(request, dataset, [task])
        return HttpResponseRedirect(change_url(dataset))

    def _confirmation(self, request: HttpRequest, chosen: Mapping[Dataset, list[Task]]) -> HttpResponse:
        title = "Delete task" if sum(map(len, chosen.values())) == 1 else "Delete tasks"
        return self.page(request, "task/delete.html", title, chosen=chosen.items())

    def _delete(self, request: HttpRequest, dataset: Dataset, tasks: list[Task]) -> None:
        """Create a version without tasks of one version. The service refuses if that is no longer the current one."""
        base = tasks[0].version_id
        ids = {task.task_id for task in tasks if task.version_id == base}
        try:
            version = editing.remove_tasks(dataset, base, ids, request.user)
        except InvalidRequest as refusal:
            for path, texts in refusal.errors.items():
                messages.error(request, f"{dataset.slug}: {path}: {' '.join(texts)}")
        except NotPossible as refusal:
            messages.error(request, refusal.message)
        else:
            done = f"Task {next(iter(ids))} deleted" if len(ids) == 1 else f"{plural(len(ids), 'task')} deleted"
            report_version(self, request, base, version, done)


def add_url(dataset: Dataset) -> str:
    """The address of the form that adds a task to the dataset."""
    return f"{reverse('admin:benchmarks_task_add')}?{urlencode({'dataset': dataset.pk})}"


def _next_page(request: HttpRequest, version: DatasetVersion, task: TaskSpec) -> str:
    """Where the pressed button leads after saving."""
    if "_addanother" in request.POST:
        return add_url(version.dataset)
    return change_url(version.tasks.get(task_id=task.id) if "_continue" in request.POST else version.dataset)


def _is_current(task: Task) -> bool:
    dataset = task.version.dataset
    return is_written(dataset) and dataset.current_version_id == task.version_id
