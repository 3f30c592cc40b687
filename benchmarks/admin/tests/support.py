"""What the tests of the admin share: clients with permissions, and readers of responses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

ADMIN = "/admin/benchmarks"
CONFIRMED = {"confirmed": "yes"}
"""What the page that asks before a deletion sends."""
MISSING_KEYS = ("0", "999999", "x", "9" * 25)


def staff(*permissions: str, name: str = "ada") -> Client:
    """A logged-in staff member with these permissions of the app, such as ``change_task``."""
    user = User.objects.create_user(name, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="benchmarks", codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def text_of(response: Any) -> str:
    """The page with all whitespace as single spaces."""
    return " ".join(response.content.decode().split())


def errors_of(response: Any) -> dict[str, list[str]]:
    """Field → error messages of the form on the page."""
    assert response.status_code == 200
    return {name: list(messages) for name, messages in response.context["adminform"].form.errors.items()}


def rows_with_constant_queries(client: Client, address: str, grow: Callable[[int], None]) -> list[Any]:
    """The rows of a list that has grown twice, after asserting that the second time costs no more queries."""
    counts, rows = [], []
    for _ in range(2):
        grow(8)
        client.get(address)  # fills caches that a process fills once
        with CaptureQueriesContext(connection) as queries:
            rows.append(list(client.get(address).context["cl"].result_list))
        counts.append(len(queries))
    assert len(rows[1]) >= len(rows[0]) + 8, address
    assert counts[0] == counts[1] < 12, (address, counts)
    return rows[1]
