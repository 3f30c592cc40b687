"""Results of a run as a file, read in small portions: a million results take no more memory than a thousand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.exports.csv_file import csv_pieces
from benchmarks.exports.html_file import Head, html_pieces
from benchmarks.exports.jsonl_file import jsonl_pieces
from benchmarks.exports.parquet_file import MISSING, has_parquet, parquet_pieces
from benchmarks.exports.rows import PLAIN_FIELDS, ResultRow, ScoreCell
from benchmarks.exports.scores_file import scores_pieces
from benchmarks.models import Result, Run, Score
from benchmarks.services.errors import NotPossible

PORTION = 500
CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/jsonl; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "scores.csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}


_ELSEWHERE = {
    "run": "run_id",
    "result": "pk",
    "task_id": "task__task_id",
    "task_name": "task__name",
    "input": "task__input",
    "expected_output": "task__expected_output",
    "actual_output": "transcript__actual_output",
    "tool_calls": "transcript__tool_calls",
    "texts_pruned_at": "run__texts_pruned_at",
}
_SOURCES = {name: _ELSEWHERE.get(name, name) for name in (*PLAIN_FIELDS, "tool_calls")}
"""Field of a row → where it is stored, from the result."""


def export_pieces(run: Run, form: str, pictures: Sequence[str] = ()) -> Iterator[bytes]:
    """The file's bytes in portions: every result, or as ``scores.csv`` every mean with its bounds.

    ``form`` is a key of ``CONTENT_TYPES``; ``pictures`` are SVGs for the report. Raises ``NotPossible``, before the
    first portion, for ``parquet`` where pyarrow is not installed.
    """
    if form == "parquet" and not has_parquet():
        raise NotPossible(MISSING)
    if form == "scores.csv":
        return _portions(piece.encode() for piece in scores_pieces(run.summary, run.breakdown, run.metrics))
    rows = result_rows(run)
    if form == "csv":
        return _portions(piece.encode() for piece in csv_pieces(rows, run.metrics))
    if form == "jsonl":
        return _portions(jsonl_pieces(rows))
    if form == "parquet":
        return _portions(parquet_pieces(rows, run.metrics))
    return _portions(piece.encode() for piece in html_pieces(report_head(run, pictures), rows, run.metrics))


def forms_here() -> list[str]:
    """The forms that this installation can write."""
    return [form for form in CONTENT_TYPES if form != "parquet" or has_parquet()]


def export_name(run: Run, form: str) -> str:
    return f"run-{run.pk}-{run.dataset.slug}.{form}"


def result_rows(run: Run) -> Iterator[ResultRow]:
    """Every result in the order of the dataset. Each portion is found by the last one's position, not by counting.

    As plain values: model instances refer to each other in circles, which pile up until they are looked for.
    """
    results = Result.objects.filter(run=run).order_by("position", "pk").values(*_SOURCES.values())
    position, pk = -1, -1
    while True:
        later = results.filter(position__gte=position).exclude(position=position, pk__lte=pk)
        portion = list(later[:PORTION])
        if not portion:
            return
        scores = _scores([result["pk"] for result in portion])
        for result in portion:
            yield _row(result, scores.get(result["pk"], {}))
        position, pk = portion[-1]["position"], portion[-1]["pk"]


def report_head(run: Run, pictures: Sequence[str] = ()) -> Head:
    asked = ", ".join(f"{name} {value}" for name, value in run.parameters.items() if name != "system_prompt")
    facts = [
        ("Dataset", f"{run.dataset.slug}, version {run.dataset_version.number}"),
        ("Status", f"{run.get_status_display()}: {run.done:,} of {run.total:,} results, {run.errors:,} with an error"),
        ("Judge", run.judge_model or "none"),
        ("Parameters", asked or "none"),
        ("Cost", "unknown" if run.cost_usd is None else f"{run.cost_usd:.4f} US dollars"),
        ("Begun", run.started_at.isoformat(" ", "seconds") if run.started_at else "not yet"),
        ("Code version", run.code_version or "unknown"),
    ]
    computed = run.summary.get("metrics", {})
    means = [(name, _mean(computed.get(name, {}))) for name in run.metrics]
    return Head(f"Run {run.pk}: {run.model} on {run.dataset.slug}", facts, means, pictures)


def _mean(computed: dict[str, float | None]) -> str:
    mean, low, high = (computed.get(key) for key in ("mean", "low", "high"))
    if mean is None:
        return "nothing scored"
    interval = "no interval" if low is None or high is None else f"95 % interval {low:.3f} to {high:.3f}"
    return f"{mean:.3f}, {interval}, n = {computed.get('n')}"


def _row(result: dict[str, Any], scores: dict[str, ScoreCell]) -> ResultRow:
    fields = {name: result[source] for name, source in _SOURCES.items()}
    if fields["texts_pruned_at"]:
        fields["actual_output"] = None
    return ResultRow(**{**fields, "tool_calls": fields["tool_calls"] or ()}, scores=scores)


def _scores(results: Sequence[int]) -> dict[int, dict[str, ScoreCell]]:
    """Result id → metric → its verdict."""
    found: dict[int, dict[str, ScoreCell]] = {}
    stored = Score.objects.filter(result__in=results).order_by("pk")
    for result, metric, value, status, reason in stored.values_list("result", "metric", "value", "status", "reason"):
        found.setdefault(result, {})[metric] = ScoreCell(value, status, reason)
    return found


def _portions(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Few large pieces instead of many small ones, which a web server would send one by one."""
    gathered: list[bytes] = []
    size = 0
    for piece in pieces:
        gathered.append(piece)
        size += len(piece)
        if size >= 64 * 1024:
            yield b"".join(gathered)
            gathered, size = [], 0
    if gathered:
        yield b"".join(gathered)
