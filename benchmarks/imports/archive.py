"""ZIP files of JSON documents, as Inspect writes its logs, read within bounds."""

from __future__ import annotations

import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.dataset_format.problems import printable
from benchmarks.imports.reading import MAX_JSON_BYTES, json_of
from benchmarks.imports.runs import ImportProblem

if sys.version_info >= (3, 14):
    import zipfile

    from compression import zstd
else:  # the backport of Python 3.14's module, for Zstandard, with which Inspect compresses its logs
    from backports import zstd
    from backports.zstd import zipfile

__all__ = ("MAX_ZIP_BYTES", "Archive", "is_archive", "zipfile")

MAX_ZIP_BYTES = 4 * 2**30
"""Of all members of an archive, decompressed."""
MAX_MEMBERS = 200_000

_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, zstd.ZstdError),
    *(EOFError, RuntimeError, ValueError, OSError),
)
_STEP = 4096
"""Bytes read at once. Their decompressed form may be held in memory whole, however little was requested."""


def is_archive(path: Path) -> bool:
    return bool(zipfile.is_zipfile(path))


class Archive:
    """A ZIP file of JSON documents. Bytes are counted as they are decompressed, because the sizes in a file may lie."""

    def __init__(self, file: zipfile.ZipFile, max_bytes: int) -> None:
        self._file = file
        self._left = max_bytes
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
            with self._file.open(name) as member:
                # One byte more than allowed shows that the member is too large.
                while len(data) <= limit and (more := member.read(min(_STEP, limit + 1 - len(data)))):
                    data += more
        except NotImplementedError:
            raise ImportProblem(
                f"{where}: unsupported compression. Convert the log with: inspect log convert --to json"
            ) from None
        except (KeyError, *_UNREADABLE) as error:
            raise ImportProblem(f"{where}: cannot be read: {printable(str(error))}") from None
        if len(data) > limit:
            raise ImportProblem(f"{where}: exceeds the limit of {limit // 2**20} MB when decompressed")
        self._left -= len(data)
        return json_of(bytes(data), where)
