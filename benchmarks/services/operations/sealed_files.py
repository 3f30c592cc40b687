"""Encrypted files that are written once as a stream and read at any place: AES-256-GCM in chunks.

The key is derived from a text by scrypt, with a salt of the file. The nonce of a chunk is its number, with a mark on
the last one, so chunks that are changed, moved, missing or cut off are found (the STREAM construction of Hoang,
Reyhanitabar, Rogaway and Vizár, 2015). Nothing is written in clear.
"""

from __future__ import annotations

import io
import os
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MAGIC = b"codeforge-sealed-1\n"
SALT_BYTES = 16
CHUNK = 2**20
TAG = 16
_HEAD = len(MAGIC) + SALT_BYTES


class WrongKey(Exception):
    """The key is another one, or the file was changed or cut off."""

    def __str__(self) -> str:
        return "it was changed, cut off, or encrypted with another key"


class SealedWriter(io.RawIOBase):
    """Encrypts what is written into a binary file, which stays open when this is closed."""

    def __init__(self, file: IO[bytes], key: str) -> None:
        salt = os.urandom(SALT_BYTES)
        self._file, self._cipher, self._chunks, self._rest = file, _cipher(key, salt), 0, bytearray()
        file.write(MAGIC + salt)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._rest += memoryview(data)
        # The last chunk is only known at the end, so a full one waits for what follows.
        while len(self._rest) > CHUNK:
            self._seal(bytes(self._rest[:CHUNK]), last=False)
            del self._rest[:CHUNK]
        return memoryview(data).nbytes

    def close(self) -> None:
        if not self.closed:
            self._seal(bytes(self._rest), last=True)
        super().close()

    def _seal(self, chunk: bytes, *, last: bool) -> None:
        self._file.write(self._cipher.encrypt(_nonce(self._chunks, last=last), chunk, None))
        self._chunks += 1


class SealedReader(io.RawIOBase):
    """The content of a sealed file, for a ``BufferedReader``. Raises ``WrongKey``, at first and for each chunk."""

    def __init__(self, file: IO[bytes], key: str) -> None:
        size = file.seek(0, io.SEEK_END) - _HEAD
        file.seek(0)
        salt = file.read(_HEAD)[len(MAGIC) :]
        self._file, self._cipher = file, _cipher(key, salt)
        self._chunks = max(-(-size // (CHUNK + TAG)), 1)
        self._size, self._position = size - self._chunks * TAG, 0
        self._held: tuple[int, bytes] = (-1, b"")
        self._chunk(self._chunks - 1)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._position = max(offset + (0, self._position, self._size)[whence], 0)
        return self._position

    def readinto(self, buffer: Any) -> int:
        number, begin = divmod(self._position, CHUNK)
        if self._position >= self._size:
            return 0
        target = memoryview(buffer).cast("B")
        piece = self._chunk(number)[begin : begin + len(target)]
        target[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)

    def _chunk(self, number: int) -> bytes:
        from cryptography.exceptions import InvalidTag

        if self._held[0] != number:
            self._file.seek(_HEAD + number * (CHUNK + TAG))
            sealed = self._file.read(CHUNK + TAG)
            try:
                opened = self._cipher.decrypt(_nonce(number, last=number == self._chunks - 1), sealed, None)
            except InvalidTag:
                raise WrongKey from None
            self._held = (number, opened)
        return self._held[1]


def is_sealed(file: IO[bytes]) -> bool:
    """Whether the file, which is read from its beginning and left there, is a sealed one."""
    file.seek(0)
    head = file.read(_HEAD)
    file.seek(0)
    return len(head) == _HEAD and head.startswith(MAGIC)


def _cipher(key: str, salt: bytes) -> AESGCM:
    """``cryptography`` is imported here, because most processes never need it."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    return AESGCM(Scrypt(salt=salt, length=32, n=2**15, r=8, p=1).derive(key.encode()))


def _nonce(number: int, *, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([last])
