"""Backups are encrypted on request, written by schedule, and their restore is rehearsed on both databases."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connections

from benchmarks.engine import lease
from benchmarks.models import Run
from benchmarks.services.errors import NotPossible
from benchmarks.services.operations import rehearsals
from benchmarks.services.operations.backups import restore_backup, write_backup
from benchmarks.services.operations.rehearsals import rehearse
from benchmarks.services.operations.scheduled_backups import back_up_if_due, scheduled_backups
from benchmarks.services.tests.test_backups import empty_database, fill, stored
from benchmarks.worker import back_up
from codeforge.config import BackupsConfig
from tests.support.databases import further_database
from tests.support.factories import make_dataset, make_run
from tests.support.services import postgres_database

pytestmark = pytest.mark.django_db(transaction=True)
DAY = timedelta(days=1)


@pytest.fixture
def key(settings: Any) -> None:
    settings.BACKUP_KEY = "correct horse battery"


@pytest.mark.usefixtures("key")
def test_an_encrypted_backup_shows_nothing_and_restores_everything(tmp_path: Path) -> None:
    fill()
    before = stored("default")
    call_command("backup", str(tmp_path / "a.sealed"), "--encrypt")
    content = (tmp_path / "a.sealed").read_bytes()
    assert not [text for text in (b"manifest", b"tables/", b"PK\x03\x04") if text in content]
    with empty_database("sqlite", tmp_path) as other:
        restore_backup(tmp_path / "a.sealed", using=other)
        assert stored(other) == before
    assert [path.name for path in tmp_path.iterdir() if "unfinished" in path.name] == []


def test_the_key_comes_from_a_file_and_what_is_wrong_with_it_is_said(tmp_path: Path, settings: Any) -> None:
    file = tmp_path / "key"
    with pytest.raises(CommandError, match="CODEFORGE_BACKUP_KEY or CODEFORGE_BACKUP_KEY_FILE"):
        call_command("backup", str(tmp_path / "a"), "--encrypt")
    settings.BACKUP_KEY_FILE = str(file)
    with pytest.raises(NotPossible, match=r"cannot be read .*No such file"):
        write_backup(tmp_path / "a", encrypt=True)
    file.write_text("short\n")
    with pytest.raises(NotPossible, match="has 5 characters, but needs at least 16"):
        write_backup(tmp_path / "a", encrypt=True)
    assert not (tmp_path / "a").exists()
    file.write_text("correct horse battery\n")
    write_backup(tmp_path / "a", encrypt=True)
    file.write_text("another horse battery")
    with pytest.raises(NotPossible, match="encrypted with another key, or its end is missing"):
        restore_backup(tmp_path / "a", replace=True)


@pytest.mark.usefixtures("key")
def test_a_rehearsal_compares_every_row_and_leaves_nothing(tmp_path: Path, settings: Any) -> None:
    settings.STATE_DIR = tmp_path
    fill()
    before = stored("default")
    write_backup(tmp_path / "a", encrypt=True)
    out = StringIO()
    call_command("restore", str(tmp_path / "a"), "--rehearse", stdout=out)
    assert "can be restored" in out.getvalue()
    assert f"{Run.objects.count()} runs fit" in out.getvalue()
    assert stored("default") == before
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert rehearsals.ALIAS not in connections.databases


def test_a_rehearsal_on_postgresql_leaves_no_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill()
    write_backup(tmp_path / "a.zip")
    names = "SELECT datname FROM pg_database WHERE datname LIKE 'codeforge_rehearsal_%'"
    with postgres_database() as url, further_database("postgresql", url, migrated=False) as alias:
        monkeypatch.setattr(rehearsals, "DEFAULT_DB_ALIAS", alias)
        assert rehearse(tmp_path / "a.zip").runs == Run.objects.count()
        with connections[alias].cursor() as cursor:
            cursor.execute(names)
            assert cursor.fetchall() == []


def test_a_value_that_comes_back_otherwise_is_named(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.STATE_DIR = tmp_path
    make_run(make_dataset(), model="baseline/reference")
    write_backup(tmp_path / "a.zip")
    restore = rehearsals.restore_backup

    def changed(path: Path, using: str) -> Any:
        restored = restore(path, using=using)
        Run.objects.using(using).update(notes="another")
        return restored

    monkeypatch.setattr(rehearsals, "restore_backup", changed)
    with pytest.raises(NotPossible, match=r"Table benchmarks_run, row 1 was restored with another value"):
        rehearse(tmp_path / "a.zip")


def test_counters_that_do_not_fit_their_rows_are_named(tmp_path: Path, settings: Any) -> None:
    settings.STATE_DIR = tmp_path
    run = make_run(make_dataset(), model="baseline/reference")
    Run.objects.update(total=5)
    write_backup(tmp_path / "a.zip")
    with pytest.raises(NotPossible, match=rf"Run {run.pk} of the backup counts 5 results and has 0"):
        rehearse(tmp_path / "a.zip")


def test_a_worker_writes_one_backup_a_day_and_keeps_some(tmp_path: Path) -> None:
    make_dataset()
    folder = tmp_path / "backups"
    first = back_up_if_due(folder, DAY, keep=2)
    assert first is not None
    assert back_up_if_due(folder, DAY, keep=2) is None
    (folder / "mine.zip").write_text("kept")
    for days in (1, 2, 3):
        at = datetime.now(UTC) - timedelta(days=days, hours=1)
        (folder / f"codeforge-{at:%Y%m%dT%H%M%S}Z.zip").write_text("old")
    first.unlink()
    second = back_up_if_due(folder, DAY, keep=2)
    assert scheduled_backups(folder)[0][1] == second
    assert len(scheduled_backups(folder)) == 2
    assert (folder / "mine.zip").exists()
    assert os.stat(folder).st_mode & 0o077 == 0


def test_a_backup_of_the_future_does_not_end_the_schedule(tmp_path: Path) -> None:
    (tmp_path / f"codeforge-{datetime.now(UTC) + DAY:%Y%m%dT%H%M%S}Z.zip").write_text("")
    assert back_up_if_due(tmp_path, DAY, keep=5) is not None


def test_one_worker_at_a_time_writes_a_backup(tmp_path: Path) -> None:
    with lease.exclusive("backup"):
        assert back_up_if_due(tmp_path, DAY, keep=1) is None
    assert scheduled_backups(tmp_path) == []


@pytest.mark.usefixtures("key")
def test_the_configuration_says_where_and_whether_encrypted(tmp_path: Path, settings: Any) -> None:
    back_up()
    backups = BackupsConfig(folder=str(tmp_path / "b"), encrypt=True)
    settings.CODEFORGE = settings.CODEFORGE.model_copy(update={"backups": backups})
    back_up()
    ((_, path),) = scheduled_backups(tmp_path / "b")
    assert path.name.endswith(".zip.sealed")


def test_a_backup_that_is_not_possible_is_logged(
    tmp_path: Path, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    backups = BackupsConfig(folder=str(tmp_path), encrypt=True)
    settings.CODEFORGE = settings.CODEFORGE.model_copy(update={"backups": backups})
    back_up()
    assert "no backup was written: Encrypted backups need a key" in caplog.text
