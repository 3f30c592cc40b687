"""Detect which tool wrote a file, and read its runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.dataset_format.problems import printable
from benchmarks.imports import inspect_log, promptfoo, reading
from benchmarks.imports.reading import MAX_ZIP_BYTES, zipfile
from benchmarks.imports.runs import ImportedRun, ImportProblem

FORMATS = (inspect_log.FORMAT, promptfoo.FORMAT)


def read_runs(
    path: Path, form: str | None = None, name: str | None = None, *, max_bytes: int = MAX_ZIP_BYTES
) -> list[ImportedRun]:
    """The runs in a file. ``form`` is one of ``FORMATS``, detected by default; ``name`` is the file's original name.

    At most ``max_bytes`` are read, counted after decompression. Raises ``ImportProblem`` with the place of the error,
    and ``OSError``; nothing else, whatever the file.
    """
    shown = printable(name or path.name)
    try:
        if zipfile.is_zipfile(path):
            if form == promptfoo.FORMAT:
                raise ImportProblem("a ZIP file; promptfoo writes JSON")
            return inspect_log.read_archive(path, max_bytes)
        document = reading.json_file(path, "the file", max_bytes)
        if (form or _format_of(document)) == inspect_log.FORMAT:
            return inspect_log.run_of(document)
        return promptfoo.runs_of(document, Path(shown).stem)
    except ImportProblem as problem:
        raise ImportProblem(f"{shown}: {problem}") from None


def _format_of(document: Any) -> str:
    if isinstance(document, dict):
        if "eval" in document:
            return inspect_log.FORMAT
        if "results" in document:
            return promptfoo.FORMAT
    raise ImportProblem(
        "neither a log of Inspect (an object with eval and samples) nor results of promptfoo (an object with results). "
        f"Specify the format: {' or '.join(FORMATS)}"
    )
