"""Start or score a run again on a terminal, follow it, check the requirements of a pipeline, and write reports."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.analysis.comparisons import Compared
from benchmarks.extras import command
from benchmarks.management import gates, printing, reports
from benchmarks.management.actions import (
    INTERRUPTED,
    JSON,
    NAME_AND_TAGS,
    OK,
    action,
    argument,
    group,
    parameter_options,
    reader_of,
    request_data,
    switch,
    writing,
)
from benchmarks.management.following import Progress, follow
from benchmarks.management.resources import DeletingCommand
from benchmarks.models import COMPLETED, LIVE, GateSeries, Run
from benchmarks.page_urls import page_address
from benchmarks.presentation.actions import done_sentence
from benchmarks.presentation.comparisons import self_check_sentences, series_sentence
from benchmarks.queries.contamination import contamination_check
from benchmarks.queries.gates import gate_series, series_named
from benchmarks.queries.resources.gates import GateSeriesResource, SelfCheckResource
from benchmarks.queries.resources.plans import Plan
from benchmarks.queries.resources.runs import RunResource
from benchmarks.queries.runs import run_detail
from benchmarks.queries.tables.gates import CHECKS, SERIES
from benchmarks.services.comparisons import read_margin
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.gates import (
    check_series_name,
    check_shares_tasks,
    earlier_run,
    gated,
    reset_series,
    self_check,
)
from benchmarks.services.runs import control
from benchmarks.services.runs.requests import validated
from benchmarks.services.runs.rescoring import PARAMETERS as RESCORING
from benchmarks.services.runs.rescoring import plan_rescoring, start_rescoring
from benchmarks.services.runs.start import start_run
from benchmarks.statistics.margins import NIGHTS

RUN = argument("run", "RUN", "id of the run", type=int)
REQUIREMENTS = group(
    "requirements for pipelines",
    argument(
        "--fail-under",
        "[METRIC=]X",
        "exit with 1 if the score of the run, or the mean of a metric, is below X, for example, correctness=0.8; "
        "repeatable",
        action="append",
        default=[],
    ),
    argument("--allow-errors", "N", "exit with 3 only if more results have errors", type=int, default=0),
    argument("--compare-to", "RUN", "compare with an earlier run on shared tasks", type=int),
    argument(
        "--margin",
        "POINTS",
        "exit with 1 if the run is worse than --compare-to by more points, with 4 if the data cannot tell",
    ),
    argument("--series", "NAME", "with --margin: count the check in this series of up to 100", default=""),
    switch("--nightly", "with --margin: the bound of a series, without counting the check"),
    switch("--fail-on-regression", "exit with 1 if a metric is significantly worse than in --compare-to (paired test)"),
)
REPORTS = group(
    "reports",
    JSON,
    argument("--junit", "FILE", "write a JUnit XML report", type=Path),
    argument("--markdown", "FILE", "append a Markdown summary", type=Path),
)


SELF_CHECKED = 5
"""Repeats of a run against itself."""


class RunningCommand(DeletingCommand):
    """Starts, shows and rescores runs, and ends with an exit code for pipelines."""

    @action(
        "Start a run, follow it, and print the results.",
        switch("--detach", "return as soon as the run is queued"),
        switch("--self-check", "ask every task five times, or --repeats times, and say what a gate makes of them"),
        *REQUIREMENTS,
        *REPORTS,
        name="run",
        request=True,
    )
    def start(self, **options: Any) -> int | None:
        data = request_data(options)
        if options["self_check"]:
            data = {"repeats": SELF_CHECKED} | data
        # Before anything is spent: a requirement that cannot be checked refuses the run.
        _check_requirements(validated(data)["metrics"], options)
        return self._queued(start_run(data), **options)

    @action(
        "Print a run.",
        switch("--follow", "wait until it has ended"),
        *REQUIREMENTS,
        *REPORTS,
        more=lambda command: [command.one],
    )
    def show(self, *, key: int, follow: bool = False, **options: Any) -> int:
        shown = find_run(key)
        _check_requirements(shown.all_metrics, options)
        if follow and shown.status in LIVE:
            return self._follow_and_judge(shown, **options)
        return self._judge(shown, **options)

    @action(
        "Check whether a run is no worse than another one by a margin.",
        argument("run", "RUN", "id of the run", type=int, nargs="?"),
        argument("--against", "RUN", "the earlier run", type=int),
        argument("--margin", "POINTS", "by default 2"),
        argument("--series", "NAME", "count the check in this series; 100 checks share 5%% false alarms", default=""),
        switch("--nightly", "the bound of a series, without counting the check"),
        argument("--reset", "NAME", "instead: count the checks of this series from 1 again"),
        argument(
            "--keep-right",
            "TASK",
            "id of a task that must be right in most of its repeats; repeatable",
            action="append",
            default=[],
        ),
        switch("--self-check", "instead: how the run's repeats differ, and how often the gate would be wrong of them"),
        *REPORTS,
    )
    def gate(
        self,
        run: int | None,
        *,
        against: int | None,
        margin: str | None,
        self_check: bool,
        reset: str | None,
        **options: Any,
    ) -> int | None:
        if reset is not None:
            self._reset(reset, options["as_json"])
            return None
        if run is None:
            raise InvalidRequest({"run": ["Name the run, or a series with --reset."]})
        judged = find_run(run)
        if self_check:
            self._print_self_check(judged, read_margin(margin), options["nightly"], options["as_json"])
            return None
        if against is None and not options["keep_right"]:
            raise InvalidRequest({"against": ["Name the earlier run, or tasks with --keep-right."]})
        points = margin or (None if against is None else "2")
        chosen: dict[str, Any] = {
            "fail_under": [],
            "allow_errors": judged.errors,
            "compare_to": against,
            "fail_on_regression": False,
        }
        named = {name: options[name] for name in ("nightly", "series")}
        _check_requirements(judged.all_metrics, {**chosen, "margin": points, **named})
        if against is not None:
            check_shares_tasks(judged, find_run(against))
        return self._judge(judged, **chosen, margin=points, **options)

    def _reset(self, name: str, as_json: bool) -> None:
        series = _series(name)
        reset_series(series)
        text = f"{name} begins anew. Its next check is the first of {NIGHTS}."
        self.print_either(as_json, GateSeriesResource.of(_series(name), reader_of()), text)

    @action("List the series of gates, or the checks of one.", argument("name", "NAME", "of a series", nargs="?"), JSON)
    def series(self, *, name: str | None, as_json: bool, **options: Any) -> None:
        if name is None:
            rows = list(gate_series())
            listed = [GateSeriesResource.of(row, reader_of()) for row in rows]
            self.print_either(as_json, listed, SERIES.text(rows) if rows else "No series of gates yet.")
            return
        series = _series(name)
        text = f"{series_sentence(name, series.counted)}\n{CHECKS.text(series.latest_checks)}"
        self.print_either(as_json, GateSeriesResource.of(series, reader_of()), text)

    def _print_self_check(self, run: Run, margin: float, nightly: bool, as_json: bool) -> None:
        check = self_check(run, margin, nightly=nightly)
        resource = SelfCheckResource.of(check, reader_of(), run=run.pk, margin=margin)
        self.print_either(as_json, resource, "\n".join(self_check_sentences(check, margin)))

    @action(
        "Score the stored answers of a run again, as a run of its own. Its model is not asked.",
        RUN,
        argument("--version", "N", "dataset version of the expected answers; by default that of the run", type=int),
        switch("--plan", "estimate what judging takes, without starting it"),
        switch("--detach", "return as soon as the run is queued"),
        *NAME_AND_TAGS,
        *parameter_options(RESCORING),
        *REQUIREMENTS,
        *REPORTS,
    )
    def rescore(self, run: int, *, version: int | None, plan: bool, **options: Any) -> int | None:
        source = find_run(run)
        data = request_data(options) | ({} if version is None else {"version": version})
        if plan:
            planned = plan_rescoring(source, data)
            self.print_either(options["as_json"], Plan.of(planned, reader_of()), printing.plan_text(planned))
            return None
        _check_requirements(data.get("metrics", []), options)
        return self._queued(start_rescoring(source, data), **options)

    def _queued(self, run: Run, *, detach: bool, **options: Any) -> int | None:
        if detach:
            self.print_queued(run, options["as_json"])
            return None
        self.stderr.write(f"Run {run.pk} queued: {page_address(run)}", self.style.NOTICE)
        return self._follow_and_judge(run, **options)

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
                f"Run {run.pk} continues in the background. "
                f"To follow it: {command(f'benchmark show {run.pk}')} --follow. "
                f"To cancel it: {command(f'benchmark cancel {run.pk}')}"
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
        margin: str | None,
        nightly: bool,
        series: str = "",
        keep_right: Sequence[str] = (),
        self_check: bool = False,
        as_json: bool,
        junit: Path | None,
        markdown: Path | None,
        **options: Any,
    ) -> int:
        """Print the run, check the requirements, and write the reports."""
        comparisons = gates.compare_with(compare_to, run.pk) if compare_to is not None else []
        others = gates.threshold_gates(run, gates.read_thresholds(fail_under, run.all_metrics))
        if margin is not None and compare_to is not None:
            check = gated(run, compare_to, read_margin(margin), series=series, in_series=nightly)
            others.append(gates.margin_gate(check))
        others += gates.task_gates(run, keep_right)
        if fail_on_regression:
            others += gates.regression_gates(comparisons)
        ending = gates.ending_gate(run, allow_errors)
        shown = [ending, *others] if run.status not in LIVE else others
        if as_json:
            self.print_json(reports.run_json(run, shown, comparisons))
        else:
            self._print_run(run, others, comparisons)
        if self_check and run.status in COMPLETED:
            self._print_self_check(run, read_margin(margin), nightly, as_json)
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
        if run.has_seed and (check := contamination_check(run)):
            self.stdout.write(check.sentence)
        in_requirements = {gate.words for gate in requirements}
        for compared in comparisons:
            if compared.change_sentence not in in_requirements:
                self.stdout.write(f"{compared.metric}: {compared.change_sentence}")
        for gate in requirements:
            how = "passed" if gate.met else "undecided" if gate.undecided else "failed"
            text = f"{how}: {gate.name} ({gate.words})"
            self.print_outcome(text, errors=not gate.met)

    def print_queued(self, run: Run, as_json: bool) -> None:
        text = f"Run {run.pk} queued: {page_address(run)}\nTo follow it: {command(f'benchmark show {run.pk}')} --follow"
        self.print_either(as_json, RunResource.of(run, reader_of()), text)


def _check_requirements(metrics: Sequence[str], options: Mapping[str, Any]) -> None:
    """Raise ``InvalidRequest`` for requirements that a run with these metrics cannot be checked against."""
    gates.read_thresholds(options["fail_under"], metrics)
    read_margin(options["margin"])
    if options["nightly"] and options["margin"] is None:
        raise InvalidRequest({"nightly": ["Set --margin POINTS, too."]})
    if options["series"] and options["margin"] is None:
        raise InvalidRequest({"series": ["Set --margin POINTS, too."]})
    check_series_name(options["series"])
    if options["compare_to"] is not None:
        earlier_run(options["compare_to"], metrics)
    elif options["margin"] is not None:
        raise InvalidRequest({"margin": ["Name the earlier run with --compare-to RUN."]})
    elif options["fail_on_regression"]:
        raise InvalidRequest({"fail_on_regression": ["Name the earlier run with --compare-to RUN."]})


def _series(name: str) -> GateSeries:
    try:
        return series_named(name)
    except GateSeries.DoesNotExist:
        raise NotPossible(f"Series {name} does not exist. To list series: {command('benchmark series')}") from None


def find_run(pk: int) -> Run:
    try:
        return run_detail(pk)
    except Run.DoesNotExist:
        raise NotPossible(f"Run {pk} does not exist. To list runs: {command('benchmark list')}") from None
