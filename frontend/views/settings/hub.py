"""The list of settings, as far as the user may open them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from benchmarks.models import Schedule
from benchmarks.plugins import installed_plugins
from benchmarks.presentation.numbers import plural
from benchmarks.queries.access import api_tokens, members, shared_runs
from benchmarks.queries.webhooks import webhook_rows
from benchmarks.services.access import account_of, may


def _tokens(request: HttpRequest) -> str:
    """The user's own tokens; of all accounts for those who may view them."""
    account, views_all = account_of(request.user), may(request.user, "benchmarks.view_apitoken")
    if account is None and not views_all:
        return ""
    return plural(api_tokens(None if views_all else account).count(), "token")


@dataclass(frozen=True, slots=True)
class Section:
    """A page of the settings, the permissions to open it, and what it has now."""

    title: str
    route: str
    description: str
    permissions: tuple[str, ...] = ()
    now: Callable[[HttpRequest], str] = lambda request: ""

    @property
    def url(self) -> str:
        return reverse(f"frontend:{self.route}")


SECTIONS = (
    Section(
        "Schedules",
        "schedules",
        "Runs that start repeatedly and report score drops.",
        ("benchmarks.view_schedule",),
        lambda request: plural(Schedule.objects.count(), "schedule"),
    ),
    Section(
        "API tokens",
        "tokens",
        "Keys with which programs use the API.",
        now=_tokens,
    ),
    Section(
        "Webhooks",
        "webhooks",
        "Where events of runs are sent, and what arrived.",
        ("benchmarks.view_webhookdelivery",),
        lambda request: plural(len(webhook_rows()), "webhook"),
    ),
    Section(
        "Share links",
        "share-links",
        "Reports that anyone with the link can read.",
        ("benchmarks.launch_run",),
        lambda request: plural(shared_runs().count(), "shared run"),
    ),
    Section(
        "Import runs",
        "import-runs",
        "Runs of other tools.",
        ("benchmarks.launch_run", "benchmarks.add_dataset"),
    ),
    Section(
        "Members",
        "members",
        "Who has an account, and what they may do.",
        ("auth.view_user",),
        lambda request: plural(members().count(), "account"),
    ),
)


@never_cache
@require_safe
def hub(request: HttpRequest) -> HttpResponse:
    sections = [(section, section.now(request)) for section in open_sections(request)]
    if not sections:
        raise PermissionDenied("You do not have access to any settings. Log in, or ask an administrator.")
    return render(request, "frontend/settings/hub.html", {"sections": sections, "plugins": installed_plugins()})


def open_sections(request: HttpRequest) -> list[Section]:
    """The settings that the user may open."""
    return [section for section in SECTIONS if may(request.user, *section.permissions)]


def crumbs(*steps: tuple[str, str | None]) -> list[tuple[str, str | None]]:
    """The path of a page of the settings."""
    return [("Settings", reverse("frontend:settings")), *steps]
