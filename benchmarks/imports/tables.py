"""Rows of JSON Lines, JSON, CSV and Parquet files, each with the line it begins on."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.dataset_format.problems import printable, quoted
from benchmarks.exports import parquet_file
from benchmarks.imports import reading
from benchmarks.imports.runs import ImportProblem

LONGEST_LINE = 10_000_000
"""Bytes; as much as a whole dataset file may have."""
_ENDINGS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "csv", ".json": "json", ".parquet": "parquet"}
_DELIMITERS = ",;\t|"


class Row(NamedTuple):
    """``line`` is counted from 1; in JSON lists and Parquet, which have no lines, it is the row's number.

    ``problem`` says why this row cannot be read, while those behind it can.
    """

    line: int
    values: Mapping[str, Any]
    problem: str = ""


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a file, as its name ends. Raises ``ImportProblem`` with the line, and ``OSError``."""
    form = _ENDINGS.get(path.suffix.lower())
    if form is None:
        raise ImportProblem(f"a name that ends in {', '.join(_ENDINGS)} tells what the file is")
    if form == "parquet":
        return _parquet_rows(path)
    if form == "json":
        return _json_rows(path)
    return _csv_rows(path) if form == "csv" else _jsonl_rows(path)


def _jsonl_rows(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), 1):
            if len(line) > LONGEST_LINE:
                raise ImportProblem(f"line {number}: longer than {LONGEST_LINE // 1_000_000} MB")
            if line.strip():
                yield _json_line(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line, number)


def _json_line(line: bytes, number: int) -> Row:
    try:
        value = json.loads(line.rstrip(b"\r\n"))
    except json.JSONDecodeError as error:
        return Row(number, {}, f"column {error.colno}: no JSON: {error.msg}")
    except (ValueError, RecursionError) as error:
        return Row(number, {}, f"no JSON that can be read: {printable(str(error))}")
    return _row(number, value)


def _row(number: int, value: Any) -> Row:
    if isinstance(value, dict):
        return Row(number, value)
    return Row(number, {}, "an object with the columns as its keys is wanted")


def _json_rows(path: Path) -> Iterator[Row]:
    """A list of objects; or such a list under ``rows`` or ``data``, each perhaps wrapped in ``row``, as the data set
    viewer of Hugging Face answers."""
    document = reading.json_file(path, "the file")
    if isinstance(document, dict):
        document = next((document[name] for name in ("rows", "data") if isinstance(document.get(name), list)), None)
    for number, value in enumerate(reading.sequence(document, "the file"), 1):
        inner = value.get("row") if isinstance(value, dict) else None
        yield _row(number, inner if isinstance(inner, dict) else value)


def _csv_rows(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        first = file.readline(LONGEST_LINE) if _is_text(path) else ""
        file.seek(0)
        csv.field_size_limit(LONGEST_LINE)
        delimiter = max(_DELIMITERS, key=first.count) if any(sign in first for sign in _DELIMITERS) else ","
        reader = csv.reader(_lines_of(file), delimiter=delimiter, strict=True)
        try:
            yield from _csv_cells(reader)
        except csv.Error as error:
            raise ImportProblem(f"line {reader.line_num}: no CSV: {error}") from None
        except UnicodeDecodeError as error:
            raise ImportProblem(
                f"line {reader.line_num + 1}: no UTF-8 text: save the file as UTF-8 ({error.reason})"
            ) from None


def _is_text(path: Path) -> bool:
    """Whether the first line can be read at all; that of another encoding is told by the reader, with its line."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            file.readline(LONGEST_LINE)
    except UnicodeDecodeError:
        return False
    return True


def _lines_of(file: io.TextIOWrapper) -> Iterator[str]:
    while line := file.readline(LONGEST_LINE):
        yield line


def _csv_cells(reader: Any) -> Iterator[Row]:
    head = [name.strip() for name in next(reader, [])]
    if not any(head):
        raise ImportProblem("line 1: the names of the columns are wanted here")
    if twice := sorted({name for name in head if head.count(name) > 1}):
        raise ImportProblem(f"line 1: the column {quoted(twice[0])} is there twice")
    begin = reader.line_num + 1
    for cells in reader:
        if len(cells) > len(head):
            yield Row(begin, {}, f"{len(cells)} cells, and the head names {len(head)} columns")
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
            yield from _numbered(file.iter_batches(batch_size=500))
    except (pyarrow.ArrowException, ValueError, UnicodeDecodeError) as error:
        raise ImportProblem(f"no Parquet file that can be read: {printable(str(error))}") from None


def _numbered(batches: Iterable[Any]) -> Iterator[Row]:
    number = 0
    for batch in batches:
        for values in batch.to_pylist():
            number += 1
            yield Row(number, values)
