"""Parquet for data frames: typed columns, compressed, written by row groups. Needs pyarrow, which is optional."""

from __future__ import annotations

import importlib.util
import io
import json
from collections.abc import Iterable, Iterator, Sequence

from benchmarks.exports.rows import LISTS, PLAIN_FIELDS, ResultRow, batches, score_column, unscored_column
from benchmarks.extras import how_to_install

MISSING = f"Parquet requires pyarrow, which is not installed. Run `{how_to_install('parquet')}`."
GROUP_ROWS = 5_000
GROUP_CHARACTERS = 8_000_000
"""A row group ends at this number of rows, or of characters, so that memory use stays constant."""

_TYPES = {
    **dict.fromkeys(("score", "duration_ms", "first_token_ms", "tokens_per_second"), "float64"),
    **dict.fromkeys(("cost_usd", "judge_cost_usd", "user_cost_usd"), "float64"),
    **dict.fromkeys(("run", "result", "position", "repeat", "seed", "n_shapes", "attempts"), "int64"),
    **dict.fromkeys(("tokens_in", "tokens_out", "reasoning_tokens", "cached_tokens"), "int64"),
    **dict.fromkeys(("finished_at", "texts_pruned_at"), "timestamp"),
}
"""Type of every field that is not text."""


def has_parquet() -> bool:
    return importlib.util.find_spec("pyarrow") is not None


def parquet_pieces(rows: Iterable[ResultRow], metrics: Sequence[str]) -> Iterator[bytes]:
    """The file in pieces, one per row group. The columns are those of the CSV file and ``LISTS`` as JSON."""
    import pyarrow
    import pyarrow.parquet

    types = {"float64": pyarrow.float64(), "int64": pyarrow.int64(), "timestamp": pyarrow.timestamp("us", tz="UTC")}
    columns = {name: types.get(_TYPES.get(name, ""), pyarrow.string()) for name in (*PLAIN_FIELDS, *LISTS)}
    for metric in metrics:
        columns |= {score_column(metric): pyarrow.float64(), unscored_column(metric): pyarrow.string()}
    schema = pyarrow.schema(list(columns.items()))
    buffer = io.BytesIO()
    with pyarrow.parquet.ParquetWriter(pyarrow.PythonFile(buffer, mode="w"), schema, compression="zstd") as writer:
        for group in batches(rows, _characters, GROUP_CHARACTERS, GROUP_ROWS):
            cells = [_cells(row, metrics) for row in group]
            writer.write_batch(pyarrow.RecordBatch.from_pylist(cells, schema=schema), row_group_size=GROUP_ROWS)
            yield _taken(buffer)
    yield _taken(buffer)  # what closing the writer adds: the footer


def _taken(buffer: io.BytesIO) -> bytes:
    """What was written, and empty the buffer. Arrow counts the offsets of the file itself."""
    data = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return data


def _characters(row: ResultRow) -> int:
    return len(row.input) + len(row.expected_output) + len(row.actual_output or "")


def _cells(row: ResultRow, metrics: Sequence[str]) -> dict[str, object]:
    cells = {name: getattr(row, name) for name in PLAIN_FIELDS}
    lists = {name: value for name in LISTS if (value := getattr(row, name)) is not None}
    cells |= {name: json.dumps(list(value), ensure_ascii=False) for name, value in lists.items()}
    for metric in metrics:
        if score := row.scores.get(metric):
            cells |= {score_column(metric): score.value, unscored_column(metric): score.unscored or None}
    return cells
