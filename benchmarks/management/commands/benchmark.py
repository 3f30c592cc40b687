"""``manage.py benchmark ACTION``: runs from a terminal or a pipeline. ``--help`` lists the actions.

Exit codes: 0 success; 1 a requirement was not met (``--fail-under``, ``--fail-on-regression``) or prompts differ
(``verify``); 2 request refused or invalid usage; 3 the run failed, was stopped, or has more errors than
``--allow-errors``; 4 a gate is undecided; 130 interrupted.
"""

from __future__ import annotations

from argparse import BooleanOptionalAction
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from django.db.models import QuerySet

from benchmarks.analysis.comparisons import common_metrics, compared_runs
from benchmarks.extras import command
from benchmarks.imports.registered_importers import IMPORTERS, files_of, logs_in, tools
from benchmarks.management import printing, reports
from benchmarks.management.actions import (
    JSON,
    MISSED,
    NAME_AND_TAGS,
    OK,
    action,
    argument,
    group,
    reader_of,
    request_data,
    switch,
    writing,
)
from benchmarks.management.experiments import ExperimentCommand
from benchmarks.management.resources import NUMBER
from benchmarks.management.running import RUN, RunningCommand, find_run
from benchmarks.models import Result, Run, RunStatus
from benchmarks.page_urls import page_address
from benchmarks.presentation.actions import done_sentence
from benchmarks.presentation.numbers import plural
from benchmarks.queries.compare import runs_to_compare
from benchmarks.queries.resources.base import json_of
from benchmarks.queries.resources.comparisons import Comparisons
from benchmarks.queries.resources.plans import Plan, Size
from benchmarks.queries.resources.runs import RunResource, StepResource
from benchmarks.queries.results import result_of_any_run
from benchmarks.queries.runs import RunFilters, run_list, runs_named
from benchmarks.queries.steps import Steps
from benchmarks.queries.tables.runs import RUNS
from benchmarks.queries.tables.steps import STEPS
from benchmarks.queries.task_grid import MOST_RUNS
from benchmarks.services.comparisons import read_margin
from benchmarks.services.contamination import check_contamination
from benchmarks.services.errors import NotPossible
from benchmarks.services.imports import OUR_METRICS, Imported, import_log, noted
from benchmarks.services.operations.code_version import code_version
from benchmarks.services.runs import control
from benchmarks.services.runs.control import edit_run
from benchmarks.services.runs.estimate import plan_run
from benchmarks.services.runs.exports import RESULTS, export_results
from benchmarks.services.runs.sizing import size_run

EXIT_CODES = (
    "Exit codes: 0 success; 1 a requirement was not met or prompts differ; 2 request refused or invalid usage; "
    "3 the run failed, was stopped, or has too many errors; 4 a gate is undecided; 130 interrupted."
)
SIZING = {
    "power": "power, by default 0.8",
    "discordance": "share of tasks on which the two runs differ, by default as in earlier runs on the dataset, or 0.3",
    "correlation": "correlation of the differences within a canvas, by default 0.1",
    "noise_share": "share of the variance that repeats average out, by default 0",
}
SIZE = group(
    "size",
    argument("--to-see", "POINTS", "tasks needed to detect a difference of this many points", type=float),
    argument(
        "--same-within", "POINTS", "tasks needed to show that two equal runs are the same within these", type=float
    ),
    *(argument(f"--{name}".replace("_", "-"), "X", text, type=float) for name, text in SIZING.items()),
)


def _expanded(paths: Sequence[Path], tool: str | None) -> list[Path]:
    """The paths, with the files of the tool, or of any, in place of each directory. Raises ``NotPossible``."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            found = files_of(path, tool)
            if not found:
                raise NotPossible(f"{path} has no files of {tools() if tool is None else IMPORTERS[tool].title}.")
            files += found
        else:
            files.append(path)
    return files


class Command(RunningCommand):
    epilog = EXIT_CODES
    below = MappingProxyType({"experiment": ExperimentCommand})
    noun, empty, loss = "run", "No runs yet.", "Its results are deleted with it."
    listed = shown = RunResource
    table, one = RUNS, argument("key", "RUN", "id of the run", type=int)
    filters = (
        NUMBER,
        *(
            argument(f"--{name}", "NAME", f"only runs of this {name}", default="")
            for name in ("dataset", "model", "status", "tag")
        ),
        argument("--name", "TEXT", "only runs with this in their name", default=""),
        switch("--pinned", "only pinned runs"),
    )
    help = f"Start, follow, compare, estimate and verify benchmark runs. {EXIT_CODES}"

    def rows(self, *, full: bool = False, number: int = 0, status: str = "", **filters: Any) -> QuerySet[Run]:
        if status and status not in RunStatus.values:
            raise NotPossible(f"Status {status} does not exist. Choose from: {', '.join(RunStatus.values)}.")
        chosen = {name: filters[name] for name in ("dataset", "model", "name", "tag", "pinned")}
        return run_list(RunFilters(status=status, **chosen), full=full)[: max(number, 1)]

    def row(self, key: int) -> Run:
        return find_run(key)

    def remove(self, row: Run) -> None:
        control.delete_run(row)

    @action("Estimate a run without starting it.", *SIZE, JSON, request=True)
    def plan(self, *, to_see: float | None, same_within: float | None, as_json: bool, **options: Any) -> None:
        data = request_data(options)
        goals = {"to_see": to_see, "same_within": same_within}
        goals = {name: points for name, points in goals.items() if points is not None}
        if not goals:
            plan = plan_run(data)
            self.print_either(as_json, Plan.of(plan, reader_of()), printing.plan_text(plan))
            return
        chosen = {name: options[name] for name in SIZING if options[name] is not None}
        sizing = size_run({**data, **goals, **chosen})
        lines = [sizing.needed, sizing.assuming, sizing.available]
        lines += [outlook.sentence for outlook in sizing.fewer_tasks]
        lines += ["", "Estimate for a run of that size:", printing.plan_text(sizing.plan)]
        self.print_either(as_json, Size.of(sizing, reader_of()), "\n".join(lines))

    @action(
        "Print what an agent did for a result, step by step.",
        argument("result", "RESULT", "id of the result", type=int),
        argument("--from", "STEP", "first step, by default 1", type=int, default=1, dest="first"),
        NUMBER,
        JSON,
    )
    def steps(self, result: int, *, first: int, number: int, as_json: bool, **options: Any) -> None:
        try:
            steps = Steps(result_of_any_run(result))
        except Result.DoesNotExist:
            raise NotPossible(f"Result {result} does not exist.") from None
        rows = list(steps.rows[max(first, 1) - 1 :][: max(number, 1)])
        if as_json:
            self.print_json([StepResource.of(row, reader_of()) for row in rows])
        else:
            self.print_table(STEPS, rows, "No steps are stored for this result.")

    @action("Rebuild a run's prompts and compare their hashes.", RUN, JSON)
    def verify(self, run: int, *, as_json: bool, **options: Any) -> int:
        verified = find_run(run)
        verification = control.verify_run(verified)
        if as_json:
            self.print_json(reports.verification_json(verified, verification, code_version()))
        else:
            text = printing.verification_text(verified, verification, code_version())
            self.print_outcome(text, errors=not verification.holds)
        return OK if verification.holds else MISSED

    @action(
        "Compare every pair of runs on their shared tasks.",
        argument("runs", "RUN", f"2 to {MOST_RUNS} run ids", type=int, nargs="+"),
        argument("--metric", "NAME", "only this metric; p-values stay adjusted for all metrics", default=""),
        argument("--margin", "POINTS", "points within which two runs are the same, by default 2"),
        JSON,
    )
    def compare(self, runs: Sequence[int], metric: str, margin: str | None, *, as_json: bool, **options: Any) -> None:
        if not 2 <= len(set(runs)) <= MOST_RUNS:
            raise NotPossible(f"Specify 2 to {MOST_RUNS} different runs.")
        chosen = runs_to_compare([find_run(run).pk for run in runs])
        metrics = common_metrics(chosen)
        if not metrics or metric not in ("", *metrics):
            shared = f"They share: {', '.join(metrics)}." if metrics else "They share no score from 0 to 1."
            raise NotPossible(f"These runs cannot be compared. {shared}")
        comparisons = [
            each for each in compared_runs(chosen, margin=read_margin(margin)) if metric in ("", each.metric)
        ]
        compared = Comparisons.of(chosen, reader_of(), comparisons=comparisons)
        self.print_either(as_json, compared, printing.comparisons_text(comparisons))

    @action(
        "Change the name, tags, notes or pin of a run, or make it the reference run of its dataset.",
        RUN,
        *NAME_AND_TAGS,
        argument("--notes", "TEXT", "notes on the run"),
        argument("--pin", None, "whether lists show the run first", action=BooleanOptionalAction, dest="pinned"),
        argument(
            "--baseline",
            None,
            "whether comparisons on its dataset use it as the reference run",
            action=BooleanOptionalAction,
        ),
        JSON,
    )
    def edit(self, run: int, *, as_json: bool, **options: Any) -> None:
        names = ("name", "tags", "notes", "pinned", "baseline")
        given = {name: options[name] for name in names if options[name] is not None}
        if "tags" in given:
            given["tags"] = [tag for tag in given["tags"] if tag]  # --tag "" removes all tags
        edit_run(find_run(run), given)
        self._print_changed(run, f"Run {run} saved.", as_json)

    @action("Stop sending requests. Stored answers are kept.", RUN, JSON)
    def cancel(self, run: int, *, as_json: bool, **options: Any) -> None:
        control.cancel_run(find_run(run))
        self._print_changed(run, f"{done_sentence('cancel', run)} Stored answers are kept.", as_json)

    @action("Continue a canceled, failed or paused run.", RUN, JSON)
    def resume(self, run: int, *, as_json: bool, **options: Any) -> None:
        stored = find_run(run)
        self._print_continued("resume", stored, control.resume_run(stored), as_json)

    @action("Repeat only the results that ended in an error.", RUN, JSON)
    def retry_failed(self, run: int, *, as_json: bool, **options: Any) -> None:
        stored = find_run(run)
        self._print_continued("retry", stored, control.retry_failed(stored), as_json)

    def _print_continued(self, action: str, run: Run, count: int, as_json: bool) -> None:
        text = (
            f"{done_sentence(action, run.pk, run.unasked)} {plural(count, 'result')} to do. "
            f"To follow it: {command(f'benchmark show {run.pk}')} --follow"
        )
        self._print_changed(run.pk, text, as_json)

    def _print_changed(self, run: int, text: str, as_json: bool) -> None:
        """The run as it is after a change, or the sentence that says what changed."""
        self.print_either(as_json, RunResource.of(find_run(run), reader_of()), text)

    @action("Run tasks of the same kinds from a new secret seed.", RUN, JSON)
    def check_contamination(self, run: int, *, as_json: bool, **options: Any) -> None:
        self.print_queued(check_contamination(find_run(run)), as_json)
        self.stderr.write(f"After it ends, {command(f'benchmark show {run}')} prints the difference.")

    @action(
        "Write the results of runs to one file.",
        argument("runs", "RUN", "number of a run; repeatable", type=int, nargs="+"),
        argument("--output", "FILE", f"file of the export, ending in .{', .'.join(RESULTS)}", type=Path),
        JSON,
    )
    def export(self, *, runs: Sequence[int], output: Path | None, as_json: bool, **options: Any) -> None:
        form = output.suffix.removeprefix(".") if output else ""
        if output is None or form not in RESULTS:
            raise NotPossible(f"Name a file with --output that ends in .{', .'.join(RESULTS)}.")
        try:
            pieces = export_results(runs_named(runs), form)
        except Run.DoesNotExist as missing:
            raise NotPossible(f"{missing} To list runs: {command('benchmark list')}") from None
        with writing(output), output.open("wb") as file:
            for piece in pieces:
                file.write(piece)
        done = {"file": str(output), "bytes": output.stat().st_size}
        self.print_either(as_json, done, f"Wrote {output}.")

    @action(
        "Import runs of other tools from files.",
        argument(
            "files",
            "FILE",
            "a log, results or test run; samples_*.jsonl and results_*.json; a directory stands for those in it",
            nargs="+",
            type=Path,
        ),
        argument("--format", None, "tool of the file, by default detected", choices=IMPORTERS.names(), dest="form"),
        argument("--slug", "SLUG", "slug of the new dataset for the tasks"),
        argument("--dataset", "SLUG", "existing dataset that has these tasks"),
        argument("--model", "NAME", "model that answered, if the file does not name it"),
        argument(
            "--metric",
            "NAME",
            f"metric to score the answers with; repeatable; by default {', '.join(OUR_METRICS)}",
            action="append",
        ),
        JSON,
        name="import",
    )
    def import_files(
        self,
        files: Sequence[Path],
        *,
        form: str | None,
        slug: str | None,
        dataset: str | None,
        model: str | None,
        metric: Sequence[str] | None,
        as_json: bool,
        **options: Any,
    ) -> None:
        if slug and dataset:
            raise NotPossible("--slug names a new dataset, and --dataset an existing one. Use one of them.")
        imported: list[Imported] = []
        paths: list[str] = []
        refused: list[str] = []
        for log in logs_in([(path, path.name) for path in _expanded(files, form)], form):
            if log.importer is None and log.files[0].path not in files:
                self.stderr.write(f"Skipped {log.files[0].path}, which is not a log.")
                continue
            try:
                results = import_log(log, slug=slug, dataset=dataset, model=model, metrics=metric or OUR_METRICS)
            except NotPossible as problem:
                refused.append(problem.message)
                continue
            for result in results:
                run, before = result.run, result.run.environment.get("file", log.name)
                how = "imported" if result.is_new else f"already imported from {before}"
                known_as = f"{run.model} (there {run.named_there})" if run.named_there else run.model
                on = f"{known_as} on {run.dataset.slug}, {plural(run.total, 'result')}"
                imported.append(result)
                paths.append(str(log.files[0].path))
                if not as_json:
                    self.stdout.write(f"Run {run.pk} {how}: {on}: {page_address(run)}")
                    for sentence in result.unused:
                        self.stdout.write(f"  {sentence}")
        told = noted(imported)
        if as_json:
            self.print_json(
                [
                    {
                        "file": path,
                        "is_new": each.is_new,
                        "unused": [*each.unused],
                        **json_of(RunResource.of(each.run, reader_of())),
                    }
                    for path, each in zip(paths, told, strict=True)
                ]
            )
        for sentence in told[0].unused[len(imported[0].unused) :] if told and not as_json else ():
            self.stdout.write(sentence)
        if refused:
            raise NotPossible("\n".join(dict.fromkeys(refused)))
