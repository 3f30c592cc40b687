"""Detect which tool wrote a file, and read its runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.dataset_format.problems import printable
from benchmarks.imports import deepeval_run, inspect_log, lm_eval, promptfoo, reading
from benchmarks.imports.reading import MAX_ZIP_BYTES, zipfile
from benchmarks.imports.runs import ImportedRun, ImportProblem
from benchmarks.imports.tables import MAX_LINE
from benchmarks.metrics.imported import TOOLS

FORMATS = (inspect_log.FORMAT, promptfoo.FORMAT, lm_eval.FORMAT, deepeval_run.FORMAT)
_LINES = (".jsonl", ".ndjson")
_DATE = re.compile(r"_(\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl?")


def read_runs(
    path: Path,
    form: str | None = None,
    name: str | None = None,
    *,
    summary: Path | None = None,
    max_bytes: int = MAX_ZIP_BYTES,
) -> list[ImportedRun]:
    """The runs in a file. ``form`` is one of ``FORMATS``, detected by default; ``name`` is the file's original name.

    ``summary`` is the results file beside samples of lm-evaluation-harness. At most ``max_bytes`` are read, counted
    after decompression. Raises ``ImportProblem`` with the place of the error, and ``OSError``; nothing else, whatever
    the file.
    """
    shown = printable(name or path.name)
    try:
        if Path(shown).suffix.lower() in _LINES and (form == lm_eval.FORMAT or (form is None and _has_samples(path))):
            head = None if summary is None else reading.json_file(summary, "the results file", max_bytes)
            return [lm_eval.run_of(path, shown, head, max_bytes)]
        if summary is not None:
            raise ImportProblem("not samples of lm-evaluation-harness. Import it apart from the results file")
        if zipfile.is_zipfile(path):
            if form not in (None, inspect_log.FORMAT):
                raise ImportProblem(f"a ZIP file, which {TOOLS[form]} does not write")
            return inspect_log.read_archive(path, max_bytes)
        match Path(shown).suffix.lower():
            case ".yaml" | ".yml":
                document = reading.yaml_file(path, "the file")
            case ".jsonl" | ".ndjson":
                document = {"results": _lines(path, max_bytes)}
            case _:
                document = reading.json_file(path, "the file", max_bytes)
        match form or _format_of(document):
            case inspect_log.FORMAT:
                return inspect_log.run_of(document)
            case lm_eval.FORMAT:
                raise ImportProblem(
                    "lm-evaluation-harness writes what was asked and answered to samples_*.jsonl, with --log_samples. "
                    "Import these files, together with this one if it is the results file"
                )
            case deepeval_run.FORMAT:
                return deepeval_run.runs_of(document, Path(shown).stem)
        return promptfoo.runs_of(document, Path(shown).stem)
    except ImportProblem as problem:
        raise ImportProblem(f"{shown}: {problem}") from None


def _has_samples(path: Path) -> bool:
    """Whether the first line is a sample of lm-evaluation-harness. Promptfoo writes JSON Lines too."""
    with path.open("rb") as file:
        first = file.readline(MAX_LINE)
    return b'"doc_id"' in first and b'"resps"' in first


def _format_of(document: Any) -> str:
    if isinstance(document, dict):
        if "eval" in document:
            return inspect_log.FORMAT
        if not {"testRunData", "testRunLink", "testCases", "conversationalTestCases"}.isdisjoint(document):
            return deepeval_run.FORMAT
        if "results" in document:
            return promptfoo.FORMAT if {"n-shot", "n-samples"}.isdisjoint(document) else lm_eval.FORMAT
    raise ImportProblem(
        "neither a log of Inspect (an object with eval and samples), results of promptfoo (an object with results), a "
        "test run of DeepEval (an object with testRunData or testCases) nor samples of lm-evaluation-harness "
        f"(samples_*.jsonl). Specify the format: {', '.join(FORMATS)}"
    )


def _lines(path: Path, max_bytes: int) -> list[Any]:
    """The documents in the lines of a file."""
    if path.stat().st_size > min(max_bytes, reading.MAX_JSON_BYTES):
        raise ImportProblem(f"the file: exceeds the limit of {min(max_bytes, reading.MAX_JSON_BYTES) // 2**20} MB")
    with path.open("rb") as file:
        containers = 0
        documents = []
        for number, line in enumerate(file, 1):
            containers += reading.containers_in(line)
            if containers > reading.MAX_CONTAINERS:
                raise ImportProblem(f"more than {reading.MAX_CONTAINERS:,} objects and lists. Split the file.")
            documents += [reading.json_of(line, f"line {number}")] if line.strip() else []
        return documents


def with_summaries(names: Sequence[str]) -> dict[int, int | None]:
    """Which of the files are imported, and with which other file as their summary, by their positions in ``names``.

    Samples of lm-evaluation-harness belong to the results with the same date in the name, or else to the only results.
    Such results are imported only with samples.
    """
    lines = [position for position, name in enumerate(names) if Path(name).suffix.lower() in _LINES]
    rest = [position for position in range(len(names)) if position not in lines]
    dates = {date[1]: position for position in rest if (date := _DATE.search(names[position]))}
    named = [position for position in rest if Path(names[position]).name.startswith("results_")]
    only = named[0] if len(named) == 1 else None
    pairs: dict[int, int | None] = {}
    for position in lines:
        date = _DATE.search(names[position])
        pairs[position] = dates.get(date[1], only) if date else only
    return {position: pairs.get(position) for position in range(len(names)) if position not in pairs.values()}
