"""Probes answer without login, host name and https, and tell what is wrong without telling secrets."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from tests.support import services

ROOT = Path(__file__).resolve().parents[2]

FILLING = """
import contextlib, json
from pathlib import Path
from django.test import Client
def probe():
    answer = Client().get("/readyz")
    print(json.dumps([answer.status_code, answer.json()["checks"]]))
probe()
ballast = Path("{ballast}")
with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
    while file.write(bytes(4096)):
        pass
probe()
ballast.unlink()
probe()
"""


@pytest.fixture
def strict(settings: Any) -> None:
    """Production, where other addresses answer a plain request by a redirect or a refusal."""
    settings.DEV_MODE = settings.PUBLIC_READING = False
    settings.SECURE_SSL_REDIRECT = True
    settings.ALLOWED_HOSTS = ["bench.example.com"]


@pytest.mark.usefixtures("strict")
def test_a_living_process_says_so_even_without_a_database(client: Client) -> None:
    response = client.get("/healthz", headers={"host": "10.0.0.7:8000"})
    assert (response.status_code, response.json()) == (200, {"status": "alive"})


@pytest.mark.usefixtures("strict", "db")
def test_a_whole_installation_is_ready(client: Client) -> None:
    response = client.get("/readyz", headers={"host": "10.0.0.7:8000"})
    assert response.status_code == 200
    assert response.json()["checks"] == {"database": "ok", "migrations": "ok", "broker": "ok"}


@pytest.mark.usefixtures("strict", "db")
def test_a_missing_migration_is_reported(client: Client) -> None:
    # One that adds no column: with a column that no migration has made, the database counts as another checkout's.
    MigrationRecorder.Migration.objects.get(app="auth", name="0012_alter_user_first_name_max_length").delete()
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["checks"]["migrations"] == "1 migration not applied. Run `manage.py migrate`."


@pytest.mark.usefixtures("strict", "db")
def test_a_database_that_does_not_respond_is_reported_without_its_address(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing() -> None:
        raise DatabaseError("could not connect to postgresql://codeforge:hunter22@database")

    with monkeypatch.context() as patched:
        patched.setattr(connection, "cursor", failing)
        response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["checks"]["database"] == "does not respond"
    assert b"hunter22" not in response.content


@pytest.mark.usefixtures("strict", "db")
def test_a_database_that_cannot_be_written_is_not_ready(client: Client) -> None:
    with connection.cursor() as cursor:
        sqlite = connection.vendor == "sqlite"
        cursor.execute("PRAGMA query_only = ON" if sqlite else "SET TRANSACTION READ ONLY")
        try:
            response = client.get("/readyz")
        finally:
            if sqlite:
                cursor.execute("PRAGMA query_only = OFF")
    assert response.status_code == 503
    assert response.json()["checks"]["database"].startswith("cannot be written")


@pytest.mark.services
@pytest.mark.usefixtures("strict")
def test_a_read_only_server_is_not_ready() -> None:
    with services.postgres_database() as database:
        own = {**os.environ, "DATABASE_URL": database, "APP_ENV": "development", "CODEFORGE_ENV_FILE": os.devnull}
        manage = [sys.executable, "manage.py"]
        subprocess.run([*manage, "migrate", "--verbosity", "0"], cwd=ROOT, env=own, check=True)
        probe = "from codeforge.health import checks; print(checks()['database'])"
        read_only = {
            **own,
            "DATABASE_URL": f"{database}?options=-c%20default_transaction_read_only%3Don",
        }
        for environment, state in ((own, "ok"), (read_only, "cannot be written")):
            command = [*manage, "shell", "--verbosity", "0", "-c", probe]
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
            assert done.stdout.startswith(state), done.stderr


@pytest.mark.usefixtures("strict", "db")
def test_a_full_disk_is_not_ready(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    response = client.get("/readyz")
    assert response.status_code == 503
    assert "full disk" in response.json()["checks"]["broker"]


@pytest.mark.slow
def test_an_embedded_installation_on_a_disk_without_a_free_byte_is_not_ready(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"needs root, to mount a small disk: {mounted.stderr.decode().strip()}")
    try:
        ours = ("CODEFORGE_", "DJANGO_", "DATABASE_URL", "REDIS_URL")
        own = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
        own |= {"CODEFORGE_STATE_DIR": str(disk), "APP_ENV": "development", "CODEFORGE_ENV_FILE": os.devnull}
        manage = [sys.executable, "manage.py"]
        subprocess.run([*manage, "migrate", "--verbosity", "0"], cwd=ROOT, env=own, check=True)

        command = [*manage, "shell", "--verbosity", "0", "-c", FILLING.format(ballast=disk / "ballast")]
        done = subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, check=True)
        (before, _), (full, states), (after, _) = map(json.loads, done.stdout.splitlines())
        assert (before, full, after) == (200, 503, 200)
        # SQLite's log may have room left that it writes again.
        assert "full disk" in states["broker"], states
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


@pytest.mark.usefixtures("strict", "db")
def test_a_redis_that_does_not_respond_is_reported_without_its_password(client: Client, settings: Any) -> None:
    settings.REDIS_URL = "redis://:hunter22@127.0.0.1:1/0"
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["checks"]["broker"] == "does not respond"
    assert b"hunter22" not in response.content


@pytest.mark.services
@pytest.mark.usefixtures("strict", "db")
def test_an_answering_redis_is_ok(client: Client, settings: Any) -> None:
    settings.REDIS_URL = services.redis_url()
    assert client.get("/readyz").json()["checks"]["broker"] == "ok"


@pytest.mark.usefixtures("strict")
def test_probes_take_no_post(client: Client) -> None:
    assert client.post("/healthz", headers={"host": "bench.example.com"}).status_code in (301, 404)
