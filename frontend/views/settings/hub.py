"""The list of settings, as far as the user may open them."""

from __future__ import annotations

from collections.abc import Callable

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from benchmarks.models import Schedule
from benchmarks.plugins import installed_plugins
from benchmarks.presentation.numbers import number, plural
from benchmarks.queries.access import api_tokens, members, share_links
from benchmarks.queries.operations import workers
from benchmarks.queries.webhooks import webhook_rows
from benchmarks.services.access import account_of, may
from frontend.navigation import SETTINGS


def _tokens(request: HttpRequest) -> str:
    """The user's own tokens; of all accounts for those who may view them."""
    account, views_all = account_of(request.user), may(request.user, "benchmarks.view_apitoken")
    if account is None and not views_all:
        return ""
    return _count(api_tokens(None if views_all else account).count(), "token")


def _count(n: int, noun: str) -> str:
    return plural(n, noun) if n else "None yet"


NOW: dict[str, Callable[[HttpRequest], str]] = {
    "schedules": lambda request: _count(Schedule.objects.count(), "schedule"),
    "tokens": _tokens,
    "webhooks": lambda request: _count(len(webhook_rows()), "webhook"),
    "share-links": lambda request: _count(share_links().count(), "share link"),
    "members": lambda request: _count(members().count(), "account"),
    "workers": lambda request: f"{number(len([worker for worker in workers() if worker.alive]))} active",
}
"""Route of a page of the settings → what it has now."""


@never_cache
@require_safe
def hub(request: HttpRequest) -> HttpResponse:
    places = [place for place in SETTINGS if may(request.user, *place.permissions)]
    if not places:
        raise PermissionDenied("You do not have access to any settings. Log in, or ask an administrator.")
    shown = [(place, NOW[place.route](request) if place.route in NOW else "") for place in places]
    return render(request, "frontend/settings/hub.html", {"places": shown, "plugins": installed_plugins()})


def crumbs(*steps: tuple[str, str | None]) -> list[tuple[str, str | None]]:
    """The path of a page of the settings."""
    return [("Settings", reverse("frontend:settings")), *steps]
