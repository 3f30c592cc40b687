"""Schedules, which the dashboard edits, and score drops."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from benchmarks.admin.base import ModelAdmin, ServiceDeletion, apply_to_each, column, link, run_link
from benchmarks.models import Schedule, ScoreDrop
from benchmarks.presentation.texts import visible
from benchmarks.queries.schedules import with_latest_run
from benchmarks.services import schedules as services


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

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """The form is on the dashboard."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        return HttpResponseRedirect(reverse("frontend:new-schedule"))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """The schedule's page is on the dashboard."""
        schedule = self.visible_object(request, unquote(object_id))
        return HttpResponseRedirect(reverse("frontend:schedule", args=(schedule.pk,)))


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
