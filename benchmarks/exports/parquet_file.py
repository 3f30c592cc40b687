"""Parquet for data frames: typed columns, compressed, written by row groups. Needs pyarrow, which is optional."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from benchmarks.exports.rows import PLAIN_FIELDS, ResultRow

MISSING = (
    "Parquet requires pyarrow, which is not installed. Run `pip install --require-hashes -r requirements-parquet.txt`."
)
GROUP_ROWS = 5_000
GROUP_CHARACTERS = 8_000_000
"""A row group ends at this number of rows, or of characters, so that memory use stays constant."""

_TYPES = {
    **dict.fromkeys(("duration_ms", "cost_usd", "judge_cost_usd"), "float64"),
    **dict.fromkeys(
        ("run", "result", "position", "repeat", "n_shapes", "tokens_in", "tokens_out", "attempts"), "int64"
    ),
    **dict.fromkeys(("finished_at", "texts_pruned_at"), "timestamp"),
}
"""Type of every field that is not text."""


def has_parquet() -> bool:
    return importlib.util.find_spec("pyarrow") is not None


def parquet_pieces(rows: Iterable[ResultRow], metrics: Sequence[str]) -> Iterator[bytes]:
    """The file in pieces, one per row group. The columns are those of the CSV file and ``tool_calls`` as JSON."""
    import pyarrow
    import pyarrow.parquet

    types = {"float64": pyarrow.float64(), "int64": pyarrow.int64(), "timestamp": pyarrow.timestamp("us", tz="UTC")}
    columns = {name: types.get(_TYPES.get(name, ""), pyarrow.string()) for name in (*PLAIN_FIELDS, "tool_calls")}
    for metric in metrics:
        columns |= {f"score:{metric}": pyarrow.float64(), f"unscored:{metric}": pyarrow.string()}
    schema = pyarrow.schema(list(columns.items()))
    sink = _Sink()
    with pyarrow.parquet.ParquetWriter(pyarrow.PythonFile(sink, mode="w"), schema, compression="zstd") as writer:
        for group in _groups(rows):
            cells = [_cells(row, metrics) for row in group]
            writer.write_batch(pyarrow.RecordBatch.from_pylist(cells, schema=schema), row_group_size=GROUP_ROWS)
            yield sink.take()
    yield sink.take()  # what closing the writer adds: the footer


class _Sink:
    """A file object that keeps what was written until it is taken."""

    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, piece: Any) -> int:
        self._pieces.append(bytes(piece))
        return len(self._pieces[-1])

    def flush(self) -> None:
        """Required by pyarrow. Nothing is buffered elsewhere."""

    def close(self) -> None:
        self.closed = True

    def take(self) -> bytes:
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data


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
        if score := row.scores.get(metric):
            cells |= {f"score:{metric}": score.value, f"unscored:{metric}": score.unscored or None}
    return cells
