"""JSON Lines: one result a line, with every score, reason and tool call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict

import orjson

from benchmarks.exports.rows import ResultRow


def jsonl_pieces(rows: Iterable[ResultRow]) -> Iterator[bytes]:
    """The file's lines. A line break inside a text is escaped, so that each line is one whole JSON object."""
    for row in rows:
        yield orjson.dumps(asdict(row), option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS)
