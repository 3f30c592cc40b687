"""Further databases for a test, beside the one it runs on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dj_database_url
from django.conf import settings
from django.core.management import call_command
from django.db import connections


@contextmanager
def further_database(alias: str, url: str, *, migrated: bool = True) -> Iterator[str]:
    """A database at ``url`` under this alias, by default migrated; begin it after pytest-django opened the database."""
    given: dict[str, Any] = {**dj_database_url.parse(url)}
    if given["ENGINE"] == settings.DATABASES["default"]["ENGINE"]:
        given["OPTIONS"] = settings.DATABASES["default"].get("OPTIONS", {})
    connections.databases[alias] = connections.configure_settings({"default": {}, alias: given})[alias]
    # Django forbids a test to open databases that it did not declare, which one made by the test cannot be.
    connections[alias].connect()
    try:
        if migrated:
            call_command("migrate", database=alias, verbosity=0)
        yield alias
    finally:
        connections[alias].close()
        del connections[alias], connections.databases[alias]


def sqlite_url(path: Path) -> str:
    return f"sqlite:///{path}"
