"""Import tables of questions and answers as datasets.

The command writes YAML files to the datasets directory, so that they can be read, corrected and version-controlled like
every other dataset. The admin stores uploaded datasets.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.dumping import dump_dataset
from benchmarks.dataset_format.files import display_name, name_problem
from benchmarks.dataset_format.problems import Problem
from benchmarks.imports.runs import ImportProblem
from benchmarks.imports.table_tasks import Columns, TableReport, dataset_of_rows
from benchmarks.imports.tables import read_rows
from benchmarks.services.errors import NotPossible


@dataclass(frozen=True, slots=True)
class ImportedTable:
    """The file and how many tasks it has; or the table's problems, and no file written."""

    columns: Columns
    file: Path
    tasks: int
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class TableRequest:
    """``columns`` has names of columns by use (``table_tasks.KNOWN``); missing ones are guessed."""

    slug: str
    name: str
    description: str
    columns: Mapping[str, str | None]
    answer_after: str = ""
    limit: int | None = None
    replace: bool = False


def import_table(path: Path, directory: Path, request: TableRequest) -> ImportedTable:
    """Write ``directory/SLUG.yaml`` with a task for each row of a table, completely or not at all.

    Raises ``NotPossible`` if the table cannot be read, or if the file exists and ``replace`` is not set.
    """
    target = directory / f"{request.slug}.yaml"
    _check_target(target, directory, request.replace)
    report = read_table(path, display_name(path, path.parent), request)
    if report.spec is None:
        return ImportedTable(report.columns, target, 0, report.problems)
    content = dump_dataset(report.spec).encode()
    if len(content) >= limits.MAX_BYTES:
        raise NotPossible(
            f"The dataset would have {len(content) / 1e6:.0f} MB; the limit is {limits.MAX_BYTES / 1e6:.0f} MB. "
            "Import fewer rows with --limit."
        )
    _write(target, content)
    return ImportedTable(report.columns, target, len(report.spec.tasks), ())


def read_table(path: Path, shown: str, request: TableRequest) -> TableReport:
    """The dataset in a table, or its problems. ``shown`` is the table's name in messages. Raises ``NotPossible``."""
    try:
        return dataset_of_rows(
            read_rows(path),
            shown,
            name=request.name,
            description=request.description,
            given=request.columns,
            answer_after=request.answer_after,
            limit=request.limit,
        )
    except ImportProblem as problem:
        raise NotPossible(f"{shown}: {problem}.") from None
    except OSError as error:
        raise NotPossible(f"Cannot read {shown}: {error.strerror}.") from None


def _check_target(target: Path, directory: Path, replace: bool) -> None:
    problem = name_problem(target, directory)
    if problem is not None or target.parent != directory:
        raise NotPossible("--slug: use 1 to 100 letters, digits, _ or -. It is the name of the YAML file.")
    other = target.with_suffix(".yml")
    if other.exists():
        raise NotPossible(f"{other} already defines the dataset {target.stem}. Choose another slug.")
    if target.exists() and not replace:
        raise NotPossible(f"{target} already exists. Choose another slug, or use --replace.")


def _write(target: Path, content: bytes) -> None:
    # A reader sees the old file or the new one, never a part.
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.unfinished")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(target)
    except OSError as error:
        raise NotPossible(f"Cannot write {target}: {error.strerror}.") from None
    finally:
        unfinished.unlink(missing_ok=True)
