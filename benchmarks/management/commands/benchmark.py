"""``manage.py benchmark ACTION``: runs from a terminal or a pipeline. ``--help`` names the actions.

Exit codes: 0, all is well; 1, a demand was missed (``--fail-under``, ``--fail-on-regression``) or prompts differ
(``verify``); 2, the request was refused or the command called wrongly; 3, the run failed, was stopped, or has more
errors than ``--allow-errors``; 130, interrupted.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from django.core.management import CommandError, CommandParser

from benchmarks.imports.formats import FORMATS
from benchmarks.management import gates, printing, reports, statistics_text
from benchmarks.management.actions import ActionCommand
from benchmarks.management.following import Progress, follow
from benchmarks.management.request_options import POSITIONAL, add_request_options, request_data
from benchmarks.models import LIVE, Run, RunStatus
from benchmarks.page_urls import page_address
from benchmarks.queries.compare import MOST_RUNS, runs_to_compare
from benchmarks.queries.runs import RunFilters, run_detail, run_list
from benchmarks.queries.statistics import Compared, common_metrics, compared_runs, contamination_check
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.imports import OUR_METRICS, import_runs
from benchmarks.services.operations.code_version import code_version
from benchmarks.services.runs import control, sizing
from benchmarks.services.runs.contamination import check_contamination
from benchmarks.services.runs.estimate import RunPlan, plan_run
from benchmarks.services.runs.start import start_run, validated
from benchmarks.statistics.planning import SampleSize

EXIT_CODES = (
    "Exit codes: 0 all is well; 1 a demand was missed or prompts differ; 2 refused or called wrongly; "
    "3 the run failed, was stopped, or has too many errors; 130 interrupted."
)
LIST_HEAD = ("run", "status", "dataset", "model", "done", "errors", "first metric", "cost")


class Command(ActionCommand):
    epilog = EXIT_CODES
    help = f"Start, follow, compare, plan and verify benchmark runs. {EXIT_CODES}"

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        run = self.action(actions, "run", "Start a run, follow it, and print what came of it.", self.start)
        add_request_options(run)
        run.add_argument("--detach", action="store_true", help="return as soon as the run is queued")
        _add_demands(run)
        _add_reports(run)
        listed = self.action(actions, "list", "List the latest runs.", self.list_runs)
        listed.add_argument("--number", type=int, default=20, metavar="N", help="how many, by default 20")
        for name in ("dataset", "model", "status"):
            listed.add_argument(f"--{name}", default="", metavar="NAME", help=f"only those of this {name}")
        show = self._on_run(actions, "show", "Print a run.", self.show)
        show.add_argument("--follow", action="store_true", help="wait until it has ended")
        _add_demands(show)
        _add_reports(show)
        plan = self.action(actions, "plan", "Tell what a run would take, without starting it.", self.plan)
        add_request_options(plan)
        _add_sizing(plan)
        compare = self.action(actions, "compare", "Compare every pair of runs on the tasks they share.", self.compare)
        compare.add_argument("runs", type=int, nargs="+", metavar="RUN", help=f"two to {MOST_RUNS} runs by number")
        compare.add_argument("--metric", default="", metavar="NAME", help="only this metric; the family stays all")
        compare.add_argument("--json", action="store_true", dest="as_json", help="print JSON instead of text")
        verify = self._on_run(actions, "verify", "Build a run's prompts anew and compare their hashes.", self.verify)
        verify.add_argument("--json", action="store_true", dest="as_json", help="print JSON instead of text")
        self._on_run(actions, "cancel", "Stop sending; what was answered is kept.", self.cancel)
        self._on_run(actions, "resume", "Continue a cancelled, failed or paused run.", self.resume)
        self._on_run(actions, "retry-failed", "Try again only what ended in an error.", self.retry_failed)
        check = "Ask the same about canvases drawn with a new secret seed, to see whether the model knows the set."
        self._on_run(actions, "check-contamination", check, self.check_contamination)
        take = self.action(
            actions, "import", "Take over runs of Inspect or promptfoo from their files.", self.take_over
        )
        take.add_argument("files", nargs="+", type=Path, metavar="FILE", help="an .eval or .json log, or results.json")
        take.add_argument("--format", choices=FORMATS, dest="form", help="what made the file; by default found out")
        into = take.add_mutually_exclusive_group()
        into.add_argument("--slug", metavar="SLUG", help="the dataset that the tasks become")
        into.add_argument("--dataset", metavar="SLUG", help="the dataset of ours whose tasks these are")
        take.add_argument(
            "--metric",
            action="append",
            metavar="NAME",
            help=f"a metric of ours to score the answers by; may be given again; by default {', '.join(OUR_METRICS)}",
        )

    def _on_run(self, actions: Any, name: str, text: str, run: Callable[..., int]) -> ArgumentParser:
        parser = self.action(actions, name, text, run)
        parser.add_argument("run", type=int, metavar="RUN", help="its number")
        return parser

    def told(self, refusal: InvalidRequest) -> str:
        lines = ["Request refused:"]
        for field, messages in refusal.errors.items():
            option = field if field == POSITIONAL else f"--{field}".replace("_", "-")
            lines.append(f"  {option}: {' '.join(messages)}")
        return "\n".join(lines)

    def start(self, *, detach: bool, fail_under: Sequence[str], compare_to: int | None, **options: Any) -> int:
        data = request_data(options)
        _check_demands(validated(data)["metrics"], fail_under, compare_to, options["fail_on_regression"])
        run = start_run(data)
        if detach:
            self._print_started(run, options["as_json"])
            return gates.OK
        self.stderr.write(f"Run {run.pk} is queued: {page_address(run)}", self.style.NOTICE)
        return self._follow_and_judge(run, fail_under=fail_under, compare_to=compare_to, **options)

    def show(self, run: int, *, follow: bool, **options: Any) -> int:
        found = _run(run)
        _check_demands(found.metrics, options["fail_under"], options["compare_to"], options["fail_on_regression"])
        if follow and found.status in LIVE:
            return self._follow_and_judge(found, **options)
        return self._judge(found, **options)

    def _follow_and_judge(self, run: Run, **options: Any) -> int:
        try:
            follow(run.pk, Progress(sys.stderr), self.stderr.write)
        except KeyboardInterrupt:
            return self._interrupted(run)
        return self._judge(run_detail(run.pk), **options)

    def _interrupted(self, run: Run) -> int:
        """Ask on a terminal whether to cancel; say in any case how to go on."""
        wanted = ""
        if sys.stdin.isatty() and sys.stderr.isatty():
            wanted = input(f"\nCancel run {run.pk}? Otherwise workers go on with it. [y/N] ")
        if wanted.strip().lower().startswith("y"):
            control.cancel_run(run)
            self.stderr.write(f"Run {run.pk} is cancelled; what was answered is kept.")
        else:
            self.stderr.write(
                f"Run {run.pk} is left to the workers. Follow it: manage.py benchmark show {run.pk} --follow. "
                f"Cancel it: manage.py benchmark cancel {run.pk}"
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
        """Print the run, hold it against what is demanded of it, and write the reports."""
        comparisons = gates.compare_with(compare_to, run.pk) if compare_to is not None else []
        demands = gates.threshold_gates(run, gates.read_thresholds(fail_under, run.metrics))
        if fail_on_regression:
            demands += gates.regression_gates(comparisons)
        ending = gates.ending_gate(run, allow_errors)
        shown = [ending, *demands] if run.status not in LIVE else demands
        if as_json:
            self._print_json(reports.run_json(run, shown, comparisons))
        else:
            self._print_run(run, demands, comparisons)
        if junit is not None:
            self._write(junit, lambda: reports.write_junit(junit, run, shown))
        if markdown is not None:
            text = reports.markdown(run, shown, comparisons)
            self._write(markdown, lambda: _append(markdown, text))
        return gates.exit_code(ending, demands) if run.status not in LIVE else gates.OK

    def _print_run(self, run: Run, demands: Sequence[gates.Gate], comparisons: Sequence[Compared]) -> None:
        self.stdout.write(printing.run_text(run))
        if told := statistics_text.statistics_text(run):
            self.stdout.write(f"\n{told}\n")
        if run.representation and (check := contamination_check(run)):
            self.stdout.write(check.sentence)
        by_demands = {gate.words for gate in demands}
        for one in comparisons:
            if one.change_sentence not in by_demands:
                self.stdout.write(f"{one.metric}: {one.change_sentence}")
        for gate in demands:
            style = self.style.SUCCESS if gate.met else self.style.ERROR
            self.stdout.write(style(f"{'met' if gate.met else 'MISSED'}: {gate.name} ({gate.words})"))

    def _print_started(self, run: Run, as_json: bool) -> None:
        if as_json:
            self._print_json(reports.run_json(run))
            return
        self.stdout.write(f"Run {run.pk} is queued: {page_address(run)}")
        self.stdout.write(f"Follow it: manage.py benchmark show {run.pk} --follow")

    def list_runs(self, *, number: int, dataset: str, model: str, status: str, **options: Any) -> int:
        if status and status not in RunStatus.values:
            raise NotPossible(f"There is no status {status}. Choose from: {', '.join(RunStatus.values)}.")
        found = run_list(RunFilters(dataset, model, status))[: max(number, 1)]
        rows = [_row(run) for run in found]
        self.stdout.write(printing.table(LIST_HEAD, rows, right=(0, 4, 5)) if rows else "No runs yet.")
        return gates.OK

    def plan(self, *, to_see: float | None, as_json: bool, **options: Any) -> int:
        data = request_data(options)
        if to_see is None:
            return self._print_plan(plan_run(data), as_json)
        given = {name: options[name] for name in SIZING if options[name] is not None}
        sized = sizing.size_for(data, to_see / 100, **given)
        if not as_json:
            self.stdout.write(f"{sized.needed}\n{sized.assuming}\n{sized.available}\nEstimate for a run of that size:")
        sizes = {name: getattr(sized.size, name) for name in SampleSize.__slots__}
        words = {"discordance": sized.design.discordance, "assuming": sized.assuming}
        return self._print_plan(sized.plan, as_json, **sizes, **words)

    def _print_plan(self, plan: RunPlan, as_json: bool, **more: Any) -> int:
        if as_json:
            self._print_json({**more, **{name: getattr(plan, name) for name in RunPlan.__slots__}})
        else:
            self.stdout.write(printing.plan_text(plan))
        return gates.OK

    def verify(self, run: int, *, as_json: bool, **options: Any) -> int:
        found = _run(run)
        verified = control.verify_run(found)
        if as_json:
            self._print_json(reports.verification_json(found, verified, code_version()))
        else:
            text = printing.verification_text(found, verified, code_version())
            self.stdout.write(self.style.SUCCESS(text) if verified.holds else self.style.ERROR(text))
        return gates.OK if verified.holds else gates.MISSED

    def compare(self, runs: Sequence[int], metric: str, *, as_json: bool, **options: Any) -> int:
        if not 2 <= len(set(runs)) <= MOST_RUNS:
            raise NotPossible(f"Name two to {MOST_RUNS} different runs.")
        chosen = runs_to_compare([_run(run).pk for run in runs])
        metrics = common_metrics(chosen)
        if not metrics or (metric and metric not in metrics):
            known = f"They share: {', '.join(metrics)}." if metrics else "They share no score from 0 to 1."
            raise NotPossible(f"There is nothing to compare these runs by. {known}")
        found = [one for one in compared_runs(chosen) if not metric or one.metric == metric]
        if as_json:
            self._print_json([reports.comparison_json(one) for one in found])
        else:
            self.stdout.write(statistics_text.comparisons_text(found))
        return gates.OK

    def cancel(self, run: int, **options: Any) -> int:
        control.cancel_run(_run(run))
        self.stdout.write(f"Run {run} is cancelled; what was answered is kept.")
        return gates.OK

    def resume(self, run: int, **options: Any) -> int:
        count = control.resume_run(_run(run))
        self.stdout.write(f"Run {run} goes on with {count} results. Follow it: manage.py benchmark show {run} --follow")
        return gates.OK

    def retry_failed(self, run: int, **options: Any) -> int:
        count = control.retry_failed(_run(run))
        self.stdout.write(f"Run {run} tries {count} results again. Follow it: manage.py benchmark show {run} --follow")
        return gates.OK

    def check_contamination(self, run: int, **options: Any) -> int:
        fresh = check_contamination(_run(run))
        self._print_started(fresh, as_json=False)
        self.stdout.write(f"When it has ended, manage.py benchmark show {run} tells the difference.")
        return gates.OK

    def take_over(
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
            for found in import_runs(path, form=form, slug=slug, dataset=dataset, metrics=metric or OUR_METRICS):
                told = "is new" if found.is_new else "was imported from this file before"
                run = found.run
                where = page_address(run)
                self.stdout.write(
                    f"Run {run.pk} {told}: {run.model} on {run.dataset.slug}, {run.total} results: {where}"
                )
        return gates.OK

    def _print_json(self, value: Any) -> None:
        self.stdout.write(json.dumps(value, indent=2, ensure_ascii=False))

    def _write(self, path: Path, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}", returncode=gates.REFUSED) from None


SIZING = ("power", "discordance", "correlation", "noise_share")


def _add_demands(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("demands, for pipelines")
    group.add_argument(
        "--fail-under",
        action="append",
        default=[],
        metavar="METRIC=X",
        help="exit with 1 where the mean of a metric is below X, such as correctness=0.8; may be given again",
    )
    group.add_argument(
        "--allow-errors", type=int, default=0, metavar="N", help="exit with 3 only where more results ended in errors"
    )
    group.add_argument("--compare-to", type=int, metavar="RUN", help="compare with an earlier run on shared tasks")
    group.add_argument(
        "--fail-on-regression",
        action="store_true",
        help="exit with 1 where a metric is worse than in --compare-to by the paired test, not by noise",
    )


def _add_reports(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("reports")
    group.add_argument("--json", action="store_true", dest="as_json", help="print JSON instead of text")
    group.add_argument("--junit", type=Path, metavar="FILE", help="write a JUnit XML report")
    group.add_argument("--markdown", type=Path, metavar="FILE", help="append a Markdown summary")


def _add_sizing(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("size")
    group.add_argument(
        "--to-see", type=float, metavar="POINTS", help="how many tasks show a difference of so many points"
    )
    group.add_argument("--power", type=float, metavar="X", help="with this chance, by default 0.8")
    group.add_argument(
        "--discordance",
        type=float,
        metavar="X",
        help="share of tasks on which the two runs differ, by default as in earlier runs on the dataset, or 0.3",
    )
    group.add_argument(
        "--correlation", type=float, metavar="X", help="of the differences of one canvas's questions, by default 0.1"
    )
    group.add_argument(
        "--noise-share", type=float, metavar="X", help="share of the variance that repeats average out, by default 0"
    )
    group.add_argument("--json", action="store_true", dest="as_json", help="print JSON instead of text")


def _check_demands(
    metrics: Sequence[str], fail_under: Sequence[str], compare_to: int | None, fail_on_regression: bool
) -> None:
    """Before anything is spent. Raises ``InvalidRequest``."""
    gates.read_thresholds(fail_under, metrics)
    if compare_to is not None:
        gates.earlier_run(compare_to, metrics)
    elif fail_on_regression:
        raise InvalidRequest({"fail_on_regression": ["Say against which run, with --compare-to RUN."]})


def _run(number: int) -> Run:
    try:
        return run_detail(number)
    except Run.DoesNotExist:
        raise NotPossible(f"There is no run {number}. List them: manage.py benchmark list") from None


def _row(run: Run) -> tuple[str, ...]:
    rows = printing.metric_rows(run)
    first = f"{rows[0][0]} {rows[0][1]}" if rows else "–"
    done = f"{run.done}/{run.total}"
    return (
        *(str(run.pk), run.get_status_display(), run.dataset.slug, run.model_label),
        *(done, str(run.errors), first, printing.money(run.cost_usd)),
    )


def _append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)
