"""Schedules and score drops, listed to be found. The dashboard edits and dismisses them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.urls import reverse

from benchmarks.admin.base import OnDashboard, column, link, run_link
from benchmarks.models import Schedule, ScoreDrop
from benchmarks.presentation.texts import visible
from benchmarks.queries.schedules import with_latest_run


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
