"""Experiments on a terminal: start, estimate, show and export one; the matrix as a table."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from django.db.models import QuerySet

from benchmarks.analysis.matrices import Cell, Row, latency_title
from benchmarks.management.actions import (
    JSON,
    OK,
    RUN_FAILED,
    action,
    argument,
    reader_of,
    switch,
    writing,
)
from benchmarks.management.following import Progress, follow
from benchmarks.management.printing import cost_text
from benchmarks.management.resources import ResourceCommand
from benchmarks.models import LIVE, Experiment, Run, RunStatus
from benchmarks.page_urls import page_address
from benchmarks.presentation.numbers import (
    MISSING,
    duration,
    interval,
    milliseconds,
    n_of,
    percent,
    plural,
    rank_range,
    score,
    whole_points,
)
from benchmarks.presentation.tables import aligned
from benchmarks.queries.experiments import Progress as Sums
from benchmarks.queries.experiments import averages_variants, experiment_runs, experiments, progress
from benchmarks.queries.matrix import average_texts, averaged_models, matrix
from benchmarks.queries.matrix_export import MATRIX_TYPES, matrix_file
from benchmarks.queries.resources.experiments import ExperimentDetail, ExperimentResource
from benchmarks.queries.resources.plans import ExperimentPlan as ResponsePlan
from benchmarks.queries.tables.experiments import EXPERIMENTS
from benchmarks.services.comparisons import read_margin
from benchmarks.services.errors import NotPossible
from benchmarks.services.experiments.files import STARTER, read_experiment_file, starter_experiment
from benchmarks.services.experiments.start import ExperimentPlan, plan_experiment, start_experiment

REQUEST = (
    argument("file", "FILE", "a YAML file with the fields of the API, or starter"),
    argument("--model", "NAME", "model in place of those of the file; repeatable", action="append", dest="models"),
)


def plan_text(plan: ExperimentPlan) -> str:
    judged = f", plus {plural(plan.judge_requests, 'request')} to the judge" if plan.judge_requests else ""
    lines = [
        f"{plural(plan.runs, 'run')}, {plural(plan.requests, 'request')}{judged}",
        f"cost: {cost_text(plan)}",
        f"duration: {duration(plan.seconds_low)} (all at once) to {duration(plan.seconds_high)} (one after the other)",
    ]
    for slug, difference in plan.detectable.items():
        shown = "none" if difference is None else f"{whole_points(difference)} points"
        lines.append(f"detectable difference on {slug}: {shown}, between two of {plan.candidates}, with 80% power")
    lines += [f"{slug}: {outlook.sentence}" for slug, outlook in plan.subsets.items()]
    lines += plan.warnings
    return "\n".join(lines)


def experiment_text(experiment: Experiment, runs: Sequence[Run]) -> str:
    """State, verdict and matrix."""
    state, grid = progress(runs), matrix(runs)
    head = (
        f"Experiment {experiment.pk}: {experiment.name}\n"
        f"{state.state.text}, {n_of(state.ended, state.runs)} runs ended, "
        f"{n_of(state.done, state.total)} results, {plural(state.errors, 'error')}, cost {state.cost}"
    )
    models = averaged_models(grid) if averages_variants(experiment, "") else None
    if models is not None:
        return "\n\n".join([head, " ".join(models.said), aligned(*average_texts(models.found))])
    verdict = " ".join(filter(None, [grid.verdict, grid.same_sentence])) or grid.no_verdict
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
    return "\n\n".join([head, verdict, aligned([*columns, latency_title(grid.rows).lower()], rows), *reasons])


def _cells(row: Row) -> list[str]:
    place, overall = row.place, row.overall
    return [
        rank_range(place.rank_low, place.rank_high) if place else MISSING,
        row.model,
        ", ".join(filter(None, (row.variant, row.differs))),
        f"{score(overall[0])} ({interval(overall[1], overall[2])})" if overall else MISSING,
        place.group if place else MISSING,
        percent(place.best) if place else MISSING,
        *map(_score, row.cells),
        milliseconds(row.latency_ms),
    ]


def _score(cell: Cell | None) -> str:
    if cell is None or cell.mean is None:
        return MISSING
    return f"{score(cell.mean)} ({interval(cell.low, cell.high)}) {n_of(cell.n, cell.total or 0)}"


class ExperimentCommand(ResourceCommand):
    help = "Run, estimate, list, show or export experiments."
    epilog = "Exit codes: 0 success; 2 request refused or invalid usage; 3 a run failed or was stopped."
    noun, empty = "experiment", "No experiments yet. To start one: benchmark experiment run FILE"
    listed, shown, table = ExperimentResource, ExperimentDetail, EXPERIMENTS
    one = argument("key", "ID", "id of the experiment", type=int)

    def rows(self, **options: Any) -> QuerySet[Experiment]:
        return experiments()

    def row(self, key: int) -> Experiment:
        try:
            return experiments().get(pk=key)
        except Experiment.DoesNotExist:
            raise NotPossible(f"Experiment {key} does not exist. To list them: benchmark experiment list") from None

    def in_table(self, rows: Iterable[Experiment]) -> list[tuple[Experiment, Sums]]:
        return [(each, progress(list(each.runs.all()))) for each in rows]

    def lines(self, row: Experiment) -> Iterator[str]:
        yield experiment_text(row, experiment_runs(row))

    def exit_code(self, row: Experiment) -> int:
        return OK if all(run.status in LIVE | {RunStatus.COMPLETED} for run in row.runs.all()) else RUN_FAILED

    @action(
        "Run the experiment in a file, and print its matrix.",
        *REQUEST,
        switch("--detach", "return as soon as the runs are queued"),
        JSON,
    )
    def run(self, file: str, *, models: Sequence[str] | None, detach: bool, as_json: bool, **options: Any) -> int:
        started = start_experiment(_experiment_request(file, models or ()))
        self.stderr.write(f"Experiment {started.pk} queued: {page_address(started)}", self.style.NOTICE)
        if started.description:
            self.stderr.write(started.description)
        for run in [] if detach else experiment_runs(started):
            follow(run.pk, Progress(sys.stderr), self.stderr.write)
        row = self.row(started.pk)
        self.print_row(row, as_json)
        return self.exit_code(row)

    @action("Estimate the experiment in a file.", *REQUEST, JSON)
    def plan(self, file: str, *, models: Sequence[str] | None, as_json: bool, **options: Any) -> None:
        plan = plan_experiment(_experiment_request(file, models or ()))
        self.print_either(as_json, ResponsePlan.of(plan, reader_of()), plan_text(plan))

    @action(
        "Write the matrix of an experiment to a file.",
        argument("--output", "FILE", f"file of the export, ending in {', '.join(MATRIX_TYPES)}", type=Path),
        argument("--margin", "POINTS", "points within which two rows are the same, by default 2"),
        JSON,
        more=lambda command: [command.one],
    )
    def export(self, *, key: int, output: Path | None, margin: str | None, as_json: bool, **options: Any) -> None:
        form = output.suffix.removeprefix(".") if output else ""
        if output is None or form not in MATRIX_TYPES:
            raise NotPossible(f"Name a file with --output that ends in .{', .'.join(MATRIX_TYPES)}.")
        try:
            content, _ = matrix_file(form, experiment=self.row(key).pk, runs=[], margin=read_margin(margin))
        except Run.DoesNotExist as missing:
            raise NotPossible(str(missing)) from None
        with writing(output):
            output.write_bytes(content)
        self.print_either(as_json, {"file": str(output), "bytes": len(content)}, f"Wrote {output}.")


def _experiment_request(target: str, models: Sequence[str]) -> dict[str, object]:
    """What the file asks for, or the shipped starter experiment, with these models in place of the file's."""
    if target != STARTER:
        return read_experiment_file(Path(target), models)
    request = starter_experiment(models)
    if request is None:
        raise NotPossible("No dataset can be scored yet. To import the shipped ones, run: datasets sync")
    return request
