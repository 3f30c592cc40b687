"""A filled database is backed up and restored into either kind of database, completely or not at all."""

from __future__ import annotations

import stat
import threading
import tracemalloc
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, User
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.utils import timezone

from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.models import ApiToken, AuditEntry, Dataset, Result, Run, Transcript, Worker
from benchmarks.services.access import assign_group, create_token, make_groups
from benchmarks.services.datasets.versions import save_edited_version, spec_of
from benchmarks.services.errors import NotPossible
from benchmarks.services.operations import backups
from benchmarks.services.operations.backups import restore_backup, write_backup
from tasks_app.models import CanvasSet
from tests.support.canvas_sets import canvas_run, make_canvas_set
from tests.support.databases import further_database, sqlite_url
from tests.support.factories import make_dataset, make_run, make_task
from tests.support.page_factories import make_scored_run
from tests.support.services import postgres_database

pytestmark = pytest.mark.django_db(transaction=True)
APPS = ("auth", "admin", "benchmarks", "contenttypes", "tasks_app")


def fill() -> None:
    """Runs of both kinds, edited datasets, canvases, accounts in groups, tokens, and odd values."""
    make_groups()
    account = User.objects.create_user("anna", password="correct horse")
    assign_group(account, "runner")
    create_token(account, "nightly", ["read", "launch"])
    dataset = make_dataset([make_task(1), make_task(2, input="naïve ☃ \U0001f600\r\n\tx", tolerance=0.1 + 0.2)])
    spec = spec_of(dataset.current_version)
    save_edited_version(dataset, type(spec)(name="Edited", description="More", tasks=spec.tasks[:1]), account)
    run = make_run(dataset, model="baseline/reference")
    work_on_run_once(run.pk)
    Transcript.objects.filter(result__run=run).update(
        tool_calls=[{"big": 10**30, "nested": [None, True, 1.5, ""]}], reasoning="quoted \" \\ ' ; --"
    )
    make_scored_run(make_dataset(4, slug="failing"), values=(1.0, None, 1 / 3))
    canvas_run(make_canvas_set(count=4))
    make_run(make_dataset(2, slug="waiting"), model="baseline/empty")
    AuditEntry.objects.update(detail={"text": "\u2028"})


def stored(using: str) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table that a backup must contain, read without the code of backups."""
    return {
        model._meta.db_table: list(model._base_manager.using(using).order_by("pk").values())
        for model in apps.get_models(include_auto_created=True)
        if model._meta.app_label in APPS and model is not Worker
    }


@contextmanager
def empty_database(kind: str, folder: Path) -> Iterator[str]:
    if kind == "postgresql":
        with postgres_database() as url, further_database("postgresql", url) as alias:
            yield alias
    else:
        with further_database("sqlite", sqlite_url(folder / "other.sqlite3")) as alias:
            yield alias


@pytest.fixture
def other(tmp_path: Path) -> Iterator[str]:
    with empty_database("sqlite", tmp_path) as alias:
        yield alias


def test_every_row_survives_the_way_to_postgresql_and_back(tmp_path: Path) -> None:
    fill()
    before = stored("default")
    assert sum(map(bool, before.values())) >= 18
    with empty_database("postgresql", tmp_path) as postgresql, empty_database("sqlite", tmp_path) as sqlite:
        write_backup(tmp_path / "a.zip")
        restore_backup(tmp_path / "a.zip", using=postgresql)
        assert stored(postgresql) == before
        write_backup(tmp_path / "b.zip", using=postgresql)
        restore_backup(tmp_path / "b.zip", using=sqlite)
        assert stored(sqlite) == before
        for alias in (postgresql, sqlite):
            add_rows(alias)


def add_rows(alias: str) -> None:
    """New rows get unused keys, in tables of models and in many-to-many tables."""
    highest = Run.objects.using(alias).latest("pk").pk
    fields = Run.objects.using(alias).values("dataset_id", "dataset_version_id", "model", "metrics").latest("pk")
    assert Run.objects.using(alias).create(**fields).pk == highest + 1, alias
    group = Group.objects.using(alias).create(name="more")
    User.objects.using(alias).get(username="anna").groups.add(group)


def test_accounts_and_tokens_work_after_the_commands_and_sessions_end(tmp_path: Path, settings: Any) -> None:
    account = User.objects.create_user("anna", password="correct horse")
    assign_group(account, "runner")
    _, token = create_token(account, "nightly", ["read"])
    make_dataset()
    session = Client()
    session.force_login(account)
    call_command("backup", str(tmp_path / "a.zip"))
    make_dataset(slug="later")
    call_command("restore", str(tmp_path / "a.zip"), "--replace")
    settings.DEV_MODE = False
    assert list(Dataset.objects.values_list("slug", flat=True)) == ["sums"]
    client = Client(headers={"authorization": f"Bearer {token}"})
    assert client.get("/api/v1/benchmarks/datasets", secure=True).status_code == 200
    assert User.objects.get().check_password("correct horse")
    assert not Session.objects.exists()


def test_a_database_that_is_not_empty_is_kept(tmp_path: Path) -> None:
    make_dataset()
    write_backup(tmp_path / "a.zip")
    before = stored("default")
    with pytest.raises(CommandError, match=r"not empty: it contains .*--replace") as refused:
        call_command("restore", str(tmp_path / "a.zip"))
    assert refused.value.returncode == 2
    assert stored("default") == before


def test_replace_deletes_the_existing_content(tmp_path: Path, other: str) -> None:
    write_backup(tmp_path / "empty.zip", using=other)
    fill()
    before = stored(other)
    restore_backup(tmp_path / "empty.zip", replace=True)
    assert stored("default") == before
    assert not CanvasSet.objects.exists()


def test_a_database_with_active_workers_is_kept(tmp_path: Path) -> None:
    write_backup(tmp_path / "a.zip")
    now = timezone.now()
    Worker.objects.create(name="host:1:x", threads=8, started_at=now, heartbeat_at=now)
    with pytest.raises(NotPossible, match=r"Workers are active on this database .host:1:x"):
        restore_backup(tmp_path / "a.zip", replace=True)


def test_other_migrations_are_refused(tmp_path: Path, other: str) -> None:
    write_backup(tmp_path / "a.zip")
    recorder = MigrationRecorder(connections[other])
    recorder.record_applied("benchmarks", "9999_later")
    with pytest.raises(NotPossible, match=r"before the migration benchmarks\.9999_later"):
        restore_backup(tmp_path / "a.zip", using=other)
    recorder.record_unapplied("tasks_app", "0001_initial")
    with pytest.raises(NotPossible, match=r"after the migration tasks_app\.0001_initial"):
        restore_backup(tmp_path / "a.zip", using=other)


def test_a_damaged_file_is_found_before_anything_is_written(
    tmp_path: Path, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill()
    path = tmp_path / "a.zip"
    write_backup(path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    monkeypatch.setattr(backups, "_restore", lambda *args: pytest.fail("the restore began to write"))
    with pytest.raises(NotPossible, match="Nothing was changed"):
        restore_backup(path, using=other)


def test_rows_that_the_database_refuses_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are whole, with correct hashes, and have rows that the constraints of the tables forbid."""
    fill()
    original = backups.stored_rows
    names = [field.name for field in Run._meta.concrete_fields]

    def replaced(row: list[Any], name: str) -> list[Any]:
        return [10**9 if field == name else value for field, value in zip(names, row, strict=True)]

    changes: tuple[tuple[str, Any, str], ...] = (
        ("benchmarks_run", lambda row: replaced(row, "dataset"), "refer to rows that do not exist"),
        ("benchmarks_result", lambda row: ["x", *row[1:]], "benchmarks_result, rows 1 to"),
        ("benchmarks_score", lambda row: [None if value == "scored" else value for value in row], "rows 1 to"),
    )
    for table, change, _ in changes:

        def changed(model: Any, using: str, table: str = table, change: Any = change) -> Iterator[list[Any]]:
            rows = original(model, using)
            return map(change, rows) if model._meta.db_table == table else rows

        monkeypatch.setattr(backups, "stored_rows", changed)
        write_backup(tmp_path / f"{table}.zip")
    for kind in ("sqlite", "postgresql"):
        with empty_database(kind, tmp_path) as alias:
            before = stored(alias)
            for table, _, message in changes:
                with pytest.raises(NotPossible, match=message):
                    restore_backup(tmp_path / f"{table}.zip", using=alias)
                assert stored(alias) == before, (kind, table)


def test_changes_during_a_backup_are_not_in_it_and_do_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    fill()
    before = stored("default")
    stored_rows = backups.stored_rows
    written = threading.Event()

    def write() -> None:
        Run.objects.update(error_message="later")
        Result.objects.filter(run=Run.objects.earliest("pk")).delete()
        written.set()
        connection.close()

    def reading(model: Any, using: str) -> Iterator[list[Any]]:
        if model is Dataset:  # tables before it are read, those of runs come after it
            writer = threading.Thread(target=write)
            writer.start()
            writer.join(20)
        return stored_rows(model, using)

    monkeypatch.setattr(backups, "stored_rows", reading)
    write_backup(tmp_path / "a.zip")
    assert written.is_set()
    restore_backup(tmp_path / "a.zip", using=other)
    assert stored(other) == before


def test_the_file_is_private_and_has_neither_secrets_nor_sessions(tmp_path: Path, settings: Any) -> None:
    account = User.objects.create_user("anna")
    _, token = create_token(account, "nightly", ["read"])
    client = Client()
    client.force_login(account)
    write_backup(tmp_path / "a.zip")
    assert stat.S_IMODE((tmp_path / "a.zip").stat().st_mode) == 0o600
    with zipfile.ZipFile(tmp_path / "a.zip") as file:
        content = b"".join(file.read(name) for name in file.namelist())
        assert not [name for name in file.namelist() if "session" in name or "axes" in name]
    for secret in (token, settings.SECRET_KEY, client.session.session_key):
        assert secret.encode() not in content
    assert ApiToken.objects.get().digest.encode() in content


def test_a_failed_backup_leaves_the_previous_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.zip"
    write_backup(path)
    before = path.read_bytes()

    def fails(*args: Any) -> Iterator[Any]:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backups, "stored_rows", fails)
    with pytest.raises(NotPossible, match="No space left on device"):
        write_backup(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.zip"]


def test_a_missing_folder_or_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file"):
        call_command("backup", str(tmp_path / "missing/a.zip"))
    with pytest.raises(CommandError, match="No such file"):
        call_command("restore", str(tmp_path / "a.zip"))


def test_ten_times_the_rows_take_no_more_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    monkeypatch.setattr(backups, "BATCH_ROWS", 20)
    dataset = make_dataset(1)
    run = make_scored_run(dataset, values=[1.0])
    result = run.results.get()
    peaks = []
    for count in (100, 1_000):
        existing = Result.objects.count()
        rows = [
            Result(run=run, task=result.task, repeat=n, position=n, difficulty="easy")
            for n in range(existing + 1, count)
        ]
        results = Result.objects.bulk_create(rows)
        Transcript.objects.bulk_create([Transcript(result=row, actual_output=f"{row.pk} " * 2_000) for row in results])
        peaks.append(peak_of_backup_and_restore(tmp_path / "a.zip", other))
    assert peaks[1] < 1.3 * peaks[0]


def peak_of_backup_and_restore(path: Path, other: str) -> int:
    ContentType.objects.clear_cache()
    tracemalloc.start()
    write_backup(path)
    restore_backup(path, replace=True, using=other)
    _, highest = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return highest
