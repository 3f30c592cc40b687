"""How long each kind of process waits for the database and may hold others up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from codeforge.databases import LIMITS, database, use_limits
from tests.support import services

POSTGRESQL = "postgresql://user@host/name"


def test_every_kind_of_process_has_bounds_where_it_can_hold_up_others() -> None:
    for kind, limits in LIMITS.items():
        assert 0 < limits.lock <= 30, kind
        assert 0 < limits.idle_in_transaction <= 60, kind
    assert LIMITS["command"].statement == 0, "migrations, backups and audits take as long as they take"
    assert 4 * LIMITS["web"].lock < 5
    assert LIMITS["web"].connect < 5


def test_options_in_the_address_take_precedence() -> None:
    options = database(f"{POSTGRESQL}?connect_timeout=9&options=-c%20lock_timeout%3D7s", "web")["OPTIONS"]
    assert options["connect_timeout"] == 9
    assert options["options"].startswith("-c lock_timeout=1000 ")
    assert options["options"].endswith(" -c lock_timeout=7s")
    assert database("sqlite:////tmp/some.sqlite3?timeout=9", "web")["OPTIONS"]["timeout"] == 9


def test_a_process_takes_the_limits_of_its_kind(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(settings.DATABASES, "default", database(POSTGRESQL))
    settings.DATABASE_URL = POSTGRESQL
    assert "statement_timeout=0 " in settings.DATABASES["default"]["OPTIONS"]["options"]
    use_limits("worker")
    assert "statement_timeout=3600000 " in settings.DATABASES["default"]["OPTIONS"]["options"]


@pytest.fixture
def server() -> Iterator[str]:
    with services.postgres_database() as url:
        yield url


def test_the_server_applies_the_limits(server: str) -> None:
    given = database(server, "web")["OPTIONS"]
    with closing(psycopg.connect(server, **given)) as connection:
        shown = [
            connection.execute(f"SHOW {name}").fetchone()
            for name in ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
        ]
    assert shown == [("1s",), ("5min",), ("20s",)]


def test_a_pooler_of_transactions_gets_no_options_and_no_cursors_of_the_server() -> None:
    pooled = database(f"{POSTGRESQL}?pooler=transaction", "worker")
    assert not {"options", "pooler"} & set(pooled["OPTIONS"])
    assert pooled["DISABLE_SERVER_SIDE_CURSORS"]
    assert pooled["OPTIONS"]["tcp_user_timeout"] == 30_000, "our side of the connection is as ever"
    assert not database(POSTGRESQL)["OPTIONS"].get("DISABLE_SERVER_SIDE_CURSORS")
