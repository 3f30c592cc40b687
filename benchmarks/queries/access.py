"""Reads of accounts and their roles, API tokens and share links."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils import timezone

from benchmarks.models import ApiToken, AuditEntry, Run
from benchmarks.presentation.labels import ROLE


def api_tokens(account: User | None = None) -> QuerySet[ApiToken]:
    """The tokens of an account, or of all accounts, newest first."""
    tokens = ApiToken.objects.select_related("account").order_by("-pk")
    return tokens if account is None else tokens.filter(account=account)


def members() -> QuerySet[User]:
    """All accounts by name, with their groups."""
    return User.objects.order_by("username").prefetch_related("groups")


def role_of(account: User) -> str:
    """The group of ``ROLE`` with the most permissions that the account is in; empty if it is in none."""
    names = {group.name for group in account.groups.all()}
    return next((name for name in reversed(ROLE) if name in names), "")


def shared_runs() -> QuerySet[Run]:
    """Runs with a valid share link, the latest link first."""
    shared = Run.objects.filter(shared_until__gt=timezone.now()).order_by("-shared_until")
    return shared.select_related("dataset").only("model", "shared_until", "dataset__slug")


def shared_by(shared: Iterable[Run]) -> dict[int, str]:
    """Run id → name of the account that created its latest share link, if it was logged in."""
    subjects = {f"run {run.pk}": run.pk for run in shared}
    entries = AuditEntry.objects.filter(action="run.share", subject__in=subjects).order_by("pk")
    return {subjects[subject]: name for subject, name in entries.values_list("subject", "account_name")}
