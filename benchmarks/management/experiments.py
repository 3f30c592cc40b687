"""Experiments on a terminal: the estimate, and the matrix as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.management.actions import table
from benchmarks.models import Experiment, Run
from benchmarks.presentation.labels import run_status
from benchmarks.presentation.numbers import (
    MISSING,
    duration,
    interval,
    milliseconds,
    money_range,
    n_of,
    percent,
    plural,
    rank_range,
    score,
)
from benchmarks.queries.experiments import progress
from benchmarks.queries.matrix import Cell, Row, matrix, matrix_rows
from benchmarks.services.experiments.start import ExperimentPlan


def plan_text(plan: ExperimentPlan) -> str:
    judged = f", plus {plural(plan.judge_requests, 'request')} to the judge" if plan.judge_requests else ""
    lines = [
        f"{plural(plan.runs, 'run')}, {plural(plan.requests, 'request')}{judged}",
        f"cost: {money_range(plan.cost_low, plan.cost_high)}",
        f"duration: {duration(plan.seconds_low)} (all at once) to {duration(plan.seconds_high)} (one after the other)",
    ]
    for slug, difference in plan.detectable.items():
        shown = "none" if difference is None else percent(difference)
        lines.append(f"detectable difference on {slug}: {shown}, between two of {plan.candidates}, with 80% power")
    lines += [f"{slug}: {outlook.sentence}" for slug, outlook in plan.subsets.items()]
    lines += plan.warnings
    return "\n".join(lines)


def experiment_text(experiment: Experiment, runs: Sequence[Run]) -> str:
    """State, verdict and matrix."""
    state, grid = progress(runs), matrix(runs)
    head = (
        f"Experiment {experiment.pk}: {experiment.name}\n"
        f"{run_status(state.status)}, {n_of(state.ended, state.runs)} runs ended, "
        f"{n_of(state.done, state.total)} results, {plural(state.errors, 'error')}, cost {state.cost}"
    )
    verdict = grid.verdict or grid.no_verdict
    columns = [
        "rank",
        "model",
        "variant",
        "overall",
        "group",
        "best",
        *(column.run.dataset.slug for column in grid.columns),
    ]
    rows = [_cells(row) for row in grid.rows]
    reasons = [f"{row.name}: not ranked. {row.reason}" for row in grid.rows if row.reason]
    return "\n\n".join([head, verdict, table([*columns, "latency"], rows), *reasons])


def _cells(row: Row) -> list[str]:
    place, overall = row.place, row.overall
    latencies = [cell.latency_ms for cell in row.cells if cell and cell.latency_ms is not None]
    return [
        rank_range(place.rank_low, place.rank_high) if place else MISSING,
        row.model,
        row.variant,
        f"{score(overall[0])} ({interval(overall[1], overall[2])})" if overall else MISSING,
        place.group if place else MISSING,
        percent(place.best) if place else MISSING,
        *map(_score, row.cells),
        milliseconds(sum(latencies) / len(latencies)) if latencies else MISSING,
    ]


def _score(cell: Cell | None) -> str:
    if cell is None or cell.mean is None:
        return MISSING
    return f"{score(cell.mean)} ({interval(cell.low, cell.high)}) {n_of(cell.n, cell.total or 0)}"


def experiment_json(experiment: Experiment, runs: Sequence[Run]) -> dict[str, Any]:
    """State, verdict and matrix for other programs, with the names of the API."""
    state, grid = progress(runs), matrix(runs)
    return {
        "id": experiment.pk,
        "name": experiment.name,
        "status": state.status,
        "progress": {"total": state.total, "done": state.done, "errors": state.errors},
        "cost_usd": state.cost_usd,
        "verdict": grid.verdict,
        "matrix": matrix_rows(grid),
    }
