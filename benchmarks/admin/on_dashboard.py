"""Runs, schedules, score drops and webhook deliveries, listed to be found. All work on them is on the dashboard."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from benchmarks.admin.base import DatasetFilter, OnDashboard, column, key_number, link, run_link
from benchmarks.models import OF_MODELS, Run, Schedule, ScoreDrop, WebhookDelivery
from benchmarks.presentation.numbers import n_of
from benchmarks.presentation.texts import visible
from benchmarks.queries.schedules import with_latest_run


@admin.register(Run)
class RunAdmin(OnDashboard):
    list_display = (
        *("dashboard_link", "labels", "dataset_link", "model_name", "status", "progress", "errors", "created_at"),
    )
    list_display_links = None
    list_select_related = ("dataset", "dataset_version")
    list_filter = ("status", "pinned", "baseline", ("dataset", DatasetFilter))
    search_fields = ("model", "name")
    search_help_text = "Number of a run, or how its name or that of its model begins"
    ordering = ("-id",)
    list_texts = ("tags",)

    dashboard_link = column("run", lambda run: run_link(run.pk))
    labels = column("name and tags", lambda run: visible(", ".join(filter(None, [run.name, *run.tags]))))
    dataset_link = column("dataset", lambda run: format_html("{}, version {}", link(run.dataset), run.version_label))
    model_name = column("model", lambda run: visible(run.model_label))
    progress = column("done", lambda run: n_of(run.done, run.total) if run.total else "–")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """All but the calibrations of judges, which the dashboard lists with their judges."""
        return super().get_queryset(request).filter(OF_MODELS)

    def view_on_site(self, obj: Run) -> str:
        return reverse("frontend:run", args=(obj.pk,))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        number = key_number(search_term)
        if number is not None:
            return queryset.filter(pk=number), False
        return queryset.filter(Q(model__startswith=search_term) | Q(name__startswith=search_term)), False


@admin.register(Schedule)
class ScheduleAdmin(OnDashboard):
    list_display = ("name", "enabled", "when", "dataset", "model_name", "next_run_at", "latest_run", "last_problem")
    list_texts = ("request",)
    list_filter = ("enabled",)
    search_fields = ("name",)
    ordering = ("name",)

    dataset = column("dataset", lambda schedule: str(schedule.request.get("dataset", "–")))
    model_name = column("model", lambda schedule: visible(str(schedule.request.get("model", "–"))))
    latest_run = column("latest run", lambda schedule: run_link(schedule.latest_run_id))

    def list_rows(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        return with_latest_run(super().list_rows(rows))

    def view_on_site(self, obj: Schedule) -> str:
        return reverse("frontend:schedule", args=(obj.pk,))


@admin.register(ScoreDrop)
class ScoreDropAdmin(OnDashboard):
    list_display = ("metric", "points", "schedule", "run_link", "sentence", "created_at", "dismissed_at")
    list_select_related = ("scheduled_run__schedule",)
    list_filter = (("dismissed_at", admin.EmptyFieldListFilter),)
    ordering = ("-id",)

    points = column("difference", lambda drop: f"{100 * drop.difference:+.1f} points")
    schedule = column("schedule", lambda drop: link(drop.scheduled_run.schedule))
    run_link = column("run", lambda drop: run_link(drop.scheduled_run.run_id))

    def view_on_site(self, obj: ScoreDrop) -> str:
        return reverse("frontend:run", args=(obj.scheduled_run.run_id,))


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(OnDashboard):
    list_display = ("event", "run_link", "address", "state", "attempts", "last_error", "created_at", "delivered_at")
    list_filter = ("state", "event")
    ordering = ("-created_at",)

    run_link = column("run", lambda delivery: run_link(delivery.run_id))

    def view_on_site(self, obj: WebhookDelivery) -> str:
        return reverse("frontend:webhooks")
