"""ZIP files of JSON documents, as Inspect writes its logs: read in bounds, whatever they say of themselves."""

from __future__ import annotations

import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from benchmarks.dataset_format.problems import printable
from benchmarks.imports.reading import MOST_JSON_BYTES, json_of
from benchmarks.imports.runs import ImportProblem

if sys.version_info >= (3, 14):
    import zipfile

    from compression import zstd
else:  # the same as there, which knows Zstandard: Inspect compresses its logs with it
    from backports import zstd
    from backports.zstd import zipfile

__all__ = ("MOST_ZIP_BYTES", "Archive", "is_archive", "zipfile")

MOST_ZIP_BYTES = 4 * 2**30
"""Of all members of an archive, decompressed."""
MOST_MEMBERS = 200_000

_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, zstd.ZstdError),
    *(EOFError, RuntimeError, ValueError, OSError),
)
_STEP = 4096
"""Bytes. What so many decompress to may be held in memory at once, whatever was asked for."""


def is_archive(path: Path) -> bool:
    return bool(zipfile.is_zipfile(path))


class Archive:
    """A ZIP file of JSON documents. What is read is counted as it is decompressed, whatever the file says of itself."""

    def __init__(self, file: zipfile.ZipFile, most_bytes: int) -> None:
        self._file = file
        self._left = most_bytes
        self.names = file.namelist()
        if len(self.names) > MOST_MEMBERS:
            raise ImportProblem(f"it has {len(self.names):,} members; at most {MOST_MEMBERS:,} are read")

    @classmethod
    @contextmanager
    def of(cls, path: Path, most_bytes: int = MOST_ZIP_BYTES) -> Iterator[Archive]:
        """Open it. Raises ``ImportProblem``, and ``OSError`` where the file is not there or not to be read."""
        with path.open("rb") as raw:
            try:
                file = zipfile.ZipFile(raw)
            except _UNREADABLE as error:
                raise ImportProblem(f"no whole ZIP file: {printable(str(error))}") from None
            with file:
                yield cls(file, most_bytes)

    def json(self, name: str) -> Any:
        """The document in a member. Raises ``ImportProblem``."""
        where = printable(name)
        most = min(self._left, MOST_JSON_BYTES)
        try:
            with self._file.open(name) as member:
                data = _read(member, most + 1)
        except NotImplementedError:
            raise ImportProblem(
                f"{where}: compressed in a way that is not read here. Convert the log: inspect log convert --to json"
            ) from None
        except (KeyError, *_UNREADABLE) as error:
            raise ImportProblem(f"{where}: cannot be read: {printable(str(error))}") from None
        if len(data) > most:
            raise ImportProblem(f"{where}: it decompresses to more than is read ({most // 2**20} MB)")
        self._left -= len(data)
        return json_of(data, where)


def _read(member: IO[bytes], size: int) -> bytes:
    """``size`` bytes, or as many as there are."""
    data = bytearray()
    while len(data) < size and (more := member.read(min(_STEP, size - len(data)))):
        data += more
    return bytes(data)
