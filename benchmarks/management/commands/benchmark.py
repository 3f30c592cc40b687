"""``manage.py benchmark ACTION``: runs from a terminal or a pipeline. ``--help`` lists the actions.

Exit codes: 0 success; 1 a requirement was not met (``--fail-under``, ``--fail-on-regression``) or prompts differ
(``verify``); 2 request refused or invalid usage; 3 the run failed, was stopped, or has more errors than
``--allow-errors``; 130 interrupted.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.core.management import CommandError, CommandParser

from benchmarks.imports.formats import FORMATS
from benchmarks.management import gates, printing, reports
from benchmarks.management.actions import (
    POSITIONAL,
    ActionCommand,
    add_json_option,
    add_request_options,
    request_data,
)
from benchmarks.management.following import Progress, follow
from benchmarks.models import LIVE, Run, RunStatus
from benchmarks.page_urls import page_address
from benchmarks.presentation.actions import done_sentence
from benchmarks.presentation.labels import run_status
from benchmarks.presentation.numbers import MISSING, money, number, plural
from benchmarks.queries.compare import MOST_RUNS, runs_to_compare
from benchmarks.queries.runs import RunFilters, run_detail, run_list
from benchmarks.queries.statistics import Compared, common_metrics, compared_runs, contamination_check
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.imports import OUR_METRICS, import_runs
from benchmarks.services.operations.code_version import code_version
from benchmarks.services.runs import control
from benchmarks.services.runs.contamination import check_contamination
from benchmarks.services.runs.estimate import RunPlan, plan_run
from benchmarks.services.runs.sizing import size_for
from benchmarks.services.runs.start import start_run, validated
from benchmarks.statistics.planning import SampleSize

EXIT_CODES = (
    "Exit codes: 0 success; 1 a requirement was not met or prompts differ; 2 request refused or invalid usage; "
    "3 the run failed, was stopped, or has too many errors; 130 interrupted."
)
LIST_HEAD = ("run", "status", "dataset", "model", "done", "errors", "first metric", "cost")
SIZING = {
    "power": "power, by default 0.8",
    "discordance": "share of tasks on which the two runs differ, by default as in earlier runs on the dataset, or 0.3",
    "correlation": "correlation of the differences within a canvas, by default 0.1",
    "noise_share": "share of the variance that repeats average out, by default 0",
}


class Command(ActionCommand):
    epilog = EXIT_CODES
    help = f"Start, follow, compare, estimate and verify benchmark runs. {EXIT_CODES}"

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        run = self.action(actions, "run", "Start a run, follow it, and print the results.", self.start)
        add_request_options(run)
        run.add_argument("--detach", action="store_true", help="return as soon as the run is queued")
        _add_requirements(run)
        _add_reports(run)
        listed = self.action(actions, "list", "List the latest runs.", self.list_runs)
        listed.add_argument("--number", type=int, default=20, metavar="N", help="number of runs, by default 20")
        for name in ("dataset", "model", "status"):
            listed.add_argument(f"--{name}", default="", metavar="NAME", help=f"only runs of this {name}")
        show = self._on_run(actions, "show", "Print a run.", self.show)
        show.add_argument("--follow", action="store_true", help="wait until it has ended")
        _add_requirements(show)
        _add_reports(show)
        plan = self.action(actions, "plan", "Estimate a run without starting it.", self.plan)
        add_request_options(plan)
        _add_sizing(plan)
        compare = self.action(actions, "compare", "Compare every pair of runs on their shared tasks.", self.compare)
        compare.add_argument("runs", type=int, nargs="+", metavar="RUN", help=f"2 to {MOST_RUNS} run ids")
        compare.add_argument(
            "--metric", default="", metavar="NAME", help="only this metric; p-values stay adjusted for all metrics"
        )
        add_json_option(compare)
        verify = self._on_run(actions, "verify", "Rebuild a run's prompts and compare their hashes.", self.verify)
        add_json_option(verify)
        self._on_run(actions, "cancel", "Stop sending requests. Stored answers are kept.", self.cancel)
        self._on_run(actions, "resume", "Continue a canceled, failed or paused run.", self.resume)
        self._on_run(actions, "retry-failed", "Repeat only the results that ended in an error.", self.retry_failed)
        check = "Run the same questions on canvases generated with a new secret seed."
        self._on_run(actions, "check-contamination", check, self.check_contamination)
        importing = self.action(actions, "import", "Import Inspect or promptfoo runs from files.", self.import_files)
        importing.add_argument(
            "files", nargs="+", type=Path, metavar="FILE", help="an .eval or .json log, or results.json"
        )
        importing.add_argument("--format", choices=FORMATS, dest="form", help="tool of the file, by default detected")
        into = importing.add_mutually_exclusive_group()
        into.add_argument("--slug", metavar="SLUG", help="slug of the new dataset for the tasks")
        into.add_argument("--dataset", metavar="SLUG", help="existing dataset that has these tasks")
        importing.add_argument(
            "--metric",
            action="append",
            metavar="NAME",
            help=f"metric to score the answers with; repeatable; by default {', '.join(OUR_METRICS)}",
        )

    def _on_run(self, actions: Any, name: str, text: str, run: Callable[..., int]) -> ArgumentParser:
        parser = self.action(actions, name, text, run)
        parser.add_argument("run", type=int, metavar="RUN", help="id of the run")
        return parser

    def refusal_text(self, refusal: InvalidRequest) -> str:
        lines = ["Request refused:"]
        for field, messages in refusal.errors.items():
            option = field if field == POSITIONAL else f"--{field}".replace("_", "-")
            lines.append(f"  {option}: {' '.join(messages)}")
        return "\n".join(lines)

    def start(self, *, detach: bool, **options: Any) -> int:
        data = request_data(options)
        # Before anything is spent: a requirement that cannot be checked refuses the run.
        _check_requirements(validated(data)["metrics"], options)
        run = start_run(data)
        if detach:
            return self._print_queued(run, options["as_json"])
        self.stderr.write(f"Run {run.pk} queued: {page_address(run)}", self.style.NOTICE)
        return self._follow_and_judge(run, **options)

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
        return gates.INTERRUPTED

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
            self._write(junit, lambda: reports.write_junit(junit, run, shown))
        if markdown is not None:
            text = reports.markdown(run, shown, comparisons)
            self._write(markdown, lambda: _append(markdown, text))
        return gates.exit_code(ending, others) if run.status not in LIVE else gates.OK

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
            style = self.style.SUCCESS if gate.met else self.style.ERROR
            self.stdout.write(style(f"{'passed' if gate.met else 'failed'}: {gate.name} ({gate.words})"))

    def _print_queued(self, run: Run, as_json: bool) -> int:
        if as_json:
            self.print_json(reports.run_json(run))
        else:
            self.stdout.write(f"Run {run.pk} queued: {page_address(run)}")
            self.stdout.write(f"To follow it: manage.py benchmark show {run.pk} --follow")
        return gates.OK

    def list_runs(self, *, number: int, dataset: str, model: str, status: str, **options: Any) -> int:
        if status and status not in RunStatus.values:
            raise NotPossible(f"Status {status} does not exist. Choose from: {', '.join(RunStatus.values)}.")
        rows = [_row(run) for run in run_list(RunFilters(dataset, model, status))[: max(number, 1)]]
        self.stdout.write(printing.table(LIST_HEAD, rows, right=(0, 4, 5)) if rows else "No runs yet.")
        return gates.OK

    def plan(self, *, to_see: float | None, as_json: bool, **options: Any) -> int:
        data = request_data(options)
        if to_see is None:
            return self._print_plan(plan_run(data), as_json)
        sizing = size_for(data, to_see / 100, **{name: options[name] for name in SIZING if options[name] is not None})
        if not as_json:
            self.stdout.write(f"{sizing.needed}\n{sizing.assuming}\n{sizing.available}\n")
            self.stdout.write("Estimate for a run of that size:")
        sizes = {name: getattr(sizing.size, name) for name in SampleSize.__slots__}
        assumptions = {"discordance": sizing.design.discordance, "assuming": sizing.assuming}
        return self._print_plan(sizing.plan, as_json, **sizes, **assumptions)

    def _print_plan(self, plan: RunPlan, as_json: bool, **more: Any) -> int:
        if as_json:
            self.print_json({**more, **{name: getattr(plan, name) for name in RunPlan.__slots__}})
        else:
            self.stdout.write(printing.plan_text(plan))
        return gates.OK

    def verify(self, run: int, *, as_json: bool, **options: Any) -> int:
        verified = _run(run)
        verification = control.verify_run(verified)
        if as_json:
            self.print_json(reports.verification_json(verified, verification, code_version()))
        else:
            text = printing.verification_text(verified, verification, code_version())
            self.stdout.write(self.style.SUCCESS(text) if verification.holds else self.style.ERROR(text))
        return gates.OK if verification.holds else gates.MISSED

    def compare(self, runs: Sequence[int], metric: str, *, as_json: bool, **options: Any) -> int:
        if not 2 <= len(set(runs)) <= MOST_RUNS:
            raise NotPossible(f"Specify 2 to {MOST_RUNS} different runs.")
        chosen = runs_to_compare([_run(run).pk for run in runs])
        metrics = common_metrics(chosen)
        if not metrics or metric not in ("", *metrics):
            shared = f"They share: {', '.join(metrics)}." if metrics else "They share no score from 0 to 1."
            raise NotPossible(f"These runs cannot be compared. {shared}")
        comparisons = [each for each in compared_runs(chosen) if metric in ("", each.metric)]
        if as_json:
            self.print_json([reports.comparison_json(each) for each in comparisons])
        else:
            self.stdout.write(printing.comparisons_text(comparisons))
        return gates.OK

    def cancel(self, run: int, **options: Any) -> int:
        control.cancel_run(_run(run))
        self.stdout.write(f"{done_sentence('cancel', run)} Stored answers are kept.")
        return gates.OK

    def resume(self, run: int, **options: Any) -> int:
        return self._print_continued("resume", run, control.resume_run(_run(run)))

    def retry_failed(self, run: int, **options: Any) -> int:
        return self._print_continued("retry", run, control.retry_failed(_run(run)))

    def _print_continued(self, action: str, run: int, count: int) -> int:
        self.stdout.write(
            f"{done_sentence(action, run)} {plural(count, 'result')} to do. "
            f"To follow it: manage.py benchmark show {run} --follow"
        )
        return gates.OK

    def check_contamination(self, run: int, **options: Any) -> int:
        self._print_queued(check_contamination(_run(run)), as_json=False)
        self.stdout.write(f"After it ends, manage.py benchmark show {run} prints the difference.")
        return gates.OK

    def import_files(
        self,
        files: Sequence[Path],
        *,
        form: str | None,
        slug: str | None,
        dataset: str | None,
        metric: Sequence[str] | None,
        **options: Any,
    ) -> int:
        for path in files:
            for result in import_runs(path, form=form, slug=slug, dataset=dataset, metrics=metric or OUR_METRICS):
                run, how = result.run, "imported" if result.is_new else "already imported from this file"
                on = f"{run.model} on {run.dataset.slug}, {plural(run.total, 'result')}"
                self.stdout.write(f"Run {run.pk} {how}: {on}: {page_address(run)}")
        return gates.OK

    def _write(self, path: Path, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}", returncode=gates.REFUSED) from None


def _add_requirements(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("requirements for pipelines")
    group.add_argument(
        "--fail-under",
        action="append",
        default=[],
        metavar="METRIC=X",
        help="exit with 1 if the mean of a metric is below X, for example, correctness=0.8; repeatable",
    )
    group.add_argument(
        "--allow-errors", type=int, default=0, metavar="N", help="exit with 3 only if more results have errors"
    )
    group.add_argument("--compare-to", type=int, metavar="RUN", help="compare with an earlier run on shared tasks")
    group.add_argument(
        "--fail-on-regression",
        action="store_true",
        help="exit with 1 if a metric is significantly worse than in --compare-to (paired test)",
    )


def _add_reports(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("reports")
    add_json_option(group)
    group.add_argument("--junit", type=Path, metavar="FILE", help="write a JUnit XML report")
    group.add_argument("--markdown", type=Path, metavar="FILE", help="append a Markdown summary")


def _add_sizing(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("size")
    group.add_argument(
        "--to-see",
        type=float,
        metavar="POINTS",
        help="tasks needed to detect a difference of this many points",
    )
    for name, text in SIZING.items():
        group.add_argument(f"--{name}".replace("_", "-"), type=float, metavar="X", help=text)
    add_json_option(group)


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


def _row(run: Run) -> tuple[str, ...]:
    rows = printing.metric_rows(run)
    return (
        str(run.pk),
        run_status(run.status),
        run.dataset.slug,
        run.model_label,
        f"{number(run.done)}/{number(run.total)}",
        number(run.errors),
        f"{rows[0][0]} {rows[0][1]}" if rows else MISSING,
        money(run.cost_usd),
    )


def _append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)
