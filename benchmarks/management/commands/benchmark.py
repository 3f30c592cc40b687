"""``manage.py benchmark ACTION``: runs from a terminal or a pipeline. ``--help`` lists the actions.

Exit codes: 0 success; 1 a requirement was not met (``--fail-under``, ``--fail-on-regression``) or prompts differ
(``verify``); 2 request refused or invalid usage; 3 the run failed, was stopped, or has more errors than
``--allow-errors``; 130 interrupted.
"""

from __future__ import annotations

import sys
from argparse import BooleanOptionalAction
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.imports.formats import FORMATS, with_summaries
from benchmarks.management import experiments, gates, printing, reports
from benchmarks.management.actions import (
    INTERRUPTED,
    JSON,
    MISSED,
    NAME_AND_TAGS,
    OK,
    RUN_FAILED,
    ActionCommand,
    action,
    argument,
    group,
    parameter_options,
    request_data,
    switch,
    writing,
)
from benchmarks.management.following import Progress, follow
from benchmarks.models import LIVE, Experiment, Run, RunStatus
from benchmarks.page_urls import page_address
from benchmarks.presentation.actions import done_sentence
from benchmarks.presentation.labels import run_status
from benchmarks.presentation.numbers import MISSING, money, number, plural
from benchmarks.queries.compare import runs_to_compare
from benchmarks.queries.experiments import experiment_detail, experiment_runs
from benchmarks.queries.matrix_export import MATRIX_TYPES, matrix_file
from benchmarks.queries.runs import RunFilters, run_detail, run_list
from benchmarks.queries.statistics import Compared, common_metrics, compared_runs, contamination_check
from benchmarks.queries.task_grid import MOST_RUNS
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.experiments.files import read_experiment_file
from benchmarks.services.experiments.start import plan_experiment, start_experiment
from benchmarks.services.experiments.starter import STARTER, starter_experiment
from benchmarks.services.imports import OUR_METRICS, import_runs
from benchmarks.services.operations.code_version import code_version
from benchmarks.services.runs import control
from benchmarks.services.runs.contamination import check_contamination
from benchmarks.services.runs.edit import edit_run
from benchmarks.services.runs.estimate import plan_run
from benchmarks.services.runs.requests import validated
from benchmarks.services.runs.rescoring import PARAMETERS as RESCORING
from benchmarks.services.runs.rescoring import plan_rescoring, start_rescoring
from benchmarks.services.runs.sizing import size_run
from benchmarks.services.runs.start import start_run
from benchmarks.statistics.planning import SampleSize

EXIT_CODES = (
    "Exit codes: 0 success; 1 a requirement was not met or prompts differ; 2 request refused or invalid usage; "
    "3 the run failed, was stopped, or has too many errors; 130 interrupted."
)
SIZING = {
    "power": "power, by default 0.8",
    "discordance": "share of tasks on which the two runs differ, by default as in earlier runs on the dataset, or 0.3",
    "correlation": "correlation of the differences within a canvas, by default 0.1",
    "noise_share": "share of the variance that repeats average out, by default 0",
}
RUN = argument("run", "RUN", "id of the run", type=int)
REQUIREMENTS = group(
    "requirements for pipelines",
    argument(
        "--fail-under",
        "METRIC=X",
        "exit with 1 if the mean of a metric is below X, for example, correctness=0.8; repeatable",
        action="append",
        default=[],
    ),
    argument("--allow-errors", "N", "exit with 3 only if more results have errors", type=int, default=0),
    argument("--compare-to", "RUN", "compare with an earlier run on shared tasks", type=int),
    switch("--fail-on-regression", "exit with 1 if a metric is significantly worse than in --compare-to (paired test)"),
)
REPORTS = group(
    "reports",
    JSON,
    argument("--junit", "FILE", "write a JUnit XML report", type=Path),
    argument("--markdown", "FILE", "append a Markdown summary", type=Path),
)
SIZE = group(
    "size",
    argument("--to-see", "POINTS", "tasks needed to detect a difference of this many points", type=float),
    *(argument(f"--{name}".replace("_", "-"), "X", text, type=float) for name, text in SIZING.items()),
)


class Command(ActionCommand):
    epilog = EXIT_CODES
    help = f"Start, follow, compare, estimate and verify benchmark runs. {EXIT_CODES}"

    @action(
        "Start a run, follow it, and print the results.",
        switch("--detach", "return as soon as the run is queued"),
        *REQUIREMENTS,
        *REPORTS,
        name="run",
        request=True,
    )
    def start(self, *, detach: bool, **options: Any) -> int | None:
        data = request_data(options)
        # Before anything is spent: a requirement that cannot be checked refuses the run.
        _check_requirements(validated(data)["metrics"], options)
        run = start_run(data)
        if detach:
            self._print_queued(run, options["as_json"])
            return None
        self.stderr.write(f"Run {run.pk} queued: {page_address(run)}", self.style.NOTICE)
        return self._follow_and_judge(run, **options)

    @action("Print a run.", RUN, switch("--follow", "wait until it has ended"), *REQUIREMENTS, *REPORTS)
    def show(self, run: int, *, follow: bool, **options: Any) -> int:
        shown = _run(run)
        _check_requirements(shown.metrics, options)
        if follow and shown.status in LIVE:
            return self._follow_and_judge(shown, **options)
        return self._judge(shown, **options)

    def _follow_and_judge(self, run: Run, **options: Any) -> int:
        try:
            follow(run.pk, Progress(sys.stderr), self.stderr.write)
        except KeyboardInterrupt:
            return self._interrupted(run)
        return self._judge(run_detail(run.pk), **options)

    def _interrupted(self, run: Run) -> int:
        """Ask on a terminal whether to cancel the run; otherwise say how to follow and cancel it."""
        answer = ""
        if sys.stdin.isatty() and sys.stderr.isatty():
            answer = input(f"\nCancel run {run.pk}? If not, workers continue it. [y/N] ")
        if answer.strip().lower().startswith("y"):
            control.cancel_run(run)
            self.stderr.write(f"{done_sentence('cancel', run.pk)} Stored answers are kept.")
        else:
            self.stderr.write(
                f"Run {run.pk} continues in the background. To follow it: manage.py benchmark show {run.pk} --follow. "
                f"To cancel it: manage.py benchmark cancel {run.pk}"
            )
        return INTERRUPTED

    def _judge(
        self,
        run: Run,
        *,
        fail_under: Sequence[str],
        allow_errors: int,
        compare_to: int | None,
        fail_on_regression: bool,
        as_json: bool,
        junit: Path | None,
        markdown: Path | None,
        **options: Any,
    ) -> int:
        """Print the run, check the requirements, and write the reports."""
        comparisons = gates.compare_with(compare_to, run.pk) if compare_to is not None else []
        others = gates.threshold_gates(run, gates.read_thresholds(fail_under, run.metrics))
        if fail_on_regression:
            others += gates.regression_gates(comparisons)
        ending = gates.ending_gate(run, allow_errors)
        shown = [ending, *others] if run.status not in LIVE else others
        if as_json:
            self.print_json(reports.run_json(run, shown, comparisons))
        else:
            self._print_run(run, others, comparisons)
        if junit is not None:
            with writing(junit):
                reports.write_junit(junit, run, shown)
        if markdown is not None:
            with writing(markdown), markdown.open("a", encoding="utf-8") as file:
                file.write(reports.markdown(run, shown, comparisons))
        return gates.exit_code(ending, others) if run.status not in LIVE else OK

    def _print_run(self, run: Run, requirements: Sequence[gates.Gate], comparisons: Sequence[Compared]) -> None:
        self.stdout.write(printing.run_text(run))
        if statistics := printing.statistics_text(run):
            self.stdout.write(f"\n{statistics}\n")
        if run.representation and (check := contamination_check(run)):
            self.stdout.write(check.sentence)
        in_requirements = {gate.words for gate in requirements}
        for compared in comparisons:
            if compared.change_sentence not in in_requirements:
                self.stdout.write(f"{compared.metric}: {compared.change_sentence}")
        for gate in requirements:
            text = f"{'passed' if gate.met else 'failed'}: {gate.name} ({gate.words})"
            self.print_outcome(text, errors=not gate.met)

    def _print_queued(self, run: Run, as_json: bool) -> None:
        text = f"Run {run.pk} queued: {page_address(run)}\nTo follow it: manage.py benchmark show {run.pk} --follow"
        self.print_either(as_json, reports.run_json(run), text)

    @action(
        "List the latest runs.",
        argument("--number", "N", "number of runs, by default 20", type=int, default=20),
        *(
            argument(f"--{name}", "NAME", f"only runs of this {name}", default="")
            for name in ("dataset", "model", "status", "tag")
        ),
        argument("--name", "TEXT", "only runs with this in their name", default=""),
        switch("--pinned", "only pinned runs"),
        JSON,
        name="list",
    )
    def list_runs(self, *, number: int, status: str, as_json: bool, **options: Any) -> None:
        if status and status not in RunStatus.values:
            raise NotPossible(f"Status {status} does not exist. Choose from: {', '.join(RunStatus.values)}.")
        chosen = {name: options[name] for name in ("dataset", "model", "name", "tag", "pinned")}
        runs = run_list(RunFilters(status=status, **chosen))[: max(number, 1)]
        if as_json:
            self.print_json([reports.run_json(run) for run in runs])
        else:
            self.print_rows([_row(run) for run in runs], "No runs yet.", right=(0, 5, 6))

    @action("Estimate a run without starting it.", *SIZE, JSON, request=True)
    def plan(self, *, to_see: float | None, as_json: bool, **options: Any) -> None:
        data = request_data(options)
        if to_see is None:
            plan, size, lines = plan_run(data), {}, []
        else:
            chosen = {name: options[name] for name in SIZING if options[name] is not None}
            sizing = size_run({**data, "to_see": to_see, **chosen})
            plan, size = sizing.plan, {name: getattr(sizing.size, name) for name in SampleSize.__slots__}
            size |= {"discordance": sizing.design.discordance, "assuming": sizing.assuming}
            size["fewer_tasks"] = [asdict(outlook) for outlook in sizing.fewer_tasks]
            lines = [sizing.needed, sizing.assuming, sizing.available]
            lines += [outlook.sentence for outlook in sizing.fewer_tasks]
            lines += ["", "Estimate for a run of that size:"]
        self.print_either(as_json, {**size, **asdict(plan)}, "\n".join([*lines, printing.plan_text(plan)]))

    @action("Rebuild a run's prompts and compare their hashes.", RUN, JSON)
    def verify(self, run: int, *, as_json: bool, **options: Any) -> int:
        verified = _run(run)
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
        JSON,
    )
    def compare(self, runs: Sequence[int], metric: str, *, as_json: bool, **options: Any) -> None:
        if not 2 <= len(set(runs)) <= MOST_RUNS:
            raise NotPossible(f"Specify 2 to {MOST_RUNS} different runs.")
        chosen = runs_to_compare([_run(run).pk for run in runs])
        metrics = common_metrics(chosen)
        if not metrics or metric not in ("", *metrics):
            shared = f"They share: {', '.join(metrics)}." if metrics else "They share no score from 0 to 1."
            raise NotPossible(f"These runs cannot be compared. {shared}")
        comparisons = [each for each in compared_runs(chosen) if metric in ("", each.metric)]
        rows = [reports.comparison_json(each) for each in comparisons]
        self.print_either(as_json, rows, printing.comparisons_text(comparisons))

    @action(
        "Change the name, tags, notes or pin of a run, or make it the baseline of its dataset.",
        RUN,
        *NAME_AND_TAGS,
        argument("--notes", "TEXT", "notes on the run"),
        argument("--pin", None, "whether lists show the run first", action=BooleanOptionalAction, dest="pinned"),
        argument(
            "--baseline",
            None,
            "whether comparisons on its dataset use it as the baseline",
            action=BooleanOptionalAction,
        ),
        JSON,
    )
    def edit(self, run: int, *, as_json: bool, **options: Any) -> None:
        names = ("name", "tags", "notes", "pinned", "baseline")
        given = {name: options[name] for name in names if options[name] is not None}
        if "tags" in given:
            given["tags"] = [tag for tag in given["tags"] if tag]  # --tag "" removes all tags
        edit_run(_run(run), given)
        self._print_changed(run, f"Run {run} saved.", as_json)

    @action("Stop sending requests. Stored answers are kept.", RUN, JSON)
    def cancel(self, run: int, *, as_json: bool, **options: Any) -> None:
        control.cancel_run(_run(run))
        self._print_changed(run, f"{done_sentence('cancel', run)} Stored answers are kept.", as_json)

    @action("Continue a canceled, failed or paused run.", RUN, JSON)
    def resume(self, run: int, *, as_json: bool, **options: Any) -> None:
        stored = _run(run)
        self._print_continued("resume", stored, control.resume_run(stored), as_json)

    @action("Repeat only the results that ended in an error.", RUN, JSON)
    def retry_failed(self, run: int, *, as_json: bool, **options: Any) -> None:
        stored = _run(run)
        self._print_continued("retry", stored, control.retry_failed(stored), as_json)

    @action(
        "Score the stored answers of a run again, as a run of its own. Its model is not asked.",
        RUN,
        argument("--version", "N", "version of the dataset with the references; by default that of the run", type=int),
        switch("--plan", "estimate what judging takes, without starting it"),
        switch("--detach", "return as soon as the run is queued"),
        *NAME_AND_TAGS,
        *parameter_options(RESCORING),
        *REQUIREMENTS,
        *REPORTS,
    )
    def rescore(self, run: int, *, version: int | None, plan: bool, detach: bool, **options: Any) -> int | None:
        source = _run(run)
        data = request_data(options) | ({} if version is None else {"version": version})
        if plan:
            planned = plan_rescoring(source, data)
            self.print_either(options["as_json"], asdict(planned), printing.plan_text(planned))
            return None
        _check_requirements(data.get("metrics", []), options)
        again = start_rescoring(source, data)
        if detach:
            self._print_queued(again, options["as_json"])
            return None
        self.stderr.write(f"Run {again.pk} queued: {page_address(again)}", self.style.NOTICE)
        return self._follow_and_judge(again, **options)

    def _print_continued(self, action: str, run: Run, count: int, as_json: bool) -> None:
        text = (
            f"{done_sentence(action, run.pk, run.unasked)} {plural(count, 'result')} to do. "
            f"To follow it: manage.py benchmark show {run.pk} --follow"
        )
        self._print_changed(run.pk, text, as_json)

    def _print_changed(self, run: int, text: str, as_json: bool) -> None:
        """The run as it is after a change, or the sentence that says what changed."""
        self.print_either(as_json, reports.run_json(_run(run)), text)

    @action("Run the same questions on canvases generated with a new secret seed.", RUN, JSON)
    def check_contamination(self, run: int, *, as_json: bool, **options: Any) -> None:
        self._print_queued(check_contamination(_run(run)), as_json)
        self.stderr.write(f"After it ends, manage.py benchmark show {run} prints the difference.")

    @action(
        "Run, estimate, show or export an experiment.",
        argument("step", None, "run or plan a file, show or export one", choices=("run", "plan", "show", "export")),
        argument("target", "FILE|ID", "a YAML file with the fields of the API, starter, or the id of an experiment"),
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
        if models and step not in ("run", "plan"):
            raise NotPossible("--model applies to run and plan.")
        if step == "plan":
            plan = plan_experiment(_experiment_request(target, models or ()))
            self.print_either(as_json, asdict(plan), experiments.plan_text(plan))
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
            for run in [] if detach else experiment_runs(shown):
                follow(run.pk, Progress(sys.stderr), self.stderr.write)
        runs = experiment_runs(shown)
        text = experiments.experiment_text(shown, runs)
        self.print_either(as_json, experiments.experiment_json(shown, runs), text)
        return OK if all(run.status in LIVE | {RunStatus.COMPLETED} for run in runs) else RUN_FAILED

    @action(
        "Import Inspect, promptfoo, lm-evaluation-harness or DeepEval runs from files.",
        argument(
            "files", "FILE", "a log, results or test run; samples_*.jsonl and results_*.json", nargs="+", type=Path
        ),
        argument("--format", None, "tool of the file, by default detected", choices=FORMATS, dest="form"),
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
        imported: list[dict[str, Any]] = []
        options = {"form": form, "slug": slug, "dataset": dataset, "model": model, "metrics": metric or OUR_METRICS}
        for position, summary in with_summaries([path.name for path in files]).items():
            path, beside = files[position], None if summary is None else files[summary]
            for result in import_runs(path, summary=beside, **options):
                run, how = result.run, "imported" if result.is_new else "already imported from this file"
                on = f"{run.model} on {run.dataset.slug}, {plural(run.total, 'result')}"
                if as_json:
                    imported.append(
                        {
                            "file": str(path),
                            "is_new": result.is_new,
                            "unused": [*result.unused],
                            **reports.run_json(run),
                        }
                    )
                else:
                    self.stdout.write(f"Run {run.pk} {how}: {on}: {page_address(run)}")
                    for sentence in result.unused:
                        self.stdout.write(f"  {sentence}")
        if as_json:
            self.print_json(imported)


def _check_requirements(metrics: Sequence[str], options: Mapping[str, Any]) -> None:
    """Raise ``InvalidRequest`` for requirements that a run with these metrics cannot be checked against."""
    gates.read_thresholds(options["fail_under"], metrics)
    if options["compare_to"] is not None:
        gates.earlier_run(options["compare_to"], metrics)
    elif options["fail_on_regression"]:
        raise InvalidRequest({"fail_on_regression": ["Name the earlier run with --compare-to RUN."]})


def _run(pk: int) -> Run:
    try:
        return run_detail(pk)
    except Run.DoesNotExist:
        raise NotPossible(f"Run {pk} does not exist. To list runs: manage.py benchmark list") from None


def _experiment_request(target: str, models: Sequence[str]) -> dict[str, Any]:
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
        raise NotPossible(f"Experiment {text} does not exist. The dashboard lists all experiments.") from None


def _row(run: Run) -> dict[str, str]:
    rows = printing.metric_rows(run)
    return {
        "run": str(run.pk),
        "name": run.name,
        "status": run_status(run.status),
        "dataset": run.dataset.slug,
        "model": run.model_label,
        "done": f"{number(run.done)}/{number(run.total)}",
        "errors": number(run.errors),
        "first metric": f"{rows[0][0]} {rows[0][1]}" if rows else MISSING,
        "cost": money(run.cost_usd),
    }
