"""The database of the simulation: made once, and as it was then before each seed."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connection
from django.test.utils import setup_databases, teardown_databases

Renew = Callable[[], None]
"""Makes the database as it was filled."""


@contextmanager
def simulated_database(fill: Callable[[], None]) -> Iterator[Renew]:
    """A migrated database that ``fill`` fills: beside the configured one on PostgreSQL, or SQLite in memory."""
    on_postgresql = connection.vendor == "postgresql"
    name = f"codeforge_simulation_{os.getpid()}" if on_postgresql else ":memory:"
    settings.DATABASES["default"]["TEST"] |= {"NAME": name}
    made = setup_databases(verbosity=0, interactive=False)
    try:
        fill()
        with (_renewed_postgresql if on_postgresql else _renewed_sqlite)() as renew:
            yield renew
    finally:
        teardown_databases(made, verbosity=0)


@contextmanager
def _renewed_sqlite() -> Iterator[Renew]:
    filled = sqlite3.connect(":memory:")
    connection.connection.backup(filled)
    try:
        yield lambda: filled.backup(connection.connection)
    finally:
        filled.close()


@contextmanager
def _renewed_postgresql() -> Iterator[Renew]:
    name = connection.settings_dict["NAME"]
    filled = f"{name}_filled"

    def copy(origin: str, to: str) -> None:
        connection.close()  # nobody may use what is copied
        with connection._nodb_cursor() as cursor:
            cursor.execute(f'DROP DATABASE IF EXISTS "{to}"')
            if origin:
                cursor.execute(f'CREATE DATABASE "{to}" TEMPLATE "{origin}"')

    copy(name, filled)
    try:
        yield lambda: copy(filled, name)
    finally:
        copy("", filled)
