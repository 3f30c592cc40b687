"""Webhooks: the list, and the deliveries of one, with a test and sending again."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from benchmarks.models import WebhookDelivery
from benchmarks.queries.webhooks import COUNTED_FOR, deliveries, webhook_rows
from benchmarks.services import webhooks as services
from benchmarks.services.access import may
from benchmarks.services.errors import NotPossible
from frontend import params
from frontend.views.settings.hub import crumbs
from frontend.views.shared import require

PAGE_SIZE = 50
VIEW, SEND = "benchmarks.view_webhookdelivery", "benchmarks.change_webhookdelivery"


@never_cache
@require_safe
def webhook_list(request: HttpRequest) -> HttpResponse:
    require(request, VIEW)
    context = {"rows": webhook_rows(), "days": COUNTED_FOR.days, "crumbs": crumbs(("Webhooks", None))}
    return render(request, "frontend/settings/webhooks.html", context)


@never_cache
@require_safe
def webhook(request: HttpRequest, name: str) -> HttpResponse:
    """The deliveries of a webhook, also of one that is no longer configured."""
    require(request, VIEW)
    configured = name in settings.CODEFORGE.webhooks
    if not (configured or deliveries(name).exists()):
        raise Http404(f"Webhook {name} does not exist.")
    state = params.text(request.GET, "state")
    state = state if state in WebhookDelivery.State.values else ""
    context = {
        "name": name,
        "configured": configured,
        "page": Paginator(deliveries(name, state), PAGE_SIZE).get_page(request.GET.get("page")),
        "state": state,
        "states": [(value, label.capitalize()) for value, label in WebhookDelivery.State.choices],
        "may_send": may(request.user, SEND),
        "crumbs": crumbs(("Webhooks", reverse("frontend:webhooks")), (name, None)),
    }
    return render(request, "frontend/settings/webhook.html", context)


@require_POST
def test(request: HttpRequest, name: str) -> HttpResponse:
    require(request, SEND)
    try:
        services.send_test(name, request.user)
    except NotPossible as refusal:
        messages.error(request, refusal.message)
    else:
        messages.success(request, f"{name} accepted the test.")
    return HttpResponseRedirect(reverse("frontend:webhook", args=(name,)))


@require_POST
def send(request: HttpRequest, name: str, delivery: UUID) -> HttpResponse:
    """Send a delivery again."""
    require(request, SEND)
    found = get_object_or_404(WebhookDelivery, pk=delivery, address=name)
    try:
        services.send_again(found, request.user)
    except NotPossible as refusal:
        messages.error(request, refusal.message)
    else:
        messages.success(request, f"Sending {found} again.")
    return HttpResponseRedirect(reverse("frontend:webhook", args=(name,)))
