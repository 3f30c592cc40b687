"""Tables of questions and answers as datasets.

The command takes them over as YAML files in the datasets directory, which can be read, corrected and kept under version
control like every other dataset; the admin as uploaded datasets.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.dataset_format import Problem, display_name, dump_dataset, limits, name_problem
from benchmarks.imports.runs import ImportProblem
from benchmarks.imports.table_tasks import Columns, TableReport, dataset_of_rows
from benchmarks.imports.tables import read_rows
from benchmarks.services.errors import NotPossible


@dataclass(frozen=True, slots=True)
class ImportedTable:
    """The file that was written and how many tasks it has; or the mistakes of the table, and nothing written."""

    columns: Columns
    file: Path
    tasks: int
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class TableRequest:
    """``columns`` names columns by use (``table_tasks.KNOWN``); what it does not name is guessed."""

    slug: str
    name: str
    description: str
    columns: Mapping[str, str | None]
    answer_after: str = ""
    limit: int | None = None
    replace: bool = False


def import_table(path: Path, directory: Path, asked: TableRequest) -> ImportedTable:
    """Write ``directory/SLUG.yaml`` with a task for each row of a table, whole or not at all.

    Raises ``NotPossible`` for a table that cannot be read, and where there is a file of that name and ``replace`` is
    not asked for.
    """
    target = directory / f"{asked.slug}.yaml"
    _check_target(target, directory, asked.replace)
    report = read_table(path, display_name(path, path.parent), asked)
    if report.spec is None:
        return ImportedTable(report.columns, target, 0, report.problems)
    content = dump_dataset(report.spec).encode()
    if len(content) >= limits.MAX_BYTES:
        raise NotPossible(
            f"The dataset would have {len(content) / 1e6:.0f} MB, and at most {limits.MAX_BYTES / 1e6:.0f} are read. "
            "Take fewer rows with --limit."
        )
    _write(target, content)
    return ImportedTable(report.columns, target, len(report.spec.tasks), ())


def read_table(path: Path, shown: str, asked: TableRequest) -> TableReport:
    """The dataset in a table that is called ``shown``, or its mistakes. Raises ``NotPossible`` if it cannot be read."""
    try:
        return dataset_of_rows(
            read_rows(path),
            shown,
            name=asked.name,
            description=asked.description,
            given=asked.columns,
            answer_after=asked.answer_after,
            limit=asked.limit,
        )
    except ImportProblem as problem:
        raise NotPossible(f"{shown}: {problem}.") from None
    except OSError as error:
        raise NotPossible(f"{shown} cannot be read: {error.strerror}.") from None


def _check_target(target: Path, directory: Path, replace: bool) -> None:
    problem = name_problem(target, directory)
    if problem is not None or target.parent != directory:
        raise NotPossible("--slug: use 1 to 100 letters, digits, _ or -; it is the name of the YAML file.")
    other = target.with_suffix(".yml")
    if other.exists():
        raise NotPossible(f"{other} already is the dataset {target.stem}: choose another slug.")
    if target.exists() and not replace:
        raise NotPossible(f"{target} is there already. Choose another slug, or say --replace.")


def _write(target: Path, content: bytes) -> None:
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.unfinished")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(target)
    except OSError as error:
        raise NotPossible(f"{target} cannot be written: {error.strerror}.") from None
    finally:
        unfinished.unlink(missing_ok=True)
