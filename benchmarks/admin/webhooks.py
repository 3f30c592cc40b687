"""Messages to other systems: what was sent where, how it went, and sending it again."""

from __future__ import annotations

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from benchmarks.admin.base import ReadOnlyAdmin, folded, link
from benchmarks.models import WebhookDelivery
from benchmarks.services.errors import NotPossible
from benchmarks.services.webhooks import send_again


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(ReadOnlyAdmin):
    list_display = ("event", "run_link", "address", "state", "attempts", "last_error", "created_at", "delivered_at")
    list_select_related = ("run",)
    list_filter = ("state", "event")
    ordering = ("-created_at",)
    actions = ("send_again",)
    shown = (
        *("event", "address", "state", "attempts", "last_error", "created_at", "delivered_at"),
        *("run__model",),
    )
    fields = (
        *("id", "event", "run_link", "address", "state", "attempts", "last_error"),
        *("created_at", "next_attempt_at", "delivered_at", "body_text"),
    )
    readonly_fields = ("run_link", "body_text")

    @admin.display(description="run")
    def run_link(self, delivery: WebhookDelivery) -> str:
        return link(delivery.run)

    @admin.display(description="message")
    def body_text(self, delivery: WebhookDelivery) -> str:
        return folded(delivery.body) if delivery.body else "not written yet"

    def has_send_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("benchmarks.change_webhookdelivery")

    @admin.action(description="Send selected messages again", permissions=["send"])
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
            messages.success(request, f"{sent} {'message is' if sent == 1 else 'messages are'} sent again.")
