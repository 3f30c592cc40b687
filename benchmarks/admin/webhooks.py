"""Webhook deliveries: what was sent where, with which result, and sending it again."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from benchmarks.admin.base import ModelAdmin, apply_to_each, column, folded, run_link
from benchmarks.models import WebhookDelivery
from benchmarks.services.webhooks import send_again


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(ModelAdmin):
    permitted = ()
    list_display = ("event", "run_link", "address", "state", "attempts", "last_error", "created_at", "delivered_at")
    list_filter = ("state", "event")
    ordering = ("-created_at",)
    actions = ("send_again",)
    fields = ("id", *list_display, "next_attempt_at", "body_text")

    run_link = column("run", lambda delivery: run_link(delivery.run_id))
    body_text = column("body", lambda delivery: folded(delivery.body) if delivery.body else "–")

    def has_send_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("benchmarks.change_webhookdelivery")

    @admin.action(description="Send selected deliveries again", permissions=["send"])
    def send_again(self, request: HttpRequest, queryset: QuerySet[WebhookDelivery]) -> None:
        apply_to_each(request, queryset.order_by("created_at"), send_again, "Sending again")
