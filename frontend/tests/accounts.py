"""Members of an installation, and the pages as they see them."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from benchmarks.services.access import assign_group


def page(client: Client, address: str, sent: dict[str, Any] | None = None, status: int = 200) -> str:
    """The page, after following redirects, with its white space collapsed."""
    response = client.get(address) if sent is None else client.post(address, sent, follow=True)
    assert response.status_code == status, address
    return " ".join(response.content.decode().split())


def member(role: str, name: str = "") -> tuple[User, Client]:
    account = User.objects.create_user(name or role, password="a long walk")
    assign_group(account, role)
    client = Client()
    client.force_login(account, backend="django.contrib.auth.backends.ModelBackend")
    return account, client
