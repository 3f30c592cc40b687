"""A backup is a ZIP file: ``tables/NAME.jsonl`` for each table, one row a line, and ``manifest.json``.

A row is a JSON array in the order of the table's columns. The manifest tells what the file is, and of every table its
columns, its number of rows and the SHA-256 of its lines. Rows are written and read one after the other, so that
neither takes memory for more than one of them.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Self

FORMAT = "codeforge-backup"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
LONGEST_MANIFEST = 16 * 2**20
LONGEST_ROW = 512 * 2**20
"""Bytes; far more than any row has. A file that claims more is not one of ours."""

_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)
"""What reading a ZIP file that is damaged, encrypted or something else raises."""


class DamagedBackup(Exception):
    """The file is no backup, or not whole. The message says where and why."""


@dataclass(frozen=True, slots=True)
class TableEntry:
    """What the manifest tells of one table."""

    name: str
    columns: tuple[str, ...]
    rows: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """``migrations`` are those applied to the database, as ``app.name``; ``made_at`` is a moment in ISO 8601."""

    made_at: str
    code_version: str
    database: str
    migrations: tuple[str, ...]
    tables: tuple[TableEntry, ...]
    format: str = FORMAT
    version: int = FORMAT_VERSION


@dataclass(slots=True)
class BackupWriter:
    """Writes tables one after the other; ``close_with`` ends the file."""

    file: zipfile.ZipFile
    tables: list[TableEntry] = field(default_factory=list)

    def write_table(self, name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> TableEntry:
        """Write every row. Values are those of JSON; NaN is written as Python does."""
        digest, count = hashlib.sha256(), 0
        with self.file.open(_member(name), "w", force_zip64=True) as member:
            for row in rows:
                line = json.dumps(row, separators=(",", ":")).encode() + b"\n"
                digest.update(line)
                member.write(line)
                count += 1
        entry = TableEntry(name, tuple(columns), count, digest.hexdigest())
        self.tables.append(entry)
        return entry

    def close_with(self, **facts: Any) -> Manifest:
        """Write the manifest, with the fields of ``Manifest`` that are not about the file itself."""
        manifest = Manifest(tables=tuple(self.tables), **facts)
        self.file.writestr(MANIFEST, json.dumps(asdict(manifest), indent=2) + "\n")
        return manifest


@contextmanager
def new_backup(path: Path) -> Iterator[BackupWriter]:
    """A file at ``path`` that only its owner may read. Raises ``OSError``."""
    path.touch(mode=0o600)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        yield BackupWriter(file)


class BackupReader:
    """A backup that was opened. Its manifest is checked; ``verify`` checks the rest."""

    def __init__(self, file: zipfile.ZipFile) -> None:
        self._file = file
        self.manifest = _manifest(file)

    @classmethod
    @contextmanager
    def of(cls, path: Path) -> Iterator[Self]:
        """Open the file. Raises ``DamagedBackup``, and ``OSError`` where it is not there or not to be read."""
        with path.open("rb") as raw:
            try:
                file = zipfile.ZipFile(raw)
            except _UNREADABLE as error:
                raise DamagedBackup(f"it is no backup, or its end is missing ({error})") from None
            with file:
                yield cls(file)

    def verify(self) -> None:
        """Read all of it, and compare with the manifest. Raises ``DamagedBackup``."""
        members = {_member(table.name) for table in self.manifest.tables} | {MANIFEST}
        if strange := sorted(set(self._file.namelist()) ^ members):
            raise DamagedBackup(f"{MANIFEST} and the file disagree about {strange[0]}")
        for table in self.manifest.tables:
            digest, count = hashlib.sha256(), 0
            for line in self._lines(table.name):
                digest.update(line)
                count += 1
            if (count, digest.hexdigest()) != (table.rows, table.sha256):
                raise DamagedBackup(f"{table.name} is not what {MANIFEST} says: {count} rows of {table.rows}")

    def rows(self, table: TableEntry) -> Iterator[tuple[int, list[Any]]]:
        """Bytes and values of each row. Raises ``DamagedBackup`` where a row has other columns than its table."""
        for number, line in enumerate(self._lines(table.name), 1):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise DamagedBackup(f"{table.name}, row {number}: no JSON ({error})") from None
            if not isinstance(row, list) or len(row) != len(table.columns):
                raise DamagedBackup(f"{table.name}, row {number}: {len(table.columns)} values are wanted")
            yield len(line), row

    def _lines(self, table: str) -> Iterator[bytes]:
        try:
            with self._file.open(_member(table)) as member:
                yield from _bounded_lines(member, table)
        except _UNREADABLE as error:
            raise DamagedBackup(f"{table} cannot be read ({error})") from None


def _bounded_lines(member: IO[bytes], table: str) -> Iterator[bytes]:
    while line := member.readline(LONGEST_ROW):
        if not line.endswith(b"\n"):
            raise DamagedBackup(f"{table} has a row without an end")
        yield line


def _member(table: str) -> str:
    return f"tables/{table}.jsonl"


def _manifest(file: zipfile.ZipFile) -> Manifest:
    try:
        with file.open(MANIFEST) as member:
            told = json.loads(member.read(LONGEST_MANIFEST))
    except KeyError:
        raise DamagedBackup(f"it is no backup: it has no {MANIFEST}") from None
    except (*_UNREADABLE, RecursionError) as error:
        raise DamagedBackup(f"{MANIFEST} cannot be read ({error})") from None
    if not isinstance(told, Mapping) or told.get("format") != FORMAT:
        raise DamagedBackup(f"{MANIFEST} is not that of a backup")
    if told.get("version") != FORMAT_VERSION:
        raise DamagedBackup(f"it has format version {told.get('version')}, and this release reads {FORMAT_VERSION}")
    try:
        tables = tuple(
            TableEntry(str(one["name"]), tuple(map(str, one["columns"])), int(one["rows"]), str(one["sha256"]))
            for one in told["tables"]
        )
        made_at, code, database = (str(told[name]) for name in ("made_at", "code_version", "database"))
        return Manifest(made_at, code, database, tuple(map(str, told["migrations"])), tables)
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedBackup(f"{MANIFEST} lacks something, or has it in another form ({error})") from None
