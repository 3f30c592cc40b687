"""Reads of accounts and their roles."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import QuerySet

from benchmarks.presentation.labels import ROLE


def members() -> QuerySet[User]:
    """All accounts by name, with their groups."""
    return User.objects.order_by("username").prefetch_related("groups")


def role_of(account: User) -> str:
    """The group of ``ROLE`` with the most permissions that the account is in; empty if it is in none."""
    names = {group.name for group in account.groups.all()}
    return next((name for name in reversed(ROLE) if name in names), "")
