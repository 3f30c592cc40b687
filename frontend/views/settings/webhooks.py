"""Webhooks: the list, adding and changing one, and its deliveries, with a test and sending again."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from benchmarks.forms.webhooks import WebhookForm
from benchmarks.models import Webhook, WebhookDelivery
from benchmarks.presentation.labels import EVENT
from benchmarks.queries.tables.webhooks import DELIVERIES, WEBHOOKS
from benchmarks.queries.webhooks import COUNTED_FOR, deliveries, webhook_rows
from benchmarks.services import webhooks as services
from benchmarks.services.access import may
from benchmarks.services.errors import NotPossible
from frontend import params
from frontend.inbox import webhook_problems
from frontend.views.lists import Button, Example, listed
from frontend.views.settings.hub import crumbs
from frontend.views.shared import require, unconfirmed

PAGE_SIZE = 50
VIEW, SEND = "benchmarks.view_webhookdelivery", "benchmarks.change_webhookdelivery"
ADD, CHANGE, DELETE = (f"benchmarks.{verb}_webhook" for verb in ("add", "change", "delete"))

_USES = (
    ("Team chat", "Posts score drops and failed runs", ("run.failed", "score.dropped")),
    ("CI", "Continues when a run is completed", ("run.completed", "run.completed_with_errors")),
)
"""What webhooks are for, with the events that each receives."""
_BY_HAND = Example("In codeforge.yaml", "Holds webhooks to any address, also in your own network")


@never_cache
@require_safe
def webhook_list(request: HttpRequest) -> HttpResponse:
    require(request, VIEW)
    rows, may_add = webhook_rows(), may(request.user, ADD)
    return listed(
        request,
        "Webhooks",
        WEBHOOKS.of(rows),
        lead="Signed requests that tell other systems when a run ends or a score drops.",
        empty="No webhooks yet",
        examples=[*(_example(*use, may_add) for use in _USES), _BY_HAND],
        crumbs=crumbs(("Webhooks", None)),
        add=Button("New webhook", "new-webhook") if may_add else None,
        reference=("What a receiver gets", "frontend/settings/webhook_example.html"),
        events=EVENT.items(),
        problems=webhook_problems(rows),
    )


def _example(name: str, text: str, events: Sequence[str], may_add: bool) -> Example:
    url = f"{reverse('frontend:new-webhook')}?{urlencode({'events': events}, doseq=True)}"
    return Example(name, text, url if may_add else "")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def new_webhook(request: HttpRequest) -> HttpResponse:
    """The form, with the events that the address gives, else with all. The page that answers a POST is the only one
    that shows the secret."""
    require(request, ADD)
    form = WebhookForm(request.POST if request.method == "POST" else None, events=request.GET.getlist("events"))
    if added := form.save(request.user):
        return _secret_page(request, *added)
    context = {
        "form": form,
        "events": EVENT.items(),
        "crumbs": crumbs(("Webhooks", reverse("frontend:webhooks")), ("New webhook", None)),
    }
    return render(request, "frontend/settings/webhook_form.html", context, status=400 if form.errors else 200)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def webhook(request: HttpRequest, name: str) -> HttpResponse:
    """The deliveries of a webhook, also of one that was removed; a POST changes one that was added on the page."""
    require(request, VIEW if request.method != "POST" else CHANGE)
    row = next((row for row in webhook_rows() if row.name == name), None)
    if row is None and not deliveries(name).exists():
        raise Http404(f"Webhook {name} does not exist.")
    form = None
    if row and row.stored and may(request.user, CHANGE):
        form = WebhookForm(request.POST if request.method == "POST" else None, webhook=_stored(name))
    if request.method == "POST":
        if form is None:
            raise Http404(f"Webhook {name} was not added on this page.")
        if form.save(request.user):
            messages.success(request, f"Webhook {name} saved.")
            return HttpResponseRedirect(request.path)
    state = params.text(request.GET, "state")
    state = state if state in WebhookDelivery.State.values else ""
    page = Paginator(deliveries(name, state), PAGE_SIZE).get_page(request.GET.get("page"))
    may_send = may(request.user, SEND)
    # What is wrong with the webhook itself stands above, not in each row.
    problem = row.problem if row else ""
    tells_more = any(delivery.last_error not in ("", problem) for delivery in page)
    context = {
        "name": name,
        "row": row,
        "problems": webhook_problems([row], named=False) if row else [],
        "counted_days": COUNTED_FOR.days,
        "events": [(event, EVENT[event]) for event in (row.events if row else ()) or EVENT],
        "sample": next((event for event in row.events if event != "score.dropped"), "") if row else "",
        "form": form,
        "may_delete": may(request.user, DELETE),
        "page": page,
        "deliveries": DELIVERIES.where(
            may_send=may_send, tells_more=tells_more, signs=not problem, cannot_sign=bool(problem)
        ).of(page),
        "state": state,
        "states": [(value, label.capitalize()) for value, label in WebhookDelivery.State.choices],
        "may_send": may_send,
        "crumbs": crumbs(("Webhooks", reverse("frontend:webhooks")), (name, None)),
    }
    return render(request, "frontend/settings/webhook.html", context, status=400 if form and form.errors else 200)


@never_cache
@require_POST
def renew(request: HttpRequest, name: str) -> HttpResponse:
    """Replace the secret, and show the new one once."""
    require(request, CHANGE)
    stored, back = _stored(name), reverse("frontend:webhook", args=(name,))
    note = "Deliveries are signed with the new secret at once. Give it to the receiver."
    if confirmation := unconfirmed(request, f"Replace the secret of {name}?", "Replace secret", back, note):
        return confirmation
    return _secret_page(request, stored, services.renew_secret(stored, request.user))


@require_POST
def delete(request: HttpRequest, name: str) -> HttpResponse:
    require(request, DELETE)
    stored, back = _stored(name), reverse("frontend:webhook", args=(name,))
    note = "Pending deliveries are given up. Those that were sent stay in the list."
    if confirmation := unconfirmed(request, f"Delete webhook {name}?", "Delete webhook", back, note):
        return confirmation
    services.delete_webhook(stored, request.user)
    messages.success(request, f"Webhook {name} deleted.")
    return HttpResponseRedirect(reverse("frontend:webhooks"))


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
    stored = get_object_or_404(WebhookDelivery, pk=delivery, address=name)
    try:
        services.send_again(stored, request.user)
    except NotPossible as refusal:
        messages.error(request, refusal.message)
    else:
        messages.success(request, f"Sending {stored} again.")
    return HttpResponseRedirect(reverse("frontend:webhook", args=(name,)))


def _stored(name: str) -> Webhook:
    return get_object_or_404(Webhook, name=name)


def _secret_page(request: HttpRequest, stored: Webhook, secret: str) -> HttpResponse:
    context = {
        "webhook": stored,
        "secret": secret,
        "crumbs": crumbs(("Webhooks", reverse("frontend:webhooks")), (stored.name, None)),
    }
    return render(request, "frontend/settings/webhook_secret.html", context)
