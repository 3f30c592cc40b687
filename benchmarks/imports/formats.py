"""Which tool a file is of, and the runs in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.dataset_format.problems import printable
from benchmarks.imports import inspect_log, promptfoo, reading
from benchmarks.imports.archive import MOST_ZIP_BYTES, is_archive
from benchmarks.imports.runs import ExternalRun, ImportProblem

FORMATS = (inspect_log.FORMAT, promptfoo.FORMAT)


def read_runs(
    path: Path, form: str | None = None, name: str | None = None, *, most_bytes: int = MOST_ZIP_BYTES
) -> list[ExternalRun]:
    """The runs in a file. ``form`` is one of ``FORMATS``, by default found out; ``name`` is what the file is called.

    No more than ``most_bytes`` are read, counted as an archive is decompressed.

    Raises ``ImportProblem`` that says where in the file what is wrong, and ``OSError``. Nothing else, for any file.
    """
    shown = printable(name or path.name)
    try:
        if is_archive(path):
            if form == promptfoo.FORMAT:
                raise ImportProblem("a ZIP file, where the JSON of promptfoo is wanted")
            return inspect_log.read_archive(path, most_bytes)
        document = reading.json_file(path, "the file", most_bytes)
        return _runs(document, form or _format_of(document), Path(shown).stem)
    except ImportProblem as problem:
        raise ImportProblem(f"{shown}: {problem}") from None


def _runs(document: Any, form: str, name: str) -> list[ExternalRun]:
    whole = reading.mapping(document, "the file")
    return inspect_log.run_of(whole) if form == inspect_log.FORMAT else promptfoo.runs_of(whole, name)


def _format_of(document: Any) -> str:
    if isinstance(document, Mapping):
        if "eval" in document:
            return inspect_log.FORMAT
        if "results" in document:
            return promptfoo.FORMAT
    raise ImportProblem(
        "neither a log of Inspect (an object with eval and samples) nor results of promptfoo (an object with results). "
        f"Say which it is: {' or '.join(FORMATS)}"
    )
