"""Runs: looked at, cancelled, resumed, tried again and deleted. They are launched on the dashboard or over the API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html

from benchmarks.admin.base import (
    UPLOAD,
    DatasetFilter,
    ReadOnlyAdmin,
    change_url,
    folded,
    link,
    shown_json,
    visible,
    whole,
)
from benchmarks.admin.edits import posted, uploaded
from benchmarks.admin.imports import RunImportForm
from benchmarks.models import LIVE, Run, RunStatus
from benchmarks.services.errors import NotPossible
from benchmarks.services.runs import control as services

_BUTTONS = (
    ("cancel", "Cancel", LIVE | {RunStatus.PAUSED}),
    ("resume", "Resume", {RunStatus.CANCELLED, RunStatus.FAILED, RunStatus.PAUSED}),
    ("retry", "Retry what failed", {RunStatus.COMPLETED_WITH_ERRORS}),
)
"""What a run's page offers, and in which statuses."""

_OPTIONS = (
    ("few_shot", "few-shot examples"),
    ("use_cache", "replies from the cache"),
    ("skip_judge_when_identical", "no judge for identical answers"),
    ("self_judged", "judged by the model itself"),
)


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    list_display = ("title", "dataset_link", "model_label", "status", "progress", "errors", "cost", "created_at")
    list_select_related = ("dataset", "dataset_version")
    list_filter = ("status", DatasetFilter)
    search_fields = ("model",)
    search_help_text = "A run's number, or how a model's name begins"
    ordering = ("-id",)
    actions = ("cancel_runs", "resume_runs", "retry_runs", "delete_runs")
    shown = (
        *("model", "import_format", "status", "total", "done", "errors", "cost_usd", "judge_cost_usd", "created_at"),
        "judge_model",
        *("dataset__slug", "dataset_version__number"),
    )
    fieldsets = (
        (None, {"fields": ("title", "dataset_link", "version_link", "model_label", "metrics_asked", "judge_model")}),
        (
            "How it went",
            {"fields": ("status", "error_text", "progress", "errors", "results_link", "cost", "summary_json")},
        ),
        (
            "How it was asked for",
            {
                "fields": (
                    *("parameters_json", "repeats", "concurrency", "limit", "budget_usd", "options"),
                    *("classes_asked", "representation"),
                )
            },
        ),
        (
            "Where it comes from",
            {
                "fields": (
                    *("created_by", "created_at", "started_at", "completed_at", "parent_link", "code_version"),
                    *("prompt_hash", "environment_json"),
                )
            },
        ),
    )
    readonly_fields = (
        *("title", "dataset_link", "version_link", "error_text", "progress", "results_link", "cost", "summary_json"),
        *("parameters_json", "options", "metrics_asked", "classes_asked", "parent_link", "environment_json"),
    )
    views: ClassVar[Mapping[str, str]] = {"import": "import/"}
    change_list_template = "admin/benchmarks/run/list.html"
    change_form_template = "admin/benchmarks/run/view.html"

    @admin.display(description="run")
    def title(self, run: Run) -> str:
        return f"run {run.pk}"

    @admin.display(description="dataset")
    def dataset_link(self, run: Run) -> str:
        return format_html("{} v{}", link(run.dataset), run.dataset_version.number)

    @admin.display(description="version")
    def version_link(self, run: Run) -> str:
        return link(run.dataset_version, f"version {run.dataset_version.number}")

    @admin.display(description="done")
    def progress(self, run: Run) -> str:
        return f"{run.done:,} of {run.total:,}" if run.total else "not prepared"

    @admin.display(description="cost (USD)")
    def cost(self, run: Run) -> str:
        """The model's and the judge's, which is told apart where there is one."""
        if not run.total:
            return "–"
        model, judge = ("unknown" if cost is None else f"{cost:.4f}" for cost in (run.cost_usd, run.judge_cost_usd))
        return f"{model} + judge {judge}" if run.judge_model else model

    @admin.display(description="metrics")
    def metrics_asked(self, run: Run) -> str:
        return ", ".join(run.metrics)

    @admin.display(description="task classes")
    def classes_asked(self, run: Run) -> str:
        return ", ".join(run.task_classes) or "all"

    @admin.display(description="options")
    def options(self, run: Run) -> str:
        return ", ".join(label for name, label in _OPTIONS if getattr(run, name)) or "none"

    @admin.display(description="results")
    def results_link(self, run: Run) -> str:
        address = f"{reverse('admin:benchmarks_result_changelist')}?run={run.pk}"
        return format_html('<a href="{}">{} results</a>', address, f"{run.total:,}")

    @admin.display(description="message")
    def error_text(self, run: Run) -> str:
        return folded(run.error_message) if run.error_message else "–"

    @admin.display(description="summary")
    def summary_json(self, run: Run) -> str:
        return shown_json(run.summary)

    @admin.display(description="parameters")
    def parameters_json(self, run: Run) -> str:
        return shown_json(run.parameters)

    @admin.display(description="environment")
    def environment_json(self, run: Run) -> str:
        return shown_json(run.environment)

    @admin.display(description="run again of")
    def parent_link(self, run: Run) -> str:
        return link(run.parent)

    def get_view_on_site_url(self, obj: Any = None) -> str | None:
        return reverse("frontend:run", args=(obj.pk,)) if obj and obj.pk else None

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if not search_term:
            return queryset, False
        number = whole(search_term)
        found = queryset.filter(pk=number) if number is not None else queryset.filter(model__startswith=search_term)
        return found, False

    def has_launch_permission(self, request: HttpRequest) -> bool:
        """Whether the account may start, cancel and resume runs."""
        return request.user.has_perm("benchmarks.launch_run")

    def has_delete_permission(self, request: HttpRequest, obj: Run | None = None) -> bool:
        return request.user.has_perm("benchmarks.delete_run")

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        if request.method == "POST" and object_id is not None and "_do" in request.POST:
            return self._act(request, unquote(object_id))
        buttons = _buttons(whole(object_id)) if self.has_launch_permission(request) else []
        context = {"title": f"Run {object_id}", "subtitle": None, "run_actions": buttons, **(extra_context or {})}
        return super().changeform_view(request, object_id, form_url, context)

    def has_import_permission(self, request: HttpRequest) -> bool:
        """Whether the account may take over runs, which brings datasets as well."""
        return self.has_launch_permission(request) and request.user.has_perm("benchmarks.add_dataset")

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        context = {"may_import": self.has_import_permission(request), **(extra_context or {})}
        return super().changelist_view(request, context)

    def import_view(self, request: HttpRequest) -> HttpResponse:
        """Take over runs that another tool made, from its file."""
        if not self.has_import_permission(request):
            raise PermissionDenied
        form = RunImportForm(posted(request), uploaded(request))
        if form.is_valid() and (found := form.take_over(request.user)):
            for one in found:
                run, how = one.run, "is new" if one.is_new else "was taken over from this file before"
                told = f"Run {run.pk} {how}: {visible(run.model)} on {run.dataset.slug}, {run.total:,} results."
                messages.add_message(request, messages.SUCCESS if one.is_new else messages.INFO, told)
            only = found[0].run if len(found) == 1 else None
            return HttpResponseRedirect(change_url(only) if only else reverse("admin:benchmarks_run_changelist"))
        title = "Take over runs of another tool"
        return self.form_page(request, form, title=title, template=UPLOAD, context={"button": "Take over"})

    def _act(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Do what a button on a run's page says."""
        run = self.get_object(request, object_id)
        if run is None:
            raise Http404(f"there is no run {object_id}")
        act = {"cancel": self.cancel_runs, "resume": self.resume_runs, "retry": self.retry_runs}.get(
            request.POST["_do"]
        )
        if act is None or not self.has_launch_permission(request):
            raise PermissionDenied
        act(request, Run.objects.filter(pk=run.pk))
        return HttpResponseRedirect(change_url(run))

    @admin.action(description="Cancel selected runs", permissions=["launch"])
    def cancel_runs(self, request: HttpRequest, queryset: QuerySet[Run]) -> None:
        self._each(request, queryset, lambda run: services.cancel_run(run, request.user), "cancelled")

    @admin.action(description="Resume selected runs", permissions=["launch"])
    def resume_runs(self, request: HttpRequest, queryset: QuerySet[Run]) -> None:
        self._each(request, queryset, lambda run: services.resume_run(run, request.user), "resumed")

    @admin.action(description="Retry what failed in selected runs", permissions=["launch"])
    def retry_runs(self, request: HttpRequest, queryset: QuerySet[Run]) -> None:
        self._each(
            request, queryset, lambda run: services.retry_failed(run, request.user), "asking its failed tasks again"
        )

    @admin.action(description="Delete selected runs", permissions=["delete"])
    def delete_runs(self, request: HttpRequest, queryset: QuerySet[Run]) -> HttpResponse | None:
        if "confirmed" not in request.POST:
            return self._ask_to_delete(request, list(queryset))
        self._delete(request, queryset)
        return None

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None) -> Any:
        """Ask, saying how many results go with the run, which are not read for that; then delete it."""
        if not self.has_delete_permission(request):
            raise PermissionDenied
        run = self.get_object(request, unquote(object_id))
        if run is None:
            raise Http404(f"there is no run {object_id}")
        if request.method != "POST":
            return self._ask_to_delete(request, [run])
        gone = self._delete(request, Run.objects.filter(pk=run.pk))
        return HttpResponseRedirect(reverse("admin:benchmarks_run_changelist") if gone else change_url(run))

    def _ask_to_delete(self, request: HttpRequest, runs: list[Run]) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": "Delete a run" if len(runs) == 1 else f"Delete {len(runs)} runs",
            "opts": self.opts,
            "runs": runs,
            "live": [run for run in runs if run.status in LIVE],
        }
        return TemplateResponse(request, "admin/benchmarks/run/delete.html", context)

    def _delete(self, request: HttpRequest, runs: QuerySet[Run]) -> int:
        def delete(run: Run) -> None:
            services.delete_run(run, request.user)
            self.log_deletions(request, [run])  # type: ignore[arg-type]  # any iterable of objects will do

        return self._each(request, runs, delete, "deleted")

    def _each(self, request: HttpRequest, runs: QuerySet[Run], act: Callable[[Run], Any], said: str) -> int:
        """Do it with each run that allows it, and say which did not and why. Returns with how many it was done."""
        done = []
        for run in runs.order_by("pk"):
            number = run.pk
            try:
                act(run)
            except NotPossible as refusal:
                messages.error(request, refusal.message)
            else:
                done.append(number)
        if done:
            names = ", ".join(map(str, done))
            verb = f"Run {names} is" if len(done) == 1 else f"Runs {names} are"
            messages.success(request, f"{verb} {said}.")
        return len(done)


def _buttons(run_id: int | None) -> list[tuple[str, str]]:
    """Name and label of what the run's status allows."""
    run = (
        Run.objects.only("status", "import_format", "texts_pruned_at").filter(pk=run_id).first()
        if run_id is not None
        else None
    )
    if run is None or not run.may_go_on:
        return []
    return [(name, label) for name, label, statuses in _BUTTONS if run.status in statuses]
