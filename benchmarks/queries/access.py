"""Reads of accounts and their roles, API tokens and share links."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.utils import timezone

from benchmarks.models import ApiToken, AuditEntry, Label, Run, ShareLink
from benchmarks.presentation.labels import ROLE


def api_tokens(account: User | None = None) -> QuerySet[ApiToken]:
    """The tokens of an account, or of all accounts, newest first."""
    tokens = ApiToken.objects.select_related("account").order_by("-pk")
    return tokens if account is None else tokens.filter(account=account)


def active_tokens(account: User | None = None) -> QuerySet[ApiToken]:
    """Those of them that are neither revoked nor expired."""
    lasting = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    return api_tokens(account).filter(lasting, revoked_at=None)


def members() -> QuerySet[User]:
    """All accounts by name, with their groups."""
    return User.objects.order_by("username").prefetch_related("groups")


def role_of(account: User) -> str:
    """The group of ``ROLE`` with the most permissions that the account is in; empty if it is in none."""
    names = {group.name for group in account.groups.all()}
    return next((name for name in reversed(ROLE) if name in names), "")


def answers_labeled_by(account: User) -> int:
    """How many answers have a label of the account or under its name, as results show them."""
    own = Q(author=account) | Q(author_name=account.username)
    return Label.objects.filter(own, replaced_at=None).order_by().values("result").distinct().count()


def runs_started_by(account: User) -> int:
    """How many runs the account started that are kept."""
    return Run.objects.filter(created_by=account).count()


def done_by(account: User) -> QuerySet[AuditEntry]:
    """The actions of the account, newest first."""
    return AuditEntry.objects.filter(account=account)


def share_links() -> QuerySet[ShareLink]:
    """The valid share links, the latest first, with the accounts that created them."""
    return ShareLink.valid().select_related("created_by").order_by("-expires_at", "-pk")
