"""Who opens the admin in its tests."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from benchmarks.services.access import GROUPS, assign_group


@pytest.fixture
def clients(settings: Any) -> dict[str, Client]:
    """A client for each role and one for nobody, as in production."""
    settings.DEV_MODE = settings.PUBLIC_READING = False
    clients = {"nobody": Client()}
    for role in GROUPS:
        account = User.objects.create_user(role)
        assign_group(account, role)
        clients[role] = Client()
        clients[role].force_login(account, backend="django.contrib.auth.backends.ModelBackend")
    return clients
