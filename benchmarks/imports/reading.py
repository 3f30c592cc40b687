"""Read files that other tools wrote, JSON and ZIP files of JSON, within bounds."""

from __future__ import annotations

import json
import lzma
import sys
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from benchmarks.dataset_format.limits import MAX_BYTES, MAX_DEPTH
from benchmarks.dataset_format.nodes import LOADER
from benchmarks.dataset_format.problems import printable
from benchmarks.imports.json_stream import JsonStream
from benchmarks.imports.runs import ImportProblem

if sys.version_info >= (3, 14):
    import zipfile

    from compression import zstd
else:  # the backport of Python 3.14's module, for Zstandard, with which Inspect compresses its logs
    from backports import zstd
    from backports.zstd import zipfile as zipfile  # noqa: PLC0414  # other modules use it

MAX_JSON_BYTES = 256 * 2**20
"""Of one JSON document, which is held in memory as a whole."""
MAX_CONTAINERS = 1_000_000
"""Objects and lists of one JSON document; a result of the tools has 15 to 40."""
MAX_ZIP_BYTES = 4 * 2**30
"""Of all members of an archive, decompressed."""
MAX_MEMBERS = 200_000
MAX_LINE = 10_000_000
"""Bytes of a line, as many as a dataset file may have."""
ROWS = (".jsonl", ".ndjson")
"""Extensions of files with a document in each line."""


def json_of(data: bytes, where: str) -> Any:
    """The document, including ``NaN`` and ``Infinity``, which some tools write. Raises ``ImportProblem``.

    An object or list takes many times as much memory as in the file, so their number is bounded too.
    """
    if containers_in(data) > MAX_CONTAINERS:
        raise ImportProblem(f"{where}: more than {MAX_CONTAINERS:,} objects and lists. Split the file.")
    try:
        return json.loads(data)
    except json.JSONDecodeError as error:
        raise ImportProblem(f"{where}, line {error.lineno}, column {error.colno}: invalid JSON: {error.msg}") from None
    except UnicodeDecodeError as error:
        raise ImportProblem(f"{where}: invalid UTF-8 at byte {error.start}") from None
    except (ValueError, RecursionError) as error:
        raise ImportProblem(f"{where}: JSON that cannot be read: {printable(str(error))}") from None


def containers_in(data: bytes | bytearray) -> int:
    """How many objects and lists the document has at most: brackets inside texts count as well."""
    return data.count(b"{") + data.count(b"[")


def json_file(path: Path, where: str, max_bytes: int = MAX_JSON_BYTES) -> Any:
    """The document in a file. Raises ``ImportProblem``, also if the file is too large, and ``OSError``."""
    limit = min(max_bytes, MAX_JSON_BYTES)
    with path.open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise ImportProblem(f"{where}: exceeds the limit of {limit // 2**20} MB")
    return json_of(data, where)


def yaml_file(path: Path, where: str) -> Any:
    """The document in a YAML file, as JSON has it. Raises ``ImportProblem``, and ``OSError``."""
    with path.open("rb") as file:
        return yaml_of(file.read(MAX_BYTES + 1), where)


def yaml_of(data: bytes, where: str) -> Any:
    """The document, as JSON has it. Raises ``ImportProblem``, also if it is too large.

    YAML is read slowly, so less of it is read than of JSON, and aliases count each time.
    """
    if len(data) > MAX_BYTES:
        raise ImportProblem(f"{where}: YAML exceeds the limit of {MAX_BYTES // 1_000_000} MB. Write JSON instead.")
    try:
        # Composing nested nodes is recursive in C, without a limit.
        depth = 0
        for event in yaml.parse(data, Loader=LOADER):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                raise ImportProblem(f"{where}: more than {MAX_DEPTH} levels of lists and mappings")
        value = yaml.load(data, Loader=LOADER)  # noqa: S506  # a SafeLoader
        if _expanded(value, {}) > MAX_CONTAINERS:
            raise ImportProblem(f"{where}: more than {MAX_CONTAINERS:,} values. Split the file.")
        return json.loads(json.dumps(value))
    except yaml.YAMLError as error:
        raise ImportProblem(f"{where}: invalid YAML: {printable(str(error))}") from None
    except (ValueError, TypeError, RecursionError) as error:
        raise ImportProblem(f"{where}: YAML that cannot be read: {printable(str(error))}") from None


def _expanded(value: Any, known: dict[int, int]) -> int:
    """The number of values, in aliases each time. Raises ``ValueError`` if a value contains itself."""
    if not isinstance(value, dict | list):
        return 1 + (len(value) // 100 if isinstance(value, str) else 0)
    if id(value) not in known:
        known[id(value)] = -1
        items = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_expanded(item, known) for item in items)
    elif known[id(value)] < 0:
        raise ValueError("an alias of what contains it")
    return known[id(value)]


_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, zstd.ZstdError),
    *(EOFError, RuntimeError, ValueError, OSError),
)
_CONVERT = "Convert the log with: inspect log convert --to json"
_STEP = 4096
"""Bytes read at once. Their decompressed form may be held in memory whole, however little was requested."""


class Archive:
    """A ZIP file of JSON documents. A member whose size is too large is not read, and because the sizes in a file may
    lie, bytes are counted as they are decompressed."""

    def __init__(self, file: zipfile.ZipFile, max_bytes: int) -> None:
        self._file = file
        self._left = self._limit = max_bytes
        self._containers_left = max(MAX_CONTAINERS, max_bytes // 128)
        self.names = file.namelist()
        if len(self.names) > MAX_MEMBERS:
            raise ImportProblem(f"{len(self.names):,} members; the limit is {MAX_MEMBERS:,}")

    @classmethod
    @contextmanager
    def of(cls, path: Path, max_bytes: int = MAX_ZIP_BYTES) -> Iterator[Archive]:
        """Open an archive. Raises ``ImportProblem``, and ``OSError`` if the file cannot be opened."""
        with path.open("rb") as raw:
            try:
                file = zipfile.ZipFile(raw)
            except _UNREADABLE as error:
                raise ImportProblem(f"invalid ZIP file: {printable(str(error))}") from None
            with file:
                yield cls(file, max_bytes)

    def json(self, name: str) -> Any:
        """The document in a member. Raises ``ImportProblem``."""
        where = printable(name)
        limit = min(self._left, MAX_JSON_BYTES)
        data = bytearray()
        try:
            self._refuse_larger(name, where, limit)
            with self._file.open(name) as member:
                # One byte more than allowed shows that the member is too large.
                while len(data) <= limit and (more := member.read(min(_STEP, limit + 1 - len(data)))):
                    data += more
        except NotImplementedError:
            raise ImportProblem(f"{where}: unsupported compression. {_CONVERT}") from None
        except (KeyError, *_UNREADABLE) as error:
            raise ImportProblem(f"{where}: cannot be read: {printable(str(error))}") from None
        if len(data) > limit:
            raise ImportProblem(f"{where}: exceeds the limit of {limit // 2**20} MB when decompressed")
        self._left -= len(data)
        self._containers_left -= containers_in(data)
        if self._containers_left < 0:
            raise ImportProblem(f"{where}: the archive has too many objects and lists. Split the log.")
        return json_of(bytes(data), where)

    def _refuse_larger(self, name: str, where: str, limit: int) -> None:
        if self._file.getinfo(name).file_size > limit:
            raise ImportProblem(f"{where}: exceeds the limit of {limit // 2**20} MB when decompressed")

    def members(self, name: str, streamed: str) -> Iterator[tuple[str, Any]]:
        """Key and value of the object in a member, of which the list at ``streamed`` comes item by item under its key.

        Raises ``ImportProblem``. Only ``streamed`` may be larger than memory.
        """
        where = printable(name)

        def read(size: int) -> bytes:
            data = bytearray()
            while len(data) < size and (more := member.read(_STEP)):
                data += more
            self._left -= len(data)
            if self._left < 0:
                raise ImportProblem(f"{where}: exceeds the limit of {self._limit // 2**20} MB when decompressed")
            return bytes(data)

        try:
            self._refuse_larger(name, where, self._left)
            with self._file.open(name) as member:
                yield from JsonStream(read, where).members(streamed)
        except NotImplementedError:
            raise ImportProblem(f"{where}: unsupported compression. {_CONVERT}") from None
        except (KeyError, *_UNREADABLE) as error:
            raise ImportProblem(f"{where}: cannot be read: {printable(str(error))}") from None


class ForeignFile:
    """A file of another tool, as importers see it: its name, what its beginning tells, and what is in it.

    All reading is bounded, and raises ``ImportProblem`` with the place, and ``OSError``. ``keeps`` says whether a
    document that was parsed to detect its tool is kept until it is read.
    """

    def __init__(
        self, path: Path, name: str | None = None, max_bytes: int = MAX_ZIP_BYTES, *, keeps: bool = True
    ) -> None:
        self.path, self.max_bytes = path, max_bytes
        self.name = printable(name or path.name)
        self.stem, self.suffix = Path(self.name).stem, Path(self.name).suffix.lower()
        self.has_rows = self.suffix in ROWS
        self._keeps = keeps
        self._document: Any = None

    @cached_property
    def is_archive(self) -> bool:
        return zipfile.is_zipfile(self.path)

    @cached_property
    def members(self) -> Collection[str]:
        """The names in a ZIP file; empty for other files."""
        if not self.is_archive:
            return ()
        try:
            with Archive.of(self.path, self.max_bytes) as archive:
                return frozenset(archive.names)
        except (ImportProblem, OSError):
            return ()

    @cached_property
    def outline(self) -> Mapping[str, Collection[str]]:
        """The keys of the document, or of the first row, each with the keys of its value, or of that list's first item.
        Empty for what is no object or cannot be read."""
        if self.is_archive:
            return {}
        try:
            document = self._first_row() if self.has_rows else self.document()
        except (ImportProblem, OSError):
            return {}
        if self._keeps and not self.has_rows:
            self._document = document
        return {key: _keys(value) for key, value in document.items()} if isinstance(document, dict) else {}

    def document(self, where: str = "the file") -> Any:
        """The document of a JSON or YAML file; ``where`` names it in errors."""
        if self._document is not None:
            document, self._document = self._document, None  # whoever reads it decides how long it is held
            return document
        if self.is_archive:
            raise ImportProblem("a ZIP file, not a document in JSON or YAML")
        if self.suffix in (".yaml", ".yml"):
            return yaml_file(self.path, where)
        return json_file(self.path, where, self.max_bytes)

    def rows(self) -> list[Any]:
        """The documents in the lines of a file."""
        limit = min(self.max_bytes, MAX_JSON_BYTES)
        if self.path.stat().st_size > limit:
            raise ImportProblem(f"the file: exceeds the limit of {limit // 2**20} MB")
        with self.path.open("rb") as file:
            containers = 0
            documents = []
            for number, line in enumerate(file, 1):
                containers += containers_in(line)
                if containers > MAX_CONTAINERS:
                    raise ImportProblem(f"more than {MAX_CONTAINERS:,} objects and lists. Split the file.")
                documents += [json_of(line, f"line {number}")] if line.strip() else []
            return documents

    def _first_row(self) -> Any:
        with self.path.open("rb") as file:
            return json_of(file.readline(MAX_LINE), "line 1")


def _keys(value: Any) -> Collection[str]:
    value = value[0] if isinstance(value, list) and value else value
    return frozenset(value) if isinstance(value, dict) else ()
