"""Schedules, edited as the request of their runs, and score drops."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone

from benchmarks.admin.base import (
    ModelAdmin,
    ServiceDeletion,
    apply_to_each,
    change_url,
    column,
    form_data,
    link,
    run_link,
)
from benchmarks.forms.datasets import ProblemForm
from benchmarks.forms.fields import TextField
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.models import Dataset, Schedule, ScoreDrop
from benchmarks.presentation.labels import run_status
from benchmarks.presentation.numbers import percent
from benchmarks.presentation.texts import visible
from benchmarks.providers.extra_parameters import pair_of, parsed_pairs, typed
from benchmarks.queries.schedules import LEVEL, MOST_SHOWN, open_score_drops, with_latest_run
from benchmarks.run_parameters import NOT_GIVEN, RUN_PARAMETERS, Group, Kind, RunParameter
from benchmarks.services import schedules as services

FOLDED = (Group.CANVAS, Group.PROMPT)
"""Groups of parameters that the form shows folded."""


class NamesField(forms.CharField):
    """Names separated by commas, as a list in their order."""

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(value) if isinstance(value, list) else value

    def clean(self, value: Any) -> Any:
        return [name for part in super().clean(value).split(",") if (name := part.strip())]


class PairsField(TextField):
    """Parameters, one NAME=VALUE on each line."""

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(map("=".join, typed(value))) if isinstance(value, dict) else value

    def clean(self, value: Any) -> Any:
        try:
            return parsed_pairs(pair_of(line) for line in super().clean(value).splitlines() if line.strip())
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None


class ScheduleForm(ProblemForm):
    """A schedule with every parameter of a run. The services validate it."""

    name = TextField(help_text="Name shown in score drops and messages")
    enabled = forms.BooleanField(required=False, initial=True, help_text="Turned off, the schedule starts no runs")
    when = TextField(help_text="A time of day such as 03:00, or a cron expression such as 0 3 * * 1-5")

    def __init__(self, data: Any = None, files: Any = None, *, schedule: Schedule | None = None) -> None:
        own = tuple(self.base_fields)
        stored = {**schedule.request, **{name: getattr(schedule, name) for name in own}} if schedule else {}
        super().__init__(data, files, initial=stored)
        self.schedule = schedule
        self.fields |= {name: _form_field(parameter) for name, parameter in RUN_PARAMETERS.items()}
        time_zone = f"In the time zone of the site, {timezone.get_default_timezone_name()}"
        self.fieldsets: list[tuple[str | None, dict[str, Any]]] = [(None, {"fields": own, "description": time_zone})]
        for group in Group:
            names = tuple(name for name, parameter in RUN_PARAMETERS.items() if parameter.group is group)
            self.fieldsets.append((group.value, {"fields": names, "classes": ("collapse",) * (group in FOLDED)}))

    def store(self, user: Any) -> Schedule:
        data = self.cleaned_data
        # As the API receives it, without empty fields.
        request = {name: data[name] for name in RUN_PARAMETERS if data.get(name) not in (*NOT_GIVEN, False)}
        own = {name: data[name] for name in self.base_fields}
        return services.save_schedule(**own, request=request, schedule=self.schedule, user=user)


def _form_field(parameter: RunParameter) -> forms.Field:
    options: dict[str, Any] = {"required": False, "label": parameter.label, "help_text": parameter.hint}
    choices = parameter.choices
    if parameter.name == "dataset":
        ready = Dataset.objects.filter(current_version__isnull=False).order_by("slug")
        choices = tuple(ready.values_list("slug", flat=True))
    if parameter.name == "metrics":
        names = ", ".join(REGISTERED_METRICS)
        options["help_text"] = f"Separated by commas. {parameter.hint}. Available: {names}"
    if choices:
        widget = forms.Select(choices=[("", "---"), *((name, name) for name in choices)])
        return forms.CharField(widget=widget, **options)
    if parameter.kind is Kind.SWITCH:
        return forms.BooleanField(**options)
    if parameter.kind is Kind.NAMES:
        return NamesField(widget=forms.TextInput({"class": "vTextField"}), **options)
    del options["required"]
    if parameter.kind is Kind.PARAMETERS:
        return PairsField(rows=3, **options | {"help_text": f"One name=value on each line. {parameter.hint}"})
    return TextField(rows=4 if parameter.kind is Kind.LONG_TEXT else None, **options)


@admin.register(Schedule)
class ScheduleAdmin(ServiceDeletion):
    list_display = ("name", "enabled", "when", "dataset", "model_name", "next_run_at", "latest_run", "last_problem")
    list_texts = ("request",)
    list_filter = ("enabled",)
    search_fields = ("name",)
    ordering = ("name",)
    actions = ("delete_selected",)
    deletion_note = "Their score drops are deleted as well. Their runs are kept."
    deletion_service = staticmethod(services.delete_schedule)

    dataset = column("dataset", lambda schedule: str(schedule.request.get("dataset", "–")))
    model_name = column("model", lambda schedule: visible(str(schedule.request.get("model", "–"))))
    latest_run = column("latest run", lambda schedule: run_link(schedule.latest_run_id))

    def list_rows(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        return with_latest_run(super().list_rows(rows))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return super().has_add_permission(request) and _may_launch(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A schedule starts runs under the account that saved it last."""
        return super().has_change_permission(request, obj) and _may_launch(request)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        return self._form(request, None, "Add schedule")

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        schedule = self.get_object(request, unquote(object_id))
        if schedule is None or not self.has_change_permission(request, schedule):
            return super().change_view(request, object_id, form_url, extra_context)
        return self._form(request, schedule, f"Schedule {schedule.name}")

    def _form(self, request: HttpRequest, schedule: Schedule | None, title: str) -> HttpResponse:
        form = ScheduleForm(*form_data(request), schedule=schedule)
        if saved := form.save(request.user):
            log = self.log_addition if schedule is None else self.log_change
            log(request, saved, "Saved.")
            outcome = "It is not enabled, so it starts no runs."
            if saved.next_run_at:
                outcome = f"Its next run starts at {timezone.localtime(saved.next_run_at):%Y-%m-%d %H:%M}."
            messages.success(request, f"{saved.name} saved. {outcome}")
            return HttpResponseRedirect(change_url(saved))
        context: dict[str, Any] = {"level": percent(LEVEL)}
        if schedule:
            latest = schedule.scheduled_runs.select_related("run")[:MOST_SHOWN]
            context["scheduled_runs"] = [(row, run_status(row.run.status, row.run.errors)) for row in latest]
            context["drops"] = open_score_drops().filter(scheduled_run__schedule=schedule)[:MOST_SHOWN]
        template = "admin/benchmarks/schedule/form.html"
        return self.form_page(request, form, title=title, obj=schedule, template=template, **context)


@admin.register(ScoreDrop)
class ScoreDropAdmin(ModelAdmin):
    permitted = ()
    list_display = ("metric", "points", "schedule", "run_link", "sentence", "created_at", "dismissed_at")
    list_select_related = ("scheduled_run__schedule",)
    list_filter = (("dismissed_at", admin.EmptyFieldListFilter),)
    ordering = ("-id",)
    actions = ("dismiss",)
    fields = (*list_display, "dismissed_by", "low", "high", "p_adjusted", "n_shared", "earlier_link")

    points = column("difference", lambda drop: f"{100 * drop.difference:+.1f} points")
    schedule = column("schedule", lambda drop: link(drop.scheduled_run.schedule))
    run_link = column("run", lambda drop: run_link(drop.scheduled_run.run_id))
    earlier_link = column("compared with", lambda drop: run_link(drop.compared_with_id))

    def has_dismiss_permission(self, request: HttpRequest) -> bool:
        return _may_launch(request)

    @admin.action(description="Dismiss selected score drops", permissions=["dismiss"])
    def dismiss(self, request: HttpRequest, queryset: QuerySet[ScoreDrop]) -> None:
        apply_to_each(request, queryset.select_related("scheduled_run"), services.dismiss_score_drop, "Dismissed")


def _may_launch(request: HttpRequest) -> bool:
    return request.user.has_perm("benchmarks.launch_run")
