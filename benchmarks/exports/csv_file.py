"""CSV for spreadsheets: RFC 4180, UTF-8 with a mark that says so, and no cell that one would take for a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from benchmarks.exports.rows import PLAIN_FIELDS, ResultRow

FORMULA_BEGINNINGS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
BYTE_ORDER_MARK = "\ufeff"


def csv_pieces(rows: Iterable[ResultRow], metrics: Sequence[str]) -> Iterator[str]:
    """The file's lines, its head first. Each metric has a column for its value and one for why it has none.

    Tool calls are left out: a cell is no place for them, and JSON Lines has them.
    """
    scores = [name for metric in metrics for name in (f"score:{metric}", f"unscored:{metric}")]
    yield BYTE_ORDER_MARK + csv_line([*PLAIN_FIELDS, *scores])
    for row in rows:
        plain = [csv_cell(getattr(row, name)) for name in PLAIN_FIELDS]
        yield csv_line([*plain, *(cell for metric in metrics for cell in _score_cells(row, metric))])


def defused(text: str) -> str:
    """``text`` with an apostrophe before what a spreadsheet would run. Leading spaces do not hide a formula."""
    return f"'{text}" if text.startswith(FORMULA_BEGINNINGS) or text.lstrip().startswith(FORMULA_BEGINNINGS) else text


def _score_cells(row: ResultRow, metric: str) -> tuple[str, str]:
    score = row.scores.get(metric)
    if score is None:
        return "", ""
    if score.value is None:
        return "", defused(f"{score.status}: {score.reason}" if score.reason else score.status)
    return repr(score.value), ""


def csv_cell(value: object) -> str:
    """Numbers are written as they are, a minus sign included: only text can be a formula."""
    if value is None:
        return ""
    if isinstance(value, str):
        return defused(value)
    return value.isoformat() if hasattr(value, "isoformat") else repr(value)


def csv_line(cells: Sequence[str]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerow(cells)
    return buffer.getvalue()
