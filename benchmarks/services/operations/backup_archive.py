"""The file format of a backup: a ZIP file with ``manifest.json`` and one ``tables/NAME.jsonl`` for each table.

A line is one row: a JSON array in the order of the table's columns. The manifest has the migrations of the database,
and for each table its columns, its number of rows and the SHA-256 of its lines. Rows are written and read one at a
time, so memory does not grow with their number.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time
from decimal import Decimal
from io import BufferedReader
from pathlib import Path
from typing import Any, Self
from uuid import UUID

from pydantic import BaseModel, ValidationError

from benchmarks.services.operations.sealed_files import SealedReader, WrongKey, is_sealed

FORMAT = "codeforge-backup"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
MAX_MANIFEST_BYTES = 16 * 2**20
MAX_ROW_BYTES = 512 * 2**20
"""Far more than any row has: a file with a longer one was not written here, and must not fill the memory."""

_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)
"""What reading a ZIP file raises that is damaged, encrypted or not a ZIP file."""


class DamagedBackup(Exception):
    """The file is not a backup, or not a whole one. The message is a sentence that says where and why."""


class TableEntry(BaseModel, frozen=True):
    """A table in the manifest."""

    name: str
    columns: tuple[str, ...]
    rows: int
    sha256: str


class Manifest(BaseModel, frozen=True):
    """``migrations`` are those applied to the database, as ``app.name``; ``made_at`` is a time in ISO 8601."""

    made_at: str
    code_version: str
    database: str
    migrations: tuple[str, ...]
    tables: tuple[TableEntry, ...]
    format: str = FORMAT
    version: int = FORMAT_VERSION


def write_table(file: zipfile.ZipFile, name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> TableEntry:
    """Write rows of stored values; return the table's entry for the manifest."""
    digest, count = hashlib.sha256(), 0
    with file.open(_member(name), "w", force_zip64=True) as member:
        for row in rows:
            line = line_of(row)
            digest.update(line)
            member.write(line)
            count += 1
    return TableEntry(name=name, columns=tuple(columns), rows=count, sha256=digest.hexdigest())


def line_of(row: Sequence[Any]) -> bytes:
    """The line of a row of stored values."""
    return json.dumps(row, separators=(",", ":"), default=_json_value).encode() + b"\n"


def _json_value(value: Any) -> str:
    """A stored value that JSON does not have; ``Field.to_python`` converts it back."""
    match value:
        case datetime() | date() | time():
            return value.isoformat()
        case UUID() | Decimal():
            return str(value)
        case bytes() | memoryview():
            return base64.b64encode(value).decode("ascii")
    raise TypeError(f"{type(value).__name__} is not a type of a stored value")


def write_manifest(file: zipfile.ZipFile, manifest: Manifest) -> None:
    """Write the manifest. It comes last, because it has the number of rows and the hash of each table."""
    file.writestr(MANIFEST, manifest.model_dump_json(indent=2) + "\n")


class BackupReader:
    """An open backup. Its manifest was checked; ``verify`` checks the rest."""

    def __init__(self, file: zipfile.ZipFile) -> None:
        self._file = file
        self.manifest = _read_manifest(file)

    @classmethod
    @contextmanager
    def open(cls, path: Path, key: Callable[[], str] = str) -> Iterator[Self]:
        """Open the file. Raises ``DamagedBackup``, and ``OSError`` if it does not exist or cannot be read.

        ``key`` is called if the file is encrypted; it returns the key or raises. By default there is none.
        """
        with path.open("rb") as raw:
            try:
                file = zipfile.ZipFile(BufferedReader(SealedReader(raw, key())) if is_sealed(raw) else raw)
            except WrongKey:
                raise DamagedBackup("It was encrypted with another key, or its end is missing.") from None
            except _UNREADABLE as error:
                raise DamagedBackup(f"The file is not a backup, or its end is missing ({error}).") from None
            with file:
                yield cls(file)

    def verify(self) -> None:
        """Read the whole file and compare it with the manifest. Raises ``DamagedBackup``."""
        members = {_member(table.name) for table in self.manifest.tables} | {MANIFEST}
        if differing := sorted(set(self._file.namelist()) ^ members):
            raise DamagedBackup(f"{MANIFEST} and the content of the file differ in {differing[0]}.")
        for table in self.manifest.tables:
            digest, count = hashlib.sha256(), 0
            for line in self._lines(table.name):
                digest.update(line)
                count += 1
            if (count, digest.hexdigest()) != (table.rows, table.sha256):
                raise DamagedBackup(f"Table {table.name} differs from {MANIFEST} ({count} of {table.rows} rows read).")

    def rows(self, table: TableEntry) -> Iterator[tuple[int, list[Any]]]:
        """Size in bytes and values of each row. Raises ``DamagedBackup`` if a row does not fit the table's columns."""
        for number, line in enumerate(self._lines(table.name), 1):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise DamagedBackup(f"Table {table.name}, row {number} is not valid JSON ({error}).") from None
            if not isinstance(row, list) or len(row) != len(table.columns):
                raise DamagedBackup(f"Table {table.name}, row {number} does not have {len(table.columns)} values.")
            yield len(line), row

    def _lines(self, table: str) -> Iterator[bytes]:
        try:
            with self._file.open(_member(table)) as member:
                # Bounded, because a small file can decompress to a line larger than the memory.
                while line := member.readline(MAX_ROW_BYTES):
                    if not line.endswith(b"\n"):
                        raise DamagedBackup(f"Table {table} has a row without an end.")
                    yield line
        except (*_UNREADABLE, WrongKey) as error:
            raise DamagedBackup(f"Table {table} cannot be read ({error}).") from None


def _member(table: str) -> str:
    return f"tables/{table}.jsonl"


def _read_manifest(file: zipfile.ZipFile) -> Manifest:
    try:
        with file.open(MANIFEST) as member:
            content = json.loads(member.read(MAX_MANIFEST_BYTES))
    except KeyError:
        raise DamagedBackup(f"The file is not a backup: it does not contain {MANIFEST}.") from None
    except (*_UNREADABLE, WrongKey, RecursionError) as error:
        raise DamagedBackup(f"{MANIFEST} cannot be read ({error}).") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DamagedBackup(f"The file is not a backup: the format in {MANIFEST} is not {FORMAT}.")
    if content.get("version") != FORMAT_VERSION:
        raise DamagedBackup(f"The format version is {content.get('version')}; this release reads {FORMAT_VERSION}.")
    try:
        return Manifest.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        raise DamagedBackup(f"{MANIFEST}, {'.'.join(map(str, first['loc']))}: {first['msg']}.") from None
