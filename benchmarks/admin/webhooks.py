"""Webhook deliveries: what was sent where, with which result, and sending it again."""

from __future__ import annotations

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from benchmarks.admin.base import ReadOnlyAdmin, column, folded, run_link
from benchmarks.models import WebhookDelivery
from benchmarks.services.errors import NotPossible
from benchmarks.services.webhooks import send_again


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(ReadOnlyAdmin):
    list_display = ("event", "run_link", "address", "state", "attempts", "last_error", "created_at", "delivered_at")
    list_filter = ("state", "event")
    ordering = ("-created_at",)
    actions = ("send_again",)
    list_fields = ("event", "run", "address", "state", "attempts", "last_error", "created_at", "delivered_at")
    fields = (
        *("id", "event", "run_link", "address", "state", "attempts", "last_error"),
        *("created_at", "next_attempt_at", "delivered_at", "body_text"),
    )
    readonly_fields = ("run_link", "body_text")

    run_link = column("run", lambda delivery: run_link(delivery.run_id))
    body_text = column("body", lambda delivery: folded(delivery.body) if delivery.body else "–")

    def has_send_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("benchmarks.change_webhookdelivery")

    @admin.action(description="Send selected deliveries again", permissions=["send"])
    def send_again(self, request: HttpRequest, queryset: QuerySet[WebhookDelivery]) -> None:
        sent = 0
        for delivery in queryset.order_by("created_at"):
            try:
                send_again(delivery, request.user)
            except NotPossible as refusal:
                messages.error(request, refusal.message)
            else:
                sent += 1
        if sent:
            messages.success(request, f"Sending {sent} {'delivery' if sent == 1 else 'deliveries'} again.")
