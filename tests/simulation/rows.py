"""What the rules read: rows, below Django, whose wrappers would make each read a step of its own."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils.dateparse import parse_datetime


def rows(sql: str) -> list[Any]:
    """The rows of a query; IDs of leases and deliveries as 32 hexadecimal digits."""
    connection.ensure_connection()
    with closing(connection.connection.cursor()) as cursor:
        cursor.execute(sql)
        found = list(cursor.fetchall())
    if connection.vendor == "postgresql":  # SQLite has IDs as texts
        return [tuple(value.hex if isinstance(value, UUID) else value for value in row) for row in found]
    return found


def as_moment(value: Any) -> Any:
    """A time as it was read: SQLite has texts, and leaves out the zone, which is UTC."""
    read = parse_datetime(value) if isinstance(value, str) else value
    return read.replace(tzinfo=UTC) if read else None
