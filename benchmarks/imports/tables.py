"""Rows of JSON Lines, JSON, CSV and Parquet files, each with the line it starts on."""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.dataset_format.problems import printable, quoted
from benchmarks.exports import parquet_file
from benchmarks.imports import reading
from benchmarks.imports.parts import shown
from benchmarks.imports.reading import MAX_LINE
from benchmarks.imports.runs import ImportProblem

MAX_UNPACKED = 1_000_000_000
"""Bytes of the columns of a Parquet file, by its own account."""
_DELIMITERS = ",;\t|"


class Row(NamedTuple):
    """``line`` is counted from 1; in JSON lists and Parquet files it is the number of the row.

    ``problem`` says why this row cannot be read. Later rows may be valid. ``task`` has fields of the task that no
    column of a table gives, such as ``messages``.
    """

    line: int
    values: Mapping[str, Any]
    problem: str = ""
    task: Mapping[str, object] = {}


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a file, by its extension. Raises ``ImportProblem`` with the line, and ``OSError``."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise ImportProblem(f"unknown extension; valid extensions: {', '.join(_READERS)}")
    return reader(path)


def jsonl_rows(path: Path) -> Iterator[Row]:
    """The objects of a file with one in each line. Raises ``ImportProblem`` with the line, and ``OSError``."""
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(MAX_LINE + 1), b""), 1):
            if len(line) > MAX_LINE:
                raise ImportProblem(f"line {number}: exceeds the limit of {MAX_LINE // 1_000_000} MB")
            if line.strip():
                yield _json_line(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line, number)


def _json_line(line: bytes, number: int) -> Row:
    if reading.containers_in(line) > reading.MAX_CONTAINERS:
        return Row(number, {}, f"more than {reading.MAX_CONTAINERS:,} objects and lists")
    try:
        value = json.loads(line.rstrip(b"\r\n"))
    except json.JSONDecodeError as error:
        return Row(number, {}, f"column {error.colno}: invalid JSON: {error.msg}")
    except (ValueError, RecursionError) as error:
        return Row(number, {}, f"JSON that cannot be read: {printable(str(error))}")
    return _row(number, value)


def _row(number: int, value: Any) -> Row:
    if isinstance(value, dict):
        return Row(number, value)
    return Row(number, {}, "expected an object with the columns as its keys")


def _json_rows(path: Path) -> Iterator[Row]:
    """A list of objects, or such a list at ``rows`` or ``data``. Each may be wrapped in ``row``, as in the responses of
    Hugging Face's dataset viewer. A file of JSON Lines may have this extension too, as those of BFCL."""
    if _is_json_lines(path):
        yield from jsonl_rows(path)
        return
    document = reading.json_file(path, "the file")
    if isinstance(document, dict) and "resourceSpans" in document:
        document = [document]
    if isinstance(document, dict):
        document = next((document[name] for name in ("rows", "data") if isinstance(document.get(name), list)), None)
    if not isinstance(document, list):
        raise ImportProblem(f"the file: expected a list, found {shown(document)}")
    for number, value in enumerate(document, 1):
        inner = value.get("row") if isinstance(value, dict) else None
        yield _row(number, inner if isinstance(inner, dict) else value)


def _is_json_lines(path: Path) -> bool:
    """Whether the first two lines are an object each."""
    with path.open("rb") as file:
        first, second = (file.readline(MAX_LINE).strip() for _ in range(2))
    return all(line.startswith(b"{") and not _json_line(line, 1).problem for line in (first, second))


def _csv_rows(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            first = file.readline(MAX_LINE)
        except UnicodeDecodeError:
            first = ""  # the reader below reports it with its line
        file.seek(0)
        csv.field_size_limit(MAX_LINE)
        delimiter = max(_DELIMITERS, key=first.count) if any(sign in first for sign in _DELIMITERS) else ","
        reader = csv.reader(iter(lambda: file.readline(MAX_LINE), ""), delimiter=delimiter, strict=True)
        try:
            yield from _csv_cells(reader)
        except csv.Error as error:
            raise ImportProblem(f"line {reader.line_num}: invalid CSV: {error}") from None
        except UnicodeDecodeError as error:
            message = f"line {reader.line_num + 1}: invalid UTF-8 ({error.reason}): save the file as UTF-8"
            raise ImportProblem(message) from None


def _csv_cells(reader: Any) -> Iterator[Row]:
    head = [name.strip() for name in next(reader, [])]
    if not any(head):
        raise ImportProblem("line 1: expected the names of the columns")
    if twice := sorted({name for name in head if head.count(name) > 1}):
        raise ImportProblem(f"line 1: the column {quoted(twice[0])} occurs twice")
    begin = reader.line_num + 1
    for cells in reader:
        if len(cells) > len(head):
            yield Row(begin, {}, f"{len(cells)} cells, but the header has {len(head)} columns")
        elif any(cells):
            yield Row(begin, dict(zip(head, cells, strict=False)))
        begin = reader.line_num + 1


def _parquet_rows(path: Path) -> Iterator[Row]:
    if not parquet_file.has_parquet():
        raise ImportProblem(parquet_file.MISSING)
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            groups = (file.metadata.row_group(number) for number in range(file.num_row_groups))
            if (size := sum(group.total_byte_size for group in groups)) > MAX_UNPACKED:
                raise ImportProblem(f"{size / 1e6:,.0f} MB unpacked; the limit is {MAX_UNPACKED // 1_000_000} MB")
            batches = file.iter_batches(batch_size=100)
            rows = itertools.chain.from_iterable(batch.to_pylist() for batch in batches)
            yield from (Row(number, values) for number, values in enumerate(rows, 1))
    except (pyarrow.ArrowException, ValueError, UnicodeDecodeError) as error:
        raise ImportProblem(f"invalid Parquet file: {printable(str(error))}") from None


_READERS = {
    ".jsonl": jsonl_rows,
    ".ndjson": jsonl_rows,
    ".csv": _csv_rows,
    ".tsv": _csv_rows,
    ".json": _json_rows,
    ".parquet": _parquet_rows,
}
EXTENSIONS = tuple(_READERS)
