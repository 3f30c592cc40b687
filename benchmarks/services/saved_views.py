"""Saved views: filtered lists of runs under names, as each account keeps them."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from benchmarks.models import SavedView
from benchmarks.services.access import Caller, account_of
from benchmarks.services.errors import NotPossible

FILTERS = ("text", "name", "dataset", "model", "status", "tag", "days", "pinned", "sort")
"""What an address of the list may say once."""
COLUMNS = "columns"
"""What it may say several times."""
LONGEST_NAME = 60
LONGEST_VALUE = 200
MOST_VIEWS = 50
_MOST_FIELDS = 50


def may_save_views(user: Caller) -> bool:
    """Whether the user may keep views: every account, and in development mode the local user."""
    return settings.DEV_MODE or account_of(user) is not None


def saved_views(user: Caller) -> QuerySet[SavedView]:
    """The views of the user, by name."""
    own = SavedView.objects.filter(created_by=account_of(user))
    return own if may_save_views(user) else own.none()


def save_view(name: str, tab: str, query: str, user: Caller = None) -> SavedView:
    """Keep the filters of an address of the list under a name. Raises ``NotPossible``."""
    name = " ".join(name.replace("\0", "").split())
    if not 1 <= len(name) <= LONGEST_NAME:
        raise NotPossible(f"The name of a view has 1 to {LONGEST_NAME} characters, and this one has {len(name)}.")
    if tab not in SavedView.Tab.values:
        raise NotPossible(f"The list {tab[:40]} does not exist. Choose one of: {', '.join(SavedView.Tab.values)}.")
    kept = list_query(query)
    if not kept:
        raise NotPossible("The list has no filters to save. Choose some first.")
    with transaction.atomic():
        own = saved_views(user)
        if own.filter(name=name).exists():
            raise NotPossible(f"You have a view named {name}. Choose another name, or delete that view first.")
        if own.count() >= MOST_VIEWS:
            raise NotPossible(f"You have {MOST_VIEWS} views, which is the limit. Delete one first.")
        # Of two requests at once, the second gets the view of the first.
        return SavedView.objects.get_or_create(
            created_by=account_of(user), name=name, defaults={"tab": tab, "query": kept}
        )[0]


def list_query(query: str) -> str:
    """What of an address the list knows, in a fixed order; empty if it has more fields than the list could have."""
    try:
        sent = parse_qsl(query, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        return ""
    given = [(name, value.replace("\0", "").strip()[:LONGEST_VALUE]) for name, value in sent]
    # Of a field that comes twice, pages read the last.
    once = dict(given)
    columns = dict.fromkeys((name, value) for name, value in given if name == COLUMNS and value)
    return urlencode([*((name, once[name]) for name in FILTERS if once.get(name)), *columns])
