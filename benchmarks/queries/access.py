"""Reads of API tokens and accounts."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import QuerySet

from benchmarks.models import ApiToken


def api_tokens(account: User | None = None) -> QuerySet[ApiToken]:
    """The tokens of an account, or of all accounts, newest first."""
    tokens = ApiToken.objects.select_related("account").order_by("-pk")
    return tokens if account is None else tokens.filter(account=account)
