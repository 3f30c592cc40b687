"""The random source of canvases: numbers from a hash of a key, the same on every machine and in every Python."""

from __future__ import annotations

import random
from collections.abc import Iterator
from hashlib import blake2b
from itertools import count
from struct import Struct
from typing import Any, NoReturn

_eight_words = Struct("<8Q").unpack


class KeyedRandom(random.Random):
    """`random.Random` whose numbers come from a key alone.

    The key's stream is that of BLAKE2b over "key/0", "key/1", …: eight 64-bit words each, little-endian, of which the
    upper 53 bits make a number in [0, 1). Beginning one costs a fifth of seeding a Mersenne twister, and a canvas
    begins one for each task class. All other methods draw from `random()`.
    """

    def __init__(self, key: str) -> None:
        self.seed(key)

    def seed(self, a: Any = None, version: int = 2) -> None:
        """Begin the stream of the key `a`."""
        self.gauss_next = None
        self.random = _numbers(str(a).encode()).__next__  # type: ignore[method-assign]  # saves a call for each number

    def getrandbits(self, k: int, /) -> int:
        """Return `k` random bits, 32 of a number at a time."""
        if k < 0:
            raise ValueError("number of bits must be non-negative")
        bits = 0
        for _ in range(0, k, 32):
            bits = bits << 32 | int(self.random() * 2**32)
        return bits >> -k % 32

    def getstate(self) -> NoReturn:
        raise NotImplementedError("A keyed source has no state to be kept: begin its key's stream again.")

    def setstate(self, state: Any) -> NoReturn:
        raise NotImplementedError("A keyed source has no state to be set: begin its key's stream again.")


def _numbers(key: bytes) -> Iterator[float]:
    for block in count():
        for word in _eight_words(blake2b(b"%b/%d" % (key, block)).digest()):
            yield (word >> 11) * 2.0**-53
