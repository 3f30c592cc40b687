"""Experiments as pages show them: the form of a launch, the rows of the matrix, and what can be done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.analysis.matrices import Row
from benchmarks.models import COMPLETED, LIVE, Experiment, Outcome, Run, RunStatus
from benchmarks.presentation.numbers import money, n_of, plural
from benchmarks.presentation.ranks import listed
from benchmarks.queries.experiments import Progress
from benchmarks.run_parameters import given_shown
from benchmarks.services.experiments.requests import COMMON

EDITED = ("name", "description", "tags")
"""What people may change of an experiment after its start."""


def ways_of_asking(request: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """What each variant of a launched experiment sets, and then what holds for all its runs: heading, and labels with
    values."""
    variants = [
        (variant["name"], given_shown({**variant, **variant.get("parameters", {})}))
        for variant in request.get("variants", ())
    ]
    # What scores them stands with the benchmarks.
    common = given_shown({name: request.get(name) for name in COMMON if name != "metrics"})
    return [*variants, *([("All runs", common)] if common else [])]


def present_request(stored: Experiment) -> dict[str, Any]:
    """What the experiment was asked for, its name first, with what people have edited since."""
    return {"name": "", **stored.request, **{name: getattr(stored, name) for name in EDITED}}


def cost_said(rows: Sequence[Row]) -> list[str]:
    """Who is correct most often and what its correct answers cost, the judge included; then those of the others, with
    how many are correct. Empty until all runs have completed, on different benchmarks, and while a cost is unknown;
    baselines do not compete."""
    asked = [row for row in rows if row.runs and not row.is_baseline]
    benchmarks = {frozenset(run.dataset_id for run in row.runs) for row in asked}
    costs = [_cost(row) for row in asked]
    if len(benchmarks) != 1 or None in costs or any(run.status not in COMPLETED for row in asked for run in row.runs):
        return []
    priced, without = list[tuple[float, float, str, str]](), list[str]()
    for row, usd in zip(asked, costs, strict=True):
        right, done = (sum(counts) for counts in zip(*map(_right_of, row.runs), strict=True))
        if right:
            priced.append((-right / done, 1000 * (usd or 0.0) / right, row.name, n_of(right, done)))
        else:
            without.append(row.name)
    if not priced:
        return []
    (_, price, best, count), *others = sorted(priced)
    said = [f"{best} is correct most often, {count}; 1,000 correct answers cost {money(price)}."]
    cheaper, dearer = ([each for each in others if (each[1] < price) == is_cheaper] for is_cheaper in (True, False))
    for word, found in (("Cheaper", cheaper), ("Not cheaper", dearer)):
        if found:
            said.append(f"{word}: {'; '.join(f'{name} {money(usd)}, {n} correct' for _, usd, name, n in found)}.")
    return [*said, *([f"None correct: {listed(without)}."] if without else [])]


def _right_of(run: Run) -> tuple[int, int]:
    """How many results are correct, of how many."""
    return run.numbers.outcomes.get(Outcome.CORRECT, 0), run.done


def _cost(row: Row) -> float | None:
    """Of model and judge; ``None`` if a part is unknown."""
    parts = [(run.answers_cost_usd, run.judge_cost_usd if run.judge_model else 0.0) for run in row.runs]
    known = [cost for of_run in parts for cost in of_run if cost is not None]
    return sum(known) if len(known) == 2 * len(parts) else None


def offered(runs: Sequence[Run], progress: Progress, has_budget: bool) -> dict[str, str]:
    """Action → label of what can be done with the runs together."""
    statuses = set(progress.runs_by_status)
    stopped = {RunStatus.PAUSED, RunStatus.FAILED, RunStatus.CANCELLED}
    going = LIVE | {RunStatus.PAUSED}
    errors = sum(run.errors for run in runs if run.status not in going)
    possible = {
        "pause": ("Pause", bool(statuses & LIVE)),
        "resume": ("Resume", bool(statuses & stopped)),
        "cancel": ("Cancel", bool(statuses & going)),
        "retry": (f"Retry {plural(errors, 'error')}", bool(errors)),
        "budget": ("Raise budget", has_budget),
        "delete": ("Delete experiment", not statuses & going),
    }
    return {name: label for name, (label, is_possible) in possible.items() if is_possible}
