"""A file that is not whole, or no backup at all, is told from one that is, whatever was done to it."""

from __future__ import annotations

import contextlib
import json
import stat
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.services.operations import backup_archive
from benchmarks.services.operations.backup_archive import MANIFEST, BackupReader, DamagedBackup, new_backup

FACTS = {
    "made_at": "2026-01-31T12:00:00+00:00",
    "code_version": "0.1.0",
    "database": "sqlite",
    "migrations": ("a.0001",),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("backup") / "whole.zip"
    return written(path).read_bytes()


def written(path: Path) -> Path:
    with new_backup(path) as backup:
        backup.write_table("shapes", ["id", "name", "size"], [[1, "ö\n", 0.5], [2, "\ud800", None]])
        backup.write_table("colours", ["id"], [])
        backup.close_with(**FACTS)
    return path


def rewritten(path: Path, content: bytes, **changes: Any) -> Path:
    """The whole file with other members; ``None`` leaves one out."""
    path.write_bytes(content)
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(path, "w") as new:
        for name, data in {**members, **changes}.items():
            if data is not None:
                new.writestr(name, data)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(DamagedBackup) as refused, BackupReader.of(path) as backup:
        backup.verify()
    return str(refused.value)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    with BackupReader.of(written(tmp_path / "a.zip")) as backup:
        backup.verify()
        shapes, colours = backup.manifest.tables
        assert [row for _, row in backup.rows(shapes)] == [[1, "ö\n", 0.5], [2, "\ud800", None]]
        assert (shapes.rows, shapes.columns, list(backup.rows(colours))) == (2, ("id", "name", "size"), [])
        assert backup.manifest.migrations == ("a.0001",)


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    assert stat.S_IMODE(written(tmp_path / "a.zip").stat().st_mode) == 0o600


@given(data=st.data())
def test_a_file_with_a_byte_changed_or_its_end_cut_off_never_gives_other_rows(
    whole: bytes, data: st.DataObject
) -> None:
    """A byte that says nothing, such as one of a time of day, may change; what is read is what was written."""
    at = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        spoilt = whole[:at]
    else:
        spoilt = whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spoilt.zip"
        path.write_bytes(spoilt)
        with contextlib.suppress(DamagedBackup), BackupReader.of(path) as backup:
            backup.verify()
            shapes, _ = backup.manifest.tables
            assert [row for _, row in backup.rows(shapes)] == [[1, "ö\n", 0.5], [2, "\ud800", None]]


def test_a_row_changed_with_care_is_found_by_its_hash(tmp_path: Path, whole: bytes) -> None:
    changed = b'[1,"other",0.5]\n[2,"\\ud800",null]\n'
    told = refusal(rewritten(tmp_path / "a.zip", whole, **{"tables/shapes.jsonl": changed}))
    assert told == "shapes is not what manifest.json says: 2 rows of 2"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"tables/shapes.jsonl": None}, "disagree about tables/shapes.jsonl"),
        ({"tables/more.jsonl": b""}, "disagree about tables/more.jsonl"),
        ({"tables/shapes.jsonl": b"[1]"}, "a row without an end"),
        ({MANIFEST: None}, "it has no manifest.json"),
        ({MANIFEST: b"{"}, "manifest.json cannot be read"),
        ({MANIFEST: b"[" * 100_000}, "manifest.json cannot be read"),
        ({MANIFEST: b"{}"}, "not that of a backup"),
        ({MANIFEST: json.dumps({"format": backup_archive.FORMAT, "version": 9}).encode()}, "format version 9"),
        ({MANIFEST: json.dumps({"format": backup_archive.FORMAT, "version": 1}).encode()}, "lacks something"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, whole: bytes, changes: dict[str, bytes | None], told: str) -> None:
    assert told in refusal(rewritten(tmp_path / "a.zip", whole, **changes))


def test_a_row_that_never_ends_is_not_read_into_memory(
    tmp_path: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup_archive, "LONGEST_ROW", 10)
    assert "a row without an end" in refusal(rewritten(tmp_path / "a.zip", whole))


@pytest.mark.parametrize("line", [b"[1]\n", b"{}\n", b"nothing\n", b"[" * 100_000 + b"\n"])
def test_a_row_of_another_form_is_told(tmp_path: Path, whole: bytes, line: bytes) -> None:
    path = rewritten(tmp_path / "a.zip", whole, **{"tables/shapes.jsonl": line})
    with BackupReader.of(path) as backup, pytest.raises(DamagedBackup, match="shapes, row 1"):
        list(backup.rows(backup.manifest.tables[0]))


def test_another_file_is_no_backup(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_text("hello")
    assert "no backup" in refusal(path)
