"""Webhook deliveries, listed to be found. The settings of the dashboard show them whole and send them again."""

from __future__ import annotations

from django.contrib import admin
from django.urls import reverse

from benchmarks.admin.base import OnDashboard, column, run_link
from benchmarks.models import WebhookDelivery


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(OnDashboard):
    list_display = ("event", "run_link", "address", "state", "attempts", "last_error", "created_at", "delivered_at")
    list_filter = ("state", "event")
    ordering = ("-created_at",)

    run_link = column("run", lambda delivery: run_link(delivery.run_id))

    def view_on_site(self, obj: WebhookDelivery) -> str:
        return reverse("frontend:webhooks")
