"""The list of settings, as far as the user may open them."""

from __future__ import annotations

import platform
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import django
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from benchmarks.models import Run, Schedule
from benchmarks.plugins import installed_plugins
from benchmarks.presentation.labels import ROLE
from benchmarks.presentation.numbers import ago, ahead, number, plural
from benchmarks.presentation.ranks import listed
from benchmarks.presentation.sentences import first_sentence
from benchmarks.queries.access import active_tokens, members, role_of, share_links
from benchmarks.queries.operations import storage, workers
from benchmarks.queries.run_list import IMPORTED
from benchmarks.queries.schedules import open_score_drops
from benchmarks.queries.webhooks import COUNTED_FOR, failing_webhooks, webhook_rows
from benchmarks.services.access import account_of, may, may_set_keys
from benchmarks.services.operations.code_version import code_version
from frontend.navigation import SETTINGS, Place
from frontend.views.lists import Button

EXPIRES_SOON = timedelta(days=7)
NIGHTLY = "when=03:00"
"""What the launch page is filled in with for a new schedule."""


@dataclass(frozen=True, slots=True)
class Now:
    """What a page of the settings has now, and ``problem``, which needs somebody; ``fix`` is what its button says."""

    said: str
    problem: str = ""
    fix: str = "Show problem"


def _schedules(request: HttpRequest) -> Now:
    schedules = list(Schedule.objects.order_by("next_run_at"))
    if not schedules:
        return Now("No schedules yet.")
    failing = [each for each in schedules if each.last_problem]
    fallen = open_score_drops().values("scheduled_run").distinct().count()
    problem = f"{failing[0].name} started no run: {failing[0].last_problem}" if failing else ""
    problem = problem or (f"{plural(fallen, 'run')} scored lower than before." if fallen else "")
    due = next((each for each in schedules if each.next_run_at), None)
    count = plural(len(schedules), "schedule")
    fix = "Show schedule" if failing else "Show score drop"
    if due is None or due.next_run_at is None:
        return Now(f"{count}, all paused.", problem, fix)
    return Now(f"{count}. {due.name} runs next, {ahead(due.next_run_at, timezone.now())}.", problem, fix)


def _tokens(request: HttpRequest) -> Now:
    """The user's own tokens; of all accounts for those who may view them."""
    account, views_all, now = account_of(request.user), may(request.user, "benchmarks.view_apitoken"), timezone.now()
    if account is None and not views_all:
        return Now("")
    tokens = list(active_tokens(None if views_all else account).filter(account__is_active=True))
    if not tokens:
        return Now("No active tokens.")
    expiring = sorted((token.expires_at, token.name) for token in tokens if token.expires_at)
    used = max((token.last_used_at for token in tokens if token.last_used_at), default=None)
    said = f"{number(len(tokens))} active, {f'last used {ago(used, now)}' if used else 'never used'}."
    if not expiring:
        return Now(f"{said} None expires.")
    at, name = expiring[0]
    expires = f"{name} expires {ahead(at, now)}."
    return Now(said, expires) if at < now + EXPIRES_SOON else Now(f"{said} {expires}")


def _webhooks(request: HttpRequest) -> Now:
    rows = webhook_rows()
    if not rows:
        return Now("No webhooks yet.")
    broken = {row.name for row in rows if row.problem} | {each.name for each in failing_webhooks()}
    noun, verb = ("Webhook", "delivers") if len(broken) == 1 else ("Webhooks", "deliver")
    why = next((f" {first_sentence(row.problem)}" for row in rows if row.problem), "")
    problem = f"{noun} {listed([f'“{name}”' for name in sorted(broken)])} {verb} nothing.{why}" if broken else ""
    sent = f"{number(sum(row.delivered for row in rows))} delivered in {COUNTED_FOR.days} days"
    return Now(f"{plural(len(rows), 'webhook')}, {sent}.", problem, "Set the secret" if why else "Show webhook")


def _share_links(request: HttpRequest) -> Now:
    links = list(share_links())
    if not links:
        return Now("No page is shared.")
    expires = ahead(links[-1].expires_at, timezone.now())
    return Now(f"{plural(len(links), 'open link')}. The next expires {expires}.")


def _imports(request: HttpRequest) -> Now:
    imported = Run.objects.filter(kind__in=IMPORTED).aggregate(n=Count("pk"), latest=Max("created_at"))
    if not imported["n"]:
        return Now("No imported runs yet.")
    return Now(f"{plural(imported['n'], 'imported run')}, the latest {ago(imported['latest'], timezone.now())}.")


def _members(request: HttpRequest) -> Now:
    accounts = list(members())
    named = Counter("superuser" if each.is_superuser else role_of(each) or "without a role" for each in accounts)
    order = ("superuser", *reversed(ROLE), "without a role")
    roles = ", ".join(f"{number(named[role])} {role}" for role in order if named[role])
    roles = next(iter(named)) if len(accounts) == 1 else roles
    return Now(f"{plural(len(accounts), 'account')}: {roles}." if accounts else "No members yet.")


def _workers(request: HttpRequest) -> Now:
    alive = [worker for worker in workers() if worker.alive]
    if not alive:
        return Now("", "No worker is active. Runs wait until one starts.", "Show workers")
    busy = sum(bool(worker.runs) for worker in alive)
    return Now(f"{number(len(alive))} active, {f'{number(busy)} busy' if busy else 'none busy'}.")


NOW: dict[str, Callable[[HttpRequest], Now]] = {
    "schedules": _schedules,
    "tokens": _tokens,
    "webhooks": _webhooks,
    "share-links": _share_links,
    "import-runs": _imports,
    "members": _members,
    "workers": _workers,
}
"""Route of a page of the settings → what it has now."""
NEXT: dict[str, tuple[Button, tuple[str, ...]]] = {
    "schedules": (
        Button("New schedule", "launch", NIGHTLY),
        ("benchmarks.add_schedule", "benchmarks.launch_run"),
    ),
    "webhooks": (Button("New webhook", "new-webhook"), ("benchmarks.add_webhook",)),
    "share-links": (Button("Choose a run", "runs"), ()),
    "import-runs": (Button("Import runs", "import-runs"), ()),
    "members": (Button("New member", "new-member"), ("auth.add_user",)),
    "workers": (Button("Show workers", "workers"), ()),
}
"""Route of a page of the settings → what one does there next, and the permissions for it."""


@never_cache
@require_safe
def hub(request: HttpRequest) -> HttpResponse:
    """The pages of the settings, those with a problem first."""
    places = [place for place in SETTINGS if may(request.user, *place.permissions)]
    if not places:
        raise PermissionDenied("You do not have access to any settings. Log in, or ask an administrator.")
    stated = [(place, NOW[place.route](request)) for place in places]
    shown = [(place, now, _action(request, place, now)) for place, now in stated]
    shown.sort(key=lambda each: not each[1].problem)
    context: dict[str, object] = {"places": shown, "plugins": installed_plugins()}
    if may_set_keys(request.user):
        context |= _installation()
    return render(request, "frontend/settings/hub.html", context)


def _installation() -> dict[str, object]:
    """Versions, storage and what is deleted when."""
    texts_days = settings.CODEFORGE.retention.texts_days
    return {
        "version": code_version(),
        "python": platform.python_version(),
        "django": django.get_version(),
        "storage": storage(texts_days),
        "state_folder": settings.STATE_DIR,
        "free": shutil.disk_usage(settings.STATE_DIR).free,
        "texts_days": texts_days,
    }


def _action(request: HttpRequest, place: Place, now: Now) -> Button | None:
    """One step: to the problem, else what one does next."""
    if now.problem:
        return Button(now.fix, place.route)
    if place.route == "tokens":
        account = account_of(request.user)
        return Button("New token", "new-token") if account or may(request.user, "benchmarks.add_apitoken") else None
    button, permissions = NEXT[place.route]
    return button if may(request.user, *permissions) else None


def crumbs(*steps: tuple[str, str | None]) -> list[tuple[str, str | None]]:
    """The path of a page of the settings."""
    return [("Settings", reverse("frontend:settings")), *steps]
