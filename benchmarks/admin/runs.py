"""Runs, listed to be found. All work on them is on the dashboard."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from benchmarks.admin.base import DatasetFilter, OnDashboard, column, key_number, link, run_link
from benchmarks.models import OF_MODELS, Run
from benchmarks.presentation.numbers import n_of
from benchmarks.presentation.texts import visible


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
