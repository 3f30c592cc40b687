"""A database of another schema is recognized, although all migrations of its name are applied."""

from __future__ import annotations

import re
import subprocess
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations import AddField, RemoveField
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from benchmarks import __version__
from benchmarks.presentation.numbers import plural
from benchmarks.services.operations import schema, upgrades
from benchmarks.services.operations.schema import schema_problem
from codeforge.management.commands import migrate

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def not_looked_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "_sound", set())


def change(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.fixture
def other_schema() -> None:
    change("ALTER TABLE benchmarks_run DROP COLUMN notes")


def test_the_tables_of_this_version_are_sound() -> None:
    assert schema_problem() == ""


@pytest.mark.parametrize(
    ("statement", "difference"),
    [
        ("ALTER TABLE benchmarks_run DROP COLUMN notes", "the column benchmarks_run.notes is missing"),
        ("ALTER TABLE benchmarks_run ADD COLUMN old_name text", "the column benchmarks_run.old_name is unknown"),
        ("DROP TABLE benchmarks_cachedresponse", "the table benchmarks_cachedresponse is missing"),
    ],
)
def test_what_differs_is_named_with_what_to_do(statement: str, difference: str) -> None:
    change(statement)
    problem = schema_problem()
    assert difference in problem
    assert "another checkout" in problem
    assert "CODEFORGE_STATE_DIR or DATABASE_URL" in problem


def test_a_missing_migration_is_no_other_schema() -> None:
    loader = MigrationLoader(connection)
    later = [loader.graph.nodes[key] for key in loader.graph.nodes if key[0] == "benchmarks" and key[1] >= "0007"]
    for each in (each for migration in later for each in migration.operations):
        if isinstance(each, AddField):
            change(f"ALTER TABLE benchmarks_{each.model_name} DROP COLUMN {each.name}")
        elif isinstance(each, RemoveField):
            change(f"ALTER TABLE benchmarks_{each.model_name} ADD COLUMN {each.name} datetime")
    MigrationRecorder.Migration.objects.filter(app="benchmarks", name__in=[each.name for each in later]).delete()
    assert schema_problem() == ""
    assert schema.migrations_problem() == f"{plural(len(later), 'migration')} not applied. Run `manage.py migrate`."


def test_a_database_of_a_later_version_is_refused() -> None:
    MigrationRecorder.Migration.objects.create(app="benchmarks", name="9999_from_the_future")
    assert "A later version has changed the database (benchmarks.9999_from_the_future)" in schema_problem()
    with pytest.raises(CommandError, match="later version"):
        call_command("migrate", verbosity=0)


@pytest.mark.parametrize("target", ["0001", "zero", "0007_seed_per_repeat"])
def test_migrations_are_not_undone(target: str) -> None:
    with pytest.raises(CommandError, match=r"would be undone, and what they have stored .* restore a backup"):
        call_command("migrate", "benchmarks", target, verbosity=0)
    assert schema.migrations_problem() == ""


def test_a_dry_run_lists_migrations_with_their_time_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    out = StringIO()
    call_command("migrate", "--dry-run", stdout=out)
    assert "All migrations are applied." in out.getvalue()
    last = MigrationRecorder.Migration.objects.filter(app="benchmarks").latest("name").name
    MigrationRecorder.Migration.objects.filter(name=last).delete()
    monkeypatch.setattr(migrate, "schema_problem", lambda: "")
    monkeypatch.setattr(upgrades, "SECONDS", {last: (3.0, 3.0)})
    monkeypatch.setattr(upgrades, "AROUND_SECONDS", (8.0, 8.0))
    monkeypatch.setattr(upgrades, "stored_results", lambda connection: upgrades.MEASURED_RESULTS // 2)
    out = StringIO()
    call_command("migrate", "--dry-run", stdout=out)
    assert re.search(rf"benchmarks\.{last} +1\.5 s\n", out.getvalue())
    assert "Expected in total: 5.5 s, of which 4.0 s before and after them. " in out.getvalue()
    assert "Nothing was changed" in out.getvalue()
    assert not MigrationRecorder.Migration.objects.filter(name=last).exists()


def test_each_time_is_of_a_migration() -> None:
    names = {name for app, name in MigrationLoader(connection).graph.nodes if app == "benchmarks"}
    assert set(upgrades.SECONDS) <= names


@pytest.mark.usefixtures("other_schema")
def test_readiness_pages_and_the_api_say_what_to_do(client: Client) -> None:
    ready = client.get("/readyz")
    assert ready.status_code == 503
    assert "benchmarks_run.notes is missing" in ready.json()["checks"]["migrations"]
    page = client.get("/runs/1/")
    assert (page.status_code, "Retry-After" in page.headers) == (500, False)
    assert "The database has a different schema from this version." in page.content.decode()
    assert "benchmarks_run" not in page.content.decode()
    assert "in a few seconds" not in page.content.decode()


@pytest.mark.usefixtures("other_schema")
def test_the_api_does_not_ask_to_try_again(client: Client) -> None:
    answer = client.get("/api/v1/benchmarks/runs/1")
    assert answer.status_code == 500
    assert "The database has a different schema from this version." in answer.json()["detail"]


@pytest.mark.usefixtures("other_schema")
def test_commands_say_it_without_a_traceback() -> None:
    for command in (["benchmark", "show", "1"], ["migrate"]):
        with pytest.raises(CommandError, match=r"benchmarks_run\.notes is missing"):
            call_command(*command, stdout=StringIO())


def test_releases_are_commits_of_this_repository() -> None:
    rows = dict(re.findall(r"^(\d+\.\d+\.\d+) ([0-9a-f]{40})$", (ROOT / "releases.txt").read_text(), re.MULTILINE))
    assert __version__ in rows
    if (ROOT / ".git").exists():
        for commit in rows.values():
            done: Any = subprocess.run(["git", "-C", str(ROOT), "cat-file", "-e", commit], check=False)
            assert done.returncode == 0
