"""Experiments on a terminal: start, estimate, show and export one; the matrix as a table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.management.actions import (
    JSON,
    OK,
    RUN_FAILED,
    ActionCommand,
    action,
    argument,
    reader_of,
    switch,
    writing,
)
from benchmarks.management.following import Progress, follow
from benchmarks.models import LIVE, Experiment, Run, RunStatus
from benchmarks.page_urls import page_address
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
from benchmarks.presentation.tables import aligned
from benchmarks.queries.experiments import experiment_detail, experiment_runs, experiments, progress
from benchmarks.queries.matrix import Cell, Row, matrix
from benchmarks.queries.matrix_export import MATRIX_TYPES, matrix_file
from benchmarks.queries.resources.experiments import ExperimentDetail, ExperimentResource
from benchmarks.queries.resources.plans import ExperimentPlan as ResponsePlan
from benchmarks.queries.tables.experiments import EXPERIMENTS
from benchmarks.services.errors import NotPossible
from benchmarks.services.experiments.files import STARTER, read_experiment_file, starter_experiment
from benchmarks.services.experiments.start import ExperimentPlan, plan_experiment, start_experiment

STEPS = ("run", "plan", "list", "show", "export")


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
    return "\n\n".join([head, verdict, aligned([*columns, "latency"], rows), *reasons])


def _cells(row: Row) -> list[str]:
    place, overall = row.place, row.overall
    latencies = [cell.latency_ms for cell in row.cells if cell and cell.latency_ms is not None]
    return [
        rank_range(place.rank_low, place.rank_high) if place else MISSING,
        row.model,
        ", ".join(filter(None, (row.variant, row.differs))),
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


class ExperimentCommand(ActionCommand):
    """Starts, estimates, shows and exports experiments."""

    @action(
        "Run, estimate, list, show or export experiments.",
        argument("step", None, "run or plan a file; list all, show or export one", choices=STEPS),
        argument(
            "target",
            "FILE|ID",
            "a YAML file with the fields of the API, starter, or the id of an experiment; nothing to list",
            nargs="?",
            default="",
        ),
        argument("--model", "NAME", "model in place of those of the file; repeatable", action="append", dest="models"),
        switch("--detach", "return as soon as the runs are queued"),
        argument("--output", "FILE", f"file of the export, ending in {', '.join(MATRIX_TYPES)}", type=Path),
        JSON,
    )
    def experiment(
        self,
        step: str,
        target: str,
        *,
        models: Sequence[str] | None,
        detach: bool,
        output: Path | None,
        as_json: bool,
        **options: Any,
    ) -> int:
        _check(step, target, models or ())
        if step == "list":
            self._list_experiments(as_json)
            return OK
        if step == "plan":
            plan = plan_experiment(_experiment_request(target, models or ()))
            self.print_either(as_json, ResponsePlan.of(plan, reader_of()), plan_text(plan))
            return OK
        if step == "export":
            form = output.suffix.removeprefix(".") if output else ""
            if output is None or form not in MATRIX_TYPES:
                raise NotPossible(f"Name a file with --output that ends in .{', .'.join(MATRIX_TYPES)}.")
            exported = _experiment(target)
            try:
                content, _ = matrix_file(form, experiment=exported.pk, runs=[])
            except Run.DoesNotExist as missing:
                raise NotPossible(str(missing)) from None
            with writing(output):
                output.write_bytes(content)
            self.print_either(as_json, {"file": str(output), "bytes": len(content)}, f"Wrote {output}.")
            return OK
        if step == "show":
            shown = _experiment(target)
        else:
            shown = start_experiment(_experiment_request(target, models or ()))
            self.stderr.write(f"Experiment {shown.pk} queued: {page_address(shown)}", self.style.NOTICE)
            if shown.description:
                self.stderr.write(shown.description)
            for run in [] if detach else experiment_runs(shown):
                follow(run.pk, Progress(sys.stderr), self.stderr.write)
        runs = experiment_runs(shown)
        if as_json:
            self.print_json(ExperimentDetail.of(experiments().get(pk=shown.pk), reader_of()))
        else:
            self.stdout.write(experiment_text(shown, runs))
        return OK if all(run.status in LIVE | {RunStatus.COMPLETED} for run in runs) else RUN_FAILED

    def _list_experiments(self, as_json: bool) -> None:
        listed = experiments()
        if as_json:
            self.print_json([ExperimentResource.of(each, reader_of()) for each in listed])
        else:
            rows = [(each, progress(list(each.runs.all()))) for each in listed]
            self.print_table(EXPERIMENTS, rows, "No experiments yet. To start one: benchmark experiment run FILE")


def _check(step: str, target: str, models: Sequence[str]) -> None:
    if (step == "list") != (not target):
        raise NotPossible("list takes no file and no id." if target else "Name a file, or the id of an experiment.")
    if models and step not in ("run", "plan"):
        raise NotPossible("--model applies to run and plan.")


def _experiment_request(target: str, models: Sequence[str]) -> dict[str, object]:
    """What the file asks for, or the shipped starter experiment, with these models in place of the file's."""
    if target != STARTER:
        return read_experiment_file(Path(target), models)
    request = starter_experiment(models)
    if request is None:
        raise NotPossible("No dataset can be scored yet. To import the shipped ones, run: datasets sync")
    return request


def _experiment(text: str) -> Experiment:
    try:
        return experiment_detail(int(text))
    except (ValueError, Experiment.DoesNotExist):
        raise NotPossible(f"Experiment {text} does not exist. To list them: benchmark experiment list") from None
