"""Parquet for data frames: typed columns, compressed, a row group after the other. Needs pyarrow, which is optional."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from benchmarks.exports.rows import PLAIN_FIELDS, ResultRow

INSTALL = "pip install --require-hashes -r requirements-parquet.txt"
MISSING = f"Parquet needs pyarrow, which is not installed. Install it with: {INSTALL}"
GROUP_ROWS = 5_000
GROUP_CHARACTERS = 8_000_000
"""A row group ends after so many rows, or so much text, so that memory does not grow with either."""

_NUMBERS = frozenset({"duration_ms", "cost_usd", "judge_cost_usd"})
_COUNTS = frozenset({"run", "result", "position", "repeat", "n_shapes", "tokens_in", "tokens_out", "attempts"})
_TIMES = frozenset({"finished_at", "texts_pruned_at"})


def has_parquet() -> bool:
    return importlib.util.find_spec("pyarrow") is not None


def parquet_pieces(rows: Iterable[ResultRow], metrics: Sequence[str]) -> Iterator[bytes]:
    """The file in pieces, one for each row group. Columns are those of the CSV file, and ``tool_calls`` as JSON."""
    import pyarrow
    import pyarrow.parquet

    types = {name: _type(name, pyarrow) for name in PLAIN_FIELDS}
    types |= {"tool_calls": pyarrow.string()}
    for metric in metrics:
        types |= {f"score:{metric}": pyarrow.float64(), f"unscored:{metric}": pyarrow.string()}
    schema = pyarrow.schema(list(types.items()))
    sink = _Sink()
    with pyarrow.parquet.ParquetWriter(pyarrow.PythonFile(sink, mode="w"), schema, compression="zstd") as writer:
        for group in _groups(rows):
            written = [_cells(row, metrics) for row in group]
            writer.write_batch(pyarrow.RecordBatch.from_pylist(written, schema=schema), row_group_size=GROUP_ROWS)
            yield sink.taken()
    yield sink.taken()


class _Sink:
    """What the writer has written since it was last taken."""

    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, piece: Any) -> int:
        self._pieces.append(bytes(piece))
        return len(self._pieces[-1])

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        self.closed = True

    def taken(self) -> bytes:
        taken = b"".join(self._pieces)
        self._pieces.clear()
        return taken


def _type(name: str, pyarrow: Any) -> Any:
    if name in _NUMBERS:
        return pyarrow.float64()
    if name in _COUNTS:
        return pyarrow.int64()
    return pyarrow.timestamp("us", tz="UTC") if name in _TIMES else pyarrow.string()


def _groups(rows: Iterable[ResultRow]) -> Iterator[list[ResultRow]]:
    group: list[ResultRow] = []
    size = 0
    for row in rows:
        group.append(row)
        size += len(row.input) + len(row.expected_output) + len(row.actual_output or "")
        if len(group) >= GROUP_ROWS or size >= GROUP_CHARACTERS:
            yield group
            group, size = [], 0
    if group:
        yield group


def _cells(row: ResultRow, metrics: Sequence[str]) -> dict[str, Any]:
    cells = {name: getattr(row, name) for name in PLAIN_FIELDS}
    cells["tool_calls"] = json.dumps(list(row.tool_calls), ensure_ascii=False)
    for metric in metrics:
        score = row.scores.get(metric)
        if score is not None:
            why = f"{score.status}: {score.reason}" if score.reason else score.status
            cells |= {f"score:{metric}": score.value, f"unscored:{metric}": None if score.value is not None else why}
    return cells
