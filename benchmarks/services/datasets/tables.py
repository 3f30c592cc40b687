"""Import tables of questions and answers as datasets.

The command writes YAML files to the datasets directory, so that they can be read, corrected and version-controlled like
every other dataset. The admin stores uploaded datasets.
"""

from __future__ import annotations

import os
from pathlib import Path

from django.conf import settings

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.dumping import dump_dataset
from benchmarks.dataset_format.files import SLUG, SLUG_RULE, display_name
from benchmarks.dataset_format.spec import DatasetSpec
from benchmarks.imports.pictures import Pictures
from benchmarks.imports.runs import ImportProblem
from benchmarks.imports.table_tasks import TableReport, TableRequest, dataset_of_rows
from benchmarks.imports.tables import read_rows
from benchmarks.imports.tool_rows import of_tools
from benchmarks.providers.clean_text import full_sentence
from benchmarks.services.errors import NotPossible


def import_table(
    path: Path, directory: Path, slug: str, request: TableRequest, *, replace: bool = False
) -> tuple[Path, TableReport]:
    """Write ``directory/SLUG.yaml`` with a task for each row of a table, or nothing if the table has problems or if it
    is only previewed.

    Raises ``NotPossible`` if the table cannot be read, or if the file exists and ``replace`` is not set.
    """
    target = free_target(directory, slug, replace=replace)
    report = read_table(path, display_name(path, path.parent), request)
    if report.spec is not None and not request.pictures.preview:
        write_dataset(target, report.spec)
    return target, report


def free_target(directory: Path, slug: str, *, replace: bool) -> Path:
    """The YAML file of a new dataset. Raises ``NotPossible`` if it exists and ``replace`` is not set."""
    if not SLUG.fullmatch(slug):
        raise NotPossible(f"--slug: {SLUG_RULE}. It is the name of the YAML file.")
    target = directory / f"{slug}.yaml"
    other = target.with_suffix(".yml")
    if other.exists():
        raise NotPossible(f"{other} already defines the dataset {slug}. Choose another slug.")
    if target.exists() and not replace:
        raise NotPossible(f"{target} already exists. Choose another slug, or use --replace.")
    return target


def write_dataset(target: Path, spec: DatasetSpec) -> None:
    """Write the YAML file so that a reader sees the old file or the new one. Raises ``NotPossible``."""
    content = dump_dataset(spec).encode()
    if len(content) >= limits.MAX_BYTES:
        raise NotPossible(
            f"The dataset would have {len(content) / 1e6:.0f} MB; the limit is {limits.MAX_BYTES / 1e6:.0f} MB. "
            "Import fewer rows with --limit."
        )
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.unfinished")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(target)
    except OSError as error:
        raise NotPossible(f"Cannot write {target}: {error.strerror}.") from None
    finally:
        unfinished.unlink(missing_ok=True)


def read_table(path: Path, shown: str, request: TableRequest) -> TableReport:
    """The dataset in a table, or its problems. ``shown`` is the table's name in messages. Raises ``NotPossible``."""
    try:
        return dataset_of_rows(of_tools(read_rows(path)), shown, request)
    except ImportProblem as problem:
        raise NotPossible(f"{shown}: {full_sentence(problem)}") from None
    except OSError as error:
        raise NotPossible(f"Cannot read {shown}: {error.strerror}.") from None


def pictures_of(folder: Path | None, *, preview: bool = False, total_s: float = 300.0) -> Pictures:
    """Where the pictures of a table come from: files below ``folder``, and what the outbound rules permit."""
    return Pictures(folder, preview, total_s, settings.OUTBOUND)
