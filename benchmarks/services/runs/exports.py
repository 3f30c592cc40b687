"""Results of a run as a file, read in portions, so that a million results need no more memory than a thousand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from benchmarks.exports.html_file import Head, html_pieces
from benchmarks.exports.parquet_file import MISSING, has_parquet, parquet_pieces
from benchmarks.exports.rows import LISTS, PLAIN_FIELDS, ResultRow, ScoreCell, batches
from benchmarks.exports.text_files import csv_pieces, jsonl_pieces, scores_pieces
from benchmarks.models import Result, Run, Score
from benchmarks.presentation.labels import OUTCOME, metric_title, run_status, sentence_case
from benchmarks.presentation.numbers import MISSING as NO_NUMBER
from benchmarks.presentation.numbers import UNKNOWN, duration, interval, n_of, number, percent, plural, score
from benchmarks.presentation.sentences import adjustments, if_missing, readable, sample, total_cost, weighted
from benchmarks.providers.extra_parameters import shown
from benchmarks.services.errors import NotPossible
from benchmarks.summary import MetricNumbers, Summary

PORTION = 500
PIECE_BYTES = 64 * 1024
RESULTS = ("csv", "jsonl", "parquet")
"""Forms that can hold the results of several runs."""
CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/jsonl; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "scores.csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}

_RELATED = {
    "score": "value",
    "result": "pk",
    "task_id": "task__task_id",
    "task_name": "task__name",
    "other_answers": "task__other_answers",
    "labels": "task__labels",
    "input": "task__input",
    "expected_output": "task__expected_output",
    "actual_output": "transcript__actual_output",
    "tool_calls": "transcript__tool_calls",
    "retrieved": "transcript__retrieved",
}
_OF_RUN = frozenset(
    {"run", "model", "dataset", "dataset_version", "variant", "system_prompt", "prompt_template"}
    | {"seed", "texts_pruned_at"}
)
_SOURCES = {name: _RELATED.get(name, name) for name in (*PLAIN_FIELDS, *LISTS) if name not in _OF_RUN}
"""Field of a row → its lookup from the result."""


def export_results(runs: Sequence[Run], form: str) -> Iterator[bytes]:
    """The results of one or several runs in one file of a form of ``RESULTS``, in pieces; each row names its run.

    Raises ``NotPossible`` before the first piece for ``parquet`` if pyarrow is not installed.
    """
    if form == "parquet" and not has_parquet():
        raise NotPossible(MISSING)
    rows = chain.from_iterable(map(result_rows, runs))
    metrics = list(dict.fromkeys(metric for run in runs for metric in run.metrics))
    match form:
        case "csv":
            return _joined(csv_pieces(rows, metrics))
        case "jsonl":
            return _joined(jsonl_pieces(rows))
        case _:
            return _joined(parquet_pieces(rows, metrics))


def export_pieces(
    run: Run, form: str, images: Sequence[tuple[str, str]] = (), judged: Mapping[str, str] | None = None
) -> Iterator[bytes]:
    """The bytes of the file in pieces: every result, or for ``scores.csv`` every mean with its bounds.

    ``form`` is a key of ``CONTENT_TYPES``; ``images`` are titles and SVGs for the report, and ``judged`` says of a
    metric who judged it. Raises ``NotPossible`` before the first piece for ``parquet`` if pyarrow is not installed.
    """
    match form:
        case "scores.csv":
            of_run = [run.pk, run.model, run.dataset.slug, run.version_label, run.variant]
            return _joined(scores_pieces(of_run, run.numbers, run.parts, run.all_metrics, run.reported))
        case "html":
            return _joined(html_pieces(report_head(run, images, judged or {}), result_rows(run), run.metrics))
        case _:
            return export_results([run], form)


def _joined(pieces: Iterator[bytes] | Iterator[str]) -> Iterator[bytes]:
    """Few large pieces instead of many small ones, because a web server sends each piece separately."""
    encoded = (piece.encode() if isinstance(piece, str) else piece for piece in pieces)
    return (b"".join(batch) for batch in batches(encoded, len, PIECE_BYTES))


def forms_here() -> list[str]:
    """The formats that this installation can write."""
    return [form for form in CONTENT_TYPES if form != "parquet" or has_parquet()]


def export_name(runs: Sequence[Run], form: str) -> str:
    if len(runs) == 1:
        return f"run-{runs[0].pk}-{runs[0].dataset.slug}.{form}"
    return f"runs-{runs[0].pk}-to-{runs[-1].pk}.{form}"


def result_rows(run: Run) -> Iterator[ResultRow]:
    """Every result in the order of the dataset, two queries per portion.

    A portion starts after the last row of the previous one, so the database never counts past rows. Rows are plain
    values, because model instances form reference cycles, which accumulate until the garbage collector runs.
    """
    of_run: dict[str, Any] = {
        "run": run.pk,
        "model": run.model,
        "dataset": run.dataset.slug,
        "dataset_version": run.version_label,
        "variant": run.variant,
        **{name: run.parameters.get(name) or "" for name in ("system_prompt", "prompt_template")},
        "texts_pruned_at": run.texts_pruned_at,
    }
    results = Result.objects.filter(run=run).order_by("position", "pk").values(*_SOURCES.values())
    position, pk = -1, -1
    while True:
        later = results.filter(position__gte=position).exclude(position=position, pk__lte=pk)
        portion = list(later[:PORTION])
        if not portion:
            return
        scores = _scores([result["pk"] for result in portion])
        for result in portion:
            fields = of_run | {name: result[source] for name, source in _SOURCES.items()}
            fields["seed"] = run.sent_seed(fields["repeat"])
            for name in ("other_answers", "labels"):
                fields[name] = "\n".join(fields[name] or ())
            # A pruned answer is stored as an empty text, which would read as an empty answer of the model.
            if fields["texts_pruned_at"]:
                fields["actual_output"] = None
            yield ResultRow(**{**fields, "tool_calls": fields["tool_calls"] or ()}, scores=scores.get(result["pk"], {}))
        position, pk = portion[-1]["position"], portion[-1]["pk"]


def report_head(run: Run, images: Sequence[tuple[str, str]], judged: Mapping[str, str]) -> Head:
    """The facts and means of a run, as the report shows them."""
    given = {**run.parameters, **({"extra": shown(run.extra)} if run.extra else {})}
    given |= {"seed": run.seeds} if run.seeds else {}
    parameters = ", ".join(f"{name} {value}" for name, value in given.items() if name != "system_prompt")
    progress = f"{n_of(run.done, run.total)} results, {plural(run.errors, 'error')}"
    judge_cost = run.judge_cost_usd if run.judge_model else 0.0
    facts = [
        ("Dataset", f"{run.dataset.title}, version {run.version_label}"),
        ("Status", f"{run_status(run.status)}: {progress}"),
        ("Judge", run.judge_model or "None"),
        ("Parameters", parameters or "None"),
        *(
            ("Requests", sentence)
            for sentence in adjustments(run.adjustments, run.judge_trial, run.numbers.response_models)
        ),
        ("Cost", total_cost(run.cost_usd, judge_cost, run.numbers.part_of_cost)),
        *_times(run.numbers),
        ("Started", run.started_at.isoformat(" ", "seconds") if run.started_at else "Not started"),
        ("Code version", run.code_version or UNKNOWN),
    ]
    known = dict(facts)
    started = f"{run.started_at:%Y-%m-%d}" if run.started_at else "Not started"
    outcomes = run.numbers.outcomes
    total = sum(outcomes.values())

    def counted(n: int) -> str:
        return f"{number(n)} ({percent(n / total)})"

    return Head(
        title=f"{run.name or f'{run.model} on {run.dataset.title}'}, run {run.pk}",
        lead=" · ".join((*(known[name] for name in ("Dataset", "Status")), f"Cost: {known['Cost']}", started)),
        means=[
            *(
                (f"{metric_title(name)}, strict", *_mean(name, run.numbers_of(name), judged.get(name, "")))
                for name in run.all_metrics
            ),
        ],
        outcomes=[
            (name, f"{label} {counted(outcomes[name])}") for name, label in OUTCOME.items() if outcomes.get(name)
        ],
        failures=[
            (group.outcome, OUTCOME[group.outcome], sentence_case(group.reason), counted(group.n))
            for group in run.numbers.failures
        ],
        facts=facts,
        images=images,
    )


def _times(summary: Summary) -> list[tuple[str, str]]:
    """Medians of what was measured, with the 95th percentile and n."""

    def milliseconds(value: float) -> str:
        return duration(value / 1000)

    kinds = (
        ("Latency", summary.latency_ms, milliseconds),
        ("Time to first token", summary.first_token_ms, milliseconds),
        ("Tokens per second", summary.tokens_per_second, lambda value: number(value, 1)),
    )
    return [
        (title, f"median {words(times.p50)}, 95th percentile {words(times.p95)}, n = {number(times.n)}")
        for title, times, words in kinds
        if times
    ]


def _mean(metric: str, numbers: MetricNumbers, judged: str = "") -> tuple[str, str]:
    """A mean, and in words its interval, its n and who judged."""
    if numbers.mean is None:
        return NO_NUMBER, "No scored results"
    low, high = numbers.low, numbers.high
    bounds = "No interval" if low is None or high is None else f"95% interval {interval(low, high)}"
    strict = f"{bounds}, {sample(numbers, live=False)}"
    missing = f"or {words}" if (words := if_missing(metric, numbers)) else ""
    others = {"Readable answers only": readable(numbers), "Weighted mean": weighted(numbers)}
    said = [strict, missing, judged, *(f"{name}: {words}" for name, words in others.items() if words)]
    return score(numbers.mean), ". ".join(filter(None, said))


def _scores(results: Sequence[int]) -> dict[int, dict[str, ScoreCell]]:
    """Result id → metric → its verdict."""
    cells: dict[int, dict[str, ScoreCell]] = {}
    stored = Score.objects.filter(result__in=results).order_by("pk")
    for result, metric, value, status, reason in stored.values_list("result", "metric", "value", "status", "reason"):
        cells.setdefault(result, {})[metric] = ScoreCell(value, status, reason)
    return cells
