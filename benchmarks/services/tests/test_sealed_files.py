"""Encrypted files give back what was written, at any place, and nothing of one that was changed."""

from __future__ import annotations

import io
import random
import zipfile

import pytest

from benchmarks.services.operations import sealed_files
from benchmarks.services.operations.sealed_files import SealedReader, SealedWriter, WrongKey, is_sealed

KEY = "correct horse battery"


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed_files, "CHUNK", 64)


def sealed(content: bytes) -> bytes:
    file = io.BytesIO()
    with SealedWriter(file, KEY) as writer:
        for begin in range(0, len(content), 50):
            writer.write(content[begin : begin + 50])
    return file.getvalue()


def reading(written: bytes) -> io.BufferedReader:
    return io.BufferedReader(SealedReader(io.BytesIO(written), KEY))


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 128, 1_000])
def test_every_length_is_read_as_it_was_written(size: int) -> None:
    content = random.Random(size).randbytes(size)
    written = sealed(content)
    assert is_sealed(io.BytesIO(written))
    assert size < 8 or content not in written
    assert reading(written).read() == content


def test_any_place_can_be_read() -> None:
    content = random.Random(1).randbytes(1_000)
    reader = reading(sealed(content))
    for place in (999, 0, 64, 63, 500, 128):
        reader.seek(place)
        assert reader.read(70) == content[place : place + 70]
    assert reader.seek(-10, io.SEEK_END) == 990
    assert reader.read() == content[990:]


def test_a_zip_file_is_written_as_a_stream_and_read() -> None:
    file = io.BytesIO()
    with SealedWriter(file, KEY) as writer, zipfile.ZipFile(writer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", "x" * 1_000)
        archive.writestr("b.txt", "y")
    with zipfile.ZipFile(reading(file.getvalue())) as archive:
        assert archive.read("a.txt") == b"x" * 1_000
        assert archive.namelist() == ["a.txt", "b.txt"]


def test_the_same_content_is_never_written_twice_the_same() -> None:
    assert sealed(b"x" * 100) != sealed(b"x" * 100)


def changes() -> dict[str, bytes]:
    """A file of four chunks, changed in different ways."""
    whole, head, piece = sealed(bytes(range(200))), 35, 64 + 16
    chunks = [whole[head + n * piece : head + (n + 1) * piece] for n in range(4)]
    return {
        "a bit": whole[:100] + bytes([whole[100] ^ 1]) + whole[101:],
        "the salt": whole[:20] + bytes([whole[20] ^ 1]) + whole[21:],
        "the last chunk is missing": whole[:head] + b"".join(chunks[:3]),
        "the end is missing": whole[:-5],
        "two chunks are exchanged": whole[:head] + b"".join((chunks[1], chunks[0], *chunks[2:])),
        "nothing is left": whole[:head],
    }


@pytest.mark.parametrize(
    "change",
    [
        "a bit",
        "the salt",
        "the last chunk is missing",
        "the end is missing",
        "two chunks are exchanged",
        "nothing is left",
    ],
)
def test_a_changed_file_is_not_read(change: str) -> None:
    with pytest.raises(WrongKey):
        reading(changes()[change]).read()


def test_another_key_reads_nothing() -> None:
    with pytest.raises(WrongKey):
        SealedReader(io.BytesIO(sealed(b"x")), KEY + "s")
