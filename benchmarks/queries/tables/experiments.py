"""The tables of experiments: their list, and what one of them ran on and cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.models import Experiment, Run
from benchmarks.presentation.cells import Cell, Link, Moment, Money, run_link, soft, tag
from benchmarks.presentation.labels import metric_title
from benchmarks.presentation.numbers import MISSING, duration, milliseconds, number
from benchmarks.presentation.sentences import cost_of_answers, known_cost, unknown_cost, unknown_cost_of_answers
from benchmarks.presentation.tables import Column, Table
from benchmarks.queries.experiments import Progress
from benchmarks.queries.tables.runs import dataset_link, model_link, per_thousand

EXPERIMENTS = Table[tuple[Experiment, Progress]](
    "Experiments",
    [
        Column("Experiment", lambda row: Link(row[0].name, "experiment", (row[0].pk,)), "name"),
        Column("Tags", lambda row: [*map(tag, row[0].tags)], look="anywhere"),
        Column("Status", lambda row: row[1].state),
        Column("Runs", lambda row: f"{number(row[1].ended)} of {number(row[1].runs)}", "number"),
        Column("Results", lambda row: f"{number(row[1].done)} of {number(row[1].total)}", "number"),
        Column("Cost", lambda row: row[1].priced, "number"),
        Column("Started", lambda row: Moment(row[0].created_at), look="nowrap"),
    ],
)


class Benchmark(NamedTuple):
    """A version of a dataset that runs of an experiment are on."""

    run: Run
    n_runs: int
    n_results: int


def benchmarks_of(runs: Sequence[Run]) -> list[Benchmark]:
    """Each version that the runs are on, in their order; ``run`` is the first of them."""
    members: dict[tuple[int, int], list[Run]] = {}
    for run in runs:
        members.setdefault((run.dataset_version_id, run.added_canvases), []).append(run)
    return [Benchmark(each[0], len(each), sum(run.total for run in each)) for each in members.values()]


BENCHMARKS_OF = Table[Benchmark](
    "Benchmarks",
    [
        Column("Benchmark", lambda row: dataset_link(row.run.dataset), "name"),
        Column("Version", lambda row: row.run.version_label, "number"),
        Column("Scored by", lambda row: ", ".join(map(metric_title, row.run.metrics)), look="anywhere"),
        Column("Runs", lambda row: number(row.n_runs), "number"),
        Column("Results", lambda row: number(row.n_results), "number"),
    ],
    look="by-line",
)


def _latency(run: Run) -> Cell:
    latency = run.numbers.latency_ms
    if latency is None:
        return MISSING
    return [milliseconds(latency.p50), *([soft(f" n = {number(latency.n)}")] if latency.n != run.done else [])]


COSTS = Table[Run](
    "Cost and time of each run",
    [
        Column("Model", lambda run: model_link(run.model), "name"),
        Column("Variant", lambda run: run.variant or MISSING, look="anywhere beside", given="has_variants", unit=""),
        Column("Benchmark", lambda run: dataset_link(run.dataset), unit=""),
        Column("Results", lambda run: number(run.done), "number", "wide-only"),
        Column("Model cost", lambda run: Money(*cost_of_answers(run)) if run.total else MISSING, "number", "wide-only"),
        Column(
            "Judge cost",
            lambda run: Money(run.judge_cost_usd) if run.judge_model else MISSING,
            "number",
            given="has_judge",
        ),
        Column(
            "$ per 1,000",
            lambda run: Money(*known_cost(*per_thousand(run))) if run.done else MISSING,
            "number",
            unit="per 1,000",
        ),
        Column("Tokens in", lambda run: number(run.tokens_in), "number", "wide-only"),
        Column("Tokens out", lambda run: number(run.tokens_out), "number", "wide-only"),
        Column("Median latency", _latency, "number", unit=""),
        Column("Duration", lambda run: duration(run.duration_seconds), "number", "wide-only"),
        Column("Run", lambda run: run_link(run.pk, "nowrap"), look="beside"),
    ],
    sortable=True,
    look="brief",
)


def unknown_costs(runs: Sequence[Run]) -> list[str]:
    """Why parts of the cost are unknown, each reason once."""
    reasons: dict[str, None] = {}
    for run in runs:
        if run.total:
            reasons[unknown_cost_of_answers(run)] = None
            reasons[unknown_cost(run.judge_model, run.judge_cost_usd, run.judge_tokens_in)] = None
    return [f"{reason[0].upper()}{reason[1:]}." for reason in reasons if reason]
