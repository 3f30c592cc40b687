"""Read a JSON object whose one long list does not fit into memory: the list item by item, the rest as a whole."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.dataset_format.problems import printable
from benchmarks.imports.runs import ImportProblem

CHUNK = 2**18
"""Bytes that are read at once."""
MAX_VALUE = 256 * 2**20
"""Characters of an item, or of another value of the object."""
MAX_CONTAINERS = 1_000_000
"""Objects and lists of an item, and of all other values together."""
_SPACE = " \t\n\r"


class JsonStream:
    """Text with one JSON object, of which ``read`` returns about as many bytes as it is asked for, none at the end.

    Raises ``ImportProblem`` with the place ``where`` for anything else.
    """

    def __init__(self, read: Callable[[int], bytes], where: str) -> None:
        self._read, self._where = read, where
        self._decode = codecs.getincrementaldecoder("utf-8")()
        self._parse = json.JSONDecoder().raw_decode
        self._text, self._at, self._ended = "", 0, False
        self._kept = 0

    def members(self, streamed: str) -> Iterator[tuple[str, Any]]:
        """Key and value of the object in turn; for ``streamed`` the items of its list, each under that key."""
        self._expect("{")
        if self._next() == "}":
            return
        while True:
            key = self._value()
            self._expect(":")
            if key == streamed and self._next() == "[":
                yield from ((key, item) for item in self._items())
            else:
                yield str(key), self._value(keeps=True)
            if self._next() != ",":
                self._expect("}")
                return
            self._at += 1

    def _items(self) -> Iterator[Any]:
        self._expect("[")
        if self._next() == "]":
            self._at += 1
            return
        while True:
            yield self._value()
            if self._next() != ",":
                self._expect("]")
                return
            self._at += 1

    def _value(self, *, keeps: bool = False) -> Any:
        self._next()
        while True:
            try:
                value, end = self._parse(self._text, self._at)
                # A number at the end of what was read may go on.
                if end < len(self._text) or self._ended:
                    self._kept += self._containers(end) if keeps else 0
                    self._at = end
                    return value
            except ValueError as error:
                if self._ended:
                    raise ImportProblem(f"{self._where}: invalid JSON: {printable(str(error))}") from None
            except RecursionError:
                raise ImportProblem(f"{self._where}: JSON that is nested too deeply") from None
            if len(self._text) - self._at > MAX_VALUE:
                raise ImportProblem(f"{self._where}: a value exceeds the limit of {MAX_VALUE // 2**20} MB")
            # Twice as much each time: what is incomplete is parsed again from its beginning.
            self._fill(max(CHUNK, len(self._text) - self._at))
            # Before it is parsed: an object or list takes many times as much memory as in the file.
            if self._kept + self._containers(len(self._text)) > MAX_CONTAINERS:
                raise ImportProblem(f"{self._where}: more than {MAX_CONTAINERS:,} objects and lists")

    def _containers(self, end: int) -> int:
        """How many the text has from here on: brackets inside texts count as well."""
        return self._text.count("{", self._at, end) + self._text.count("[", self._at, end)

    def _next(self) -> str:
        """The next character that is no space; empty at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text) or self._ended:
                return self._text[self._at : self._at + 1]
            self._fill(CHUNK)

    def _expect(self, sign: str) -> None:
        if (found := self._next()) != sign:
            raise ImportProblem(f"{self._where}: invalid JSON: expected {sign}, found {printable(found) or 'the end'}")
        self._at += 1

    def _fill(self, size: int) -> None:
        data = self._read(size)
        self._ended = not data
        try:
            self._text = self._text[self._at :] + self._decode.decode(data, final=self._ended)
        except UnicodeDecodeError as error:
            raise ImportProblem(f"{self._where}: invalid UTF-8: {printable(error.reason)}") from None
        self._at = 0
