"""A damaged file, or one that is not a backup, is told from a whole backup whatever was done to it."""

from __future__ import annotations

import contextlib
import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.services.operations import backup_archive
from benchmarks.services.operations.backup_archive import (
    FORMAT,
    MANIFEST,
    BackupReader,
    DamagedBackup,
    Manifest,
    write_manifest,
    write_table,
)

ROWS = [[1, "ö\n", 0.5], [2, "\ud800", None]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("backup") / "whole.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        tables = (write_table(file, "shapes", ["id", "name", "size"], ROWS), write_table(file, "colors", ["id"], []))
        manifest = Manifest(
            made_at="2026-01-31T12:00:00", code_version="0.1.0", database="sqlite", migrations=("a.1",), tables=tables
        )
        write_manifest(file, manifest)
    return path.read_bytes()


def with_members(path: Path, content: bytes, changes: dict[str, bytes | None]) -> Path:
    """Write the whole file with other members; ``None`` leaves one out."""
    path.write_bytes(content)
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(path, "w") as new:
        for name, data in {**members, **changes}.items():
            if data is not None:
                new.writestr(name, data)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(DamagedBackup) as refused, BackupReader.open(path) as backup:
        backup.verify()
    return str(refused.value)


def test_a_whole_file_is_read_as_it_was_written(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(whole)
    with BackupReader.open(path) as backup:
        backup.verify()
        shapes, colors = backup.manifest.tables
        assert [row for _, row in backup.rows(shapes)] == ROWS
        assert (shapes.rows, shapes.columns, list(backup.rows(colors))) == (2, ("id", "name", "size"), [])
        assert backup.manifest.migrations == ("a.1",)


@given(data=st.data())
def test_a_changed_byte_or_a_missing_end_never_gives_other_rows(whole: bytes, data: st.DataObject) -> None:
    """Bytes without a meaning, such as those of a member's time, may change; the rows that are read may not."""
    at = data.draw(st.integers(0, len(whole) - 1))
    damaged = whole[:at]
    if data.draw(st.booleans()):
        damaged += bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "damaged.zip"
        path.write_bytes(damaged)
        with contextlib.suppress(DamagedBackup), BackupReader.open(path) as backup:
            backup.verify()
            shapes, _ = backup.manifest.tables
            assert [row for _, row in backup.rows(shapes)] == ROWS


def test_each_kind_of_damage_has_its_message(tmp_path: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def manifest(**fields: Any) -> dict[str, bytes | None]:
        return {MANIFEST: json.dumps(fields).encode()}

    changed_row = b'[1,"other",0.5]\n[2,"\\ud800",null]\n'
    for changes, message in (
        ({"tables/shapes.jsonl": changed_row}, "Table shapes differs from manifest.json (2 of 2 rows read)."),
        ({"tables/shapes.jsonl": None}, "differ in tables/shapes.jsonl"),
        ({"tables/more.jsonl": b""}, "differ in tables/more.jsonl"),
        ({"tables/shapes.jsonl": b"[1]"}, "a row without an end"),
        ({MANIFEST: None}, "does not contain manifest.json"),
        ({MANIFEST: b"{"}, "manifest.json cannot be read"),
        ({MANIFEST: b"[" * 100_000}, "manifest.json cannot be read"),
        (manifest(), "The file is not a backup: the format in manifest.json is not codeforge-backup."),
        (manifest(format=FORMAT, version=9), "The format version is 9; this release reads 1."),
        (manifest(format=FORMAT, version=1), "manifest.json, made_at: Field required."),
    ):
        assert message in refusal(with_members(tmp_path / "a.zip", whole, changes)), message
    (tmp_path / "text").write_text("hello")
    assert "not a backup" in refusal(tmp_path / "text")
    monkeypatch.setattr(backup_archive, "MAX_ROW_BYTES", 10)
    assert "a row without an end" in refusal(with_members(tmp_path / "a.zip", whole, {}))


def test_a_row_that_does_not_fit_its_table_is_named(tmp_path: Path, whole: bytes) -> None:
    for line in (b"[1]\n", b"{}\n", b"nothing\n", b"[" * 100_000 + b"\n"):
        path = with_members(tmp_path / "a.zip", whole, {"tables/shapes.jsonl": line})
        with BackupReader.open(path) as backup, pytest.raises(DamagedBackup, match="shapes, row 1"):
            list(backup.rows(backup.manifest.tables[0]))
