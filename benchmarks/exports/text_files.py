"""CSV for spreadsheets (RFC 4180, UTF-8 with a byte order mark, without formulas) and JSON Lines."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

import orjson

from benchmarks.exports.rows import PLAIN_FIELDS, ResultRow

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
BYTE_ORDER_MARK = "\ufeff"


def csv_pieces(rows: Iterable[ResultRow], metrics: Sequence[str]) -> Iterator[str]:
    """The lines of the file, the head first. Each metric has a column for its value and one for why it has none.

    Tool calls are left out. JSON Lines has them.
    """
    scores = [name for metric in metrics for name in (f"score:{metric}", f"unscored:{metric}")]
    yield BYTE_ORDER_MARK + csv_line([*PLAIN_FIELDS, *scores])
    for row in rows:
        cells: list[object] = [getattr(row, name) for name in PLAIN_FIELDS]
        for metric in metrics:
            score = row.scores.get(metric)
            cells += (score.value, score.unscored) if score else ("", "")
        yield csv_line(cells)


def csv_line(cells: Iterable[object]) -> str:
    """One line. Numbers keep their minus sign: only text can be a formula. ``None`` is an empty cell."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerow([_cell(value) for value in cells])
    return buffer.getvalue()


def defused(text: str) -> str:
    """The text, with an apostrophe before anything that a spreadsheet would execute, also after leading spaces."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) or text.lstrip().startswith(FORMULA_STARTS) else text


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return defused(value)
    return value.isoformat() if hasattr(value, "isoformat") else repr(value)


def jsonl_pieces(rows: Iterable[ResultRow]) -> Iterator[bytes]:
    """One JSON object per line, with every score, reason and tool call. Line breaks inside texts are escaped."""
    for row in rows:
        yield orjson.dumps(asdict(row), option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS)
