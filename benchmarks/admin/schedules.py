"""Schedules, edited as the request they make, and notices of scores that dropped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from rest_framework import serializers

from benchmarks.admin.base import ModelAdmin, ReadOnlyAdmin, change_url, link, visible
from benchmarks.admin.edits import posted
from benchmarks.admin.fields import TextField
from benchmarks.admin.forms import ProblemForm
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.models import Dataset, Run, Schedule, ScheduledRun, ScoreDrop
from benchmarks.queries.schedules import LEVEL, MOST_SHOWN, open_notices
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.runs.start import RunRequest
from benchmarks.services.schedules import control as services
from benchmarks.statistics.sentences import percent

FIRST = ("dataset", "model", "metrics", "judge_model", "budget_usd", "max_tokens", "temperature")
"""Fields of a request that stand before the others."""


class NamesField(forms.CharField):
    """Names separated by commas, as a list in their order."""

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(value) if isinstance(value, list) else value

    def clean(self, value: Any) -> Any:
        return [name for part in super().clean(value).split(",") if (name := part.strip())]


class ScheduleForm(ProblemForm):
    """A schedule with every field of a request for a run. The services check it and word the errors."""

    name = TextField(help_text="What it is called in notices and messages")
    enabled = forms.BooleanField(required=False, initial=True, help_text="Whether it starts runs")
    when = TextField(help_text="Every day at a time, 03:00, or a cron expression, 0 3 * * 1-5")

    def __init__(self, data: Any = None, *, schedule: Schedule | None = None) -> None:
        stored = {} if schedule is None else {name: getattr(schedule, name) for name in ("name", "enabled", "when")}
        request = {} if schedule is None else schedule.request
        super().__init__(data, initial={**request, **stored})
        asked = {str(name): field for name, field in RunRequest().fields.items()}
        self.fields |= {name: _form_field(name, field) for name, field in asked.items()}
        self.asked = tuple(asked)
        others = tuple(name for name in asked if name not in FIRST)
        when = f"In the time zone of the site, {timezone.get_default_timezone_name()}"
        self.fieldsets = (
            (None, {"fields": ("name", "enabled", "when"), "description": when}),
            ("The run", {"fields": FIRST}),
            ("More about the run", {"fields": others, "classes": ("collapse",)}),
        )

    def request_data(self) -> dict[str, Any]:
        """The request as the API would get it: what was left empty is left out."""
        given = self.cleaned_data
        return {name: given[name] for name in self.asked if given.get(name) not in ("", [], False, None)}


def _form_field(name: str, field: serializers.Field[Any, Any, Any, Any]) -> forms.Field:
    told: dict[str, Any] = {"required": False, "help_text": str(field.help_text or "")}
    if name == "dataset":
        ready = Dataset.objects.filter(current_version__isnull=False).order_by("slug").values_list("slug", flat=True)
        return forms.CharField(widget=forms.Select(choices=[("", "---"), *((slug, slug) for slug in ready)]), **told)
    if name == "metrics":
        told["help_text"] = f"Separated by commas; the first decides the outcome. From: {', '.join(REGISTERED_METRICS)}"
    if isinstance(field, serializers.BooleanField):
        return forms.BooleanField(**told)
    if isinstance(field, serializers.ListField):
        return NamesField(widget=forms.TextInput({"class": "vTextField"}), **told)
    if isinstance(field, serializers.ChoiceField):
        return forms.CharField(widget=forms.Select(choices=[("", "---"), *field.choices.items()]), **told)
    if name == "system_prompt":
        return TextField(rows=4, help_text=told["help_text"])
    return forms.CharField(widget=forms.TextInput({"class": "vTextField"}), **told)


@admin.register(Schedule)
class ScheduleAdmin(ModelAdmin):
    list_display = ("name", "enabled", "when", "dataset", "asked_model", "next_run_at", "latest", "last_problem")
    list_filter = ("enabled",)
    search_fields = ("name",)
    ordering = ("name",)
    shown = ("name", "enabled", "when", "request", "next_run_at", "last_problem")

    @admin.display(description="dataset")
    def dataset(self, schedule: Schedule) -> str:
        return str(schedule.request.get("dataset", "–"))

    @admin.display(description="model")
    def asked_model(self, schedule: Schedule) -> str:
        return visible(str(schedule.request.get("model", "–")))

    @admin.display(description="latest run")
    def latest(self, schedule: Any) -> str:
        number = schedule.latest_run
        return "–" if number is None else link(Run(pk=number))

    def narrowed(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        turns = ScheduledRun.objects.filter(schedule=OuterRef("pk")).order_by("-pk")
        annotated: QuerySet[Any] = super().narrowed(rows).annotate(latest_run=Subquery(turns.values("run_id")[:1]))
        return annotated

    def has_add_permission(self, request: HttpRequest) -> bool:
        return super().has_add_permission(request) and _may_launch(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A schedule starts runs in the name of who saves it."""
        return super().has_change_permission(request, obj) and _may_launch(request)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        return self._form(request, None, title="Add a schedule")

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        schedule = self.get_object(request, unquote(object_id))
        if schedule is None or not self.has_change_permission(request, schedule):
            return super().change_view(request, object_id, form_url, extra_context)
        return self._form(request, schedule, title=f"Schedule {schedule.name}")

    def _form(self, request: HttpRequest, schedule: Schedule | None, *, title: str) -> HttpResponse:
        form = ScheduleForm(posted(request), schedule=schedule)
        if form.is_valid() and (saved := _saved(form, schedule, request)):
            if schedule is None:
                self.log_addition(request, saved, "Added.")
            else:
                self.log_change(request, saved, "Changed.")
            messages.success(request, _next_words(saved))
            return HttpResponseRedirect(change_url(saved))
        context = {} if schedule is None else _history(schedule)
        template = "admin/benchmarks/schedule/form.html"
        return self.form_page(request, form, title=title, obj=schedule, template=template, context=context)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Schedules go with their notices, and their runs stay, so that is not listed."""
        chosen = list(objs)
        lacking = set() if self.has_delete_permission(request) else {"schedule"}
        return [str(schedule) for schedule in chosen], {"schedules": len(chosen)}, lacking, []

    def delete_model(self, request: HttpRequest, obj: Schedule) -> None:
        services.delete_schedule(obj, request.user)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Schedule]) -> None:
        for schedule in queryset:
            services.delete_schedule(schedule, request.user)


@admin.register(ScoreDrop)
class ScoreNoticeAdmin(ReadOnlyAdmin):
    list_display = ("metric", "drop", "schedule", "run_link", "sentence", "created_at", "dismissed_at", "dismissed_by")
    list_select_related = ("turn__schedule", "turn__run", "dismissed_by")
    list_filter = (("dismissed_at", admin.EmptyFieldListFilter),)
    ordering = ("-id",)
    actions = ("dismiss",)
    shown = (
        *("metric", "difference", "sentence", "created_at", "dismissed_at"),
        *("turn__schedule__name", "turn__run__model", "dismissed_by__username"),
    )
    fields = (
        *("metric", "drop", "low", "high", "p_adjusted", "n_shared", "sentence", "schedule", "run_link"),
        *("earlier_link", "created_at", "dismissed_at", "dismissed_by"),
    )
    readonly_fields = ("drop", "schedule", "run_link", "earlier_link")

    @admin.display(description="difference")
    def drop(self, notice: ScoreDrop) -> str:
        return f"{100 * notice.difference:+.1f} points"

    @admin.display(description="schedule")
    def schedule(self, notice: ScoreDrop) -> str:
        return link(notice.turn.schedule)

    @admin.display(description="run")
    def run_link(self, notice: ScoreDrop) -> str:
        return link(notice.turn.run)

    @admin.display(description="held against")
    def earlier_link(self, notice: ScoreDrop) -> str:
        return link(notice.compared_with)

    def has_dismiss_permission(self, request: HttpRequest) -> bool:
        return _may_launch(request)

    @admin.action(description="Dismiss selected notices", permissions=["dismiss"])
    def dismiss(self, request: HttpRequest, queryset: QuerySet[ScoreDrop]) -> None:
        for notice in queryset.select_related("turn"):
            services.dismiss_notice(notice, request.user)


def _may_launch(request: HttpRequest) -> bool:
    return request.user.has_perm("benchmarks.launch_run")


def _saved(form: ScheduleForm, schedule: Schedule | None, request: HttpRequest) -> Schedule | None:
    """The schedule as it is stored now; ``None`` where the form has to be mended, which it tells."""
    given = form.cleaned_data
    try:
        return services.save_schedule(
            given["name"],
            given["when"],
            form.request_data(),
            enabled=given["enabled"],
            schedule=schedule,
            user=request.user,
        )
    except InvalidRequest as refusal:
        form.add_problems(refusal.errors)
        return None


def _next_words(schedule: Schedule) -> str:
    if schedule.next_run_at is None:
        return f"{schedule.name} is saved and not enabled: it starts no run."
    return f"{schedule.name} starts its next run at {timezone.localtime(schedule.next_run_at):%Y-%m-%d %H:%M}."


def _history(schedule: Schedule) -> Mapping[str, Any]:
    """What a schedule's page says besides its form."""
    return {
        "turns": schedule.turns.select_related("run")[:MOST_SHOWN],
        "notices": open_notices().filter(turn__schedule=schedule)[:MOST_SHOWN],
        "level": percent(LEVEL),
    }
