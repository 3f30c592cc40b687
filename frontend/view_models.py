"""Runs as pages show them, so that templates compute nothing. Pure but for the registry of metrics."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from benchmarks.analysis.comparisons import FACETS
from benchmarks.analysis.matrices import short_names
from benchmarks.analysis.rankings import differences_in_full
from benchmarks.analysis.task_analysis import TaskAnalysis
from benchmarks.metrics.base import FAULTS
from benchmarks.metrics.registered_metrics import is_score, metric_named
from benchmarks.metrics.rubrics import Rubric
from benchmarks.metrics.task_parts import RubricValues
from benchmarks.models import COMPLETED, ERRORS, Outcome, Run, RunStatus
from benchmarks.presentation import sentences
from benchmarks.presentation.actions import allowed_actions
from benchmarks.presentation.cells import state_of, text_of
from benchmarks.presentation.labels import OUTCOME, run_status, sentence_case, words
from benchmarks.presentation.numbers import interval, money, percent, plural, score
from benchmarks.presentation.sentences import unknown_cost
from benchmarks.providers.base import JudgeSettings
from benchmarks.providers.extra_parameters import shown
from benchmarks.queries.ranked_tables import RankedTable
from benchmarks.queries.tables.runs import cost
from benchmarks.queries.task_analysis.pages import MOST_COLUMNS
from benchmarks.run_parameters import NOT_GIVEN, RUN_PARAMETERS, settings_shown
from benchmarks.summary import NO_NUMBERS, Corrected, Expected, MetricNumbers
from frontend.chart_parts import Measure
from frontend.result_rows import ResultRow

PLACES = 3


@dataclass(frozen=True, slots=True)
class MetricRow(Measure):
    """One metric of a run: its strict mean with interval and ``n_of``, the n of N; ``sample`` also says what counts as
    0 and what has no score, ``readable`` is the mean over answers without a fault, if any has one, and ``weighted`` the
    weighted mean, if the weights of the tasks differ. ``applies`` is a sentence where the metric applies to a part of
    the results, ``if_missing`` what the score would be if all that is missing were wrong.

    ``corrected`` is the mean above the best guess with its bounds, if guessing scores anything, ``corrected_missing``
    its bounds whatever the missing scores are, if any is missing.
    """

    judged: bool = False
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    n_of: str = ""
    note: str = ""
    sample: str = ""
    readable: str = ""
    applies: str = ""
    weighted: str = ""
    if_missing: str = ""
    corrected: Corrected | None = None
    corrected_missing: str = ""


@dataclass(frozen=True, slots=True)
class AnswerMarks:
    """How the models of an analysis answer each task, the best model first, in runs of the ``setting``."""

    models: Sequence[str]
    shares: Mapping[int, Sequence[float]]
    setting: str = ""

    @property
    def told(self) -> str:
        return f"Latest full run of each model{self.setting and f', {self.setting}'}."

    @property
    def has_partial(self) -> bool:
        return any(_outcome_of(share) == Outcome.PARTIAL for shares in self.shares.values() for share in shares)

    def of(self, task: int) -> list[str]:
        """The outcome of each model on a task, empty where it has none."""
        return [_outcome_of(share) for share in self.shares.get(task, ())]


def _outcome_of(share: float) -> str:
    if math.isnan(share):
        return ""
    return Outcome.CORRECT if share >= 1 else Outcome.WRONG if share <= 0 else Outcome.PARTIAL


def answer_marks(analysis: TaskAnalysis, tasks: Iterable[int]) -> AnswerMarks:
    """For these tasks."""
    wanted, most = set(tasks), MOST_COLUMNS
    short = short_names([model.name for model in analysis.models[:most]])
    shares = {
        task: analysis.values[:most, place].tolist()
        for place, task in enumerate(analysis.tasks.tolist())
        if task in wanted
    }
    return AnswerMarks(list(short.values()), shares, analysis.setting)


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run with its headline and its progress, as lists and the status of a run show it.

    ``percent`` of its results are done, at ``rate`` results per second of the ``elapsed`` time in which it was active;
    at that rate it has ``left`` seconds left. A run that is silent has no rate. ``cost`` is that of model and judge.
    The mean of a run that has not completed is ``provisional``: lists show its progress instead.
    """

    run: Run
    headline: MetricRow
    percent: int
    rate: float | None
    elapsed: float | None
    left: float | None
    cost: str
    provisional: bool


def metric_row(
    name: str,
    numbers: MetricNumbers = NO_NUMBERS,
    corrected: Corrected | None = None,
    *,
    live: bool = False,
) -> MetricRow:
    """A metric with its numbers from a run's summary. A metric that is no longer registered goes by its name."""
    metric = metric_named(name)
    title = metric.title if metric else name
    bounded = metric is None or metric.range == (0.0, 1.0)
    n_of = sentences.n_of_expected(numbers.n, numbers.n_expected) if live else sentences.n_of_mean(name, numbers)
    return MetricRow(
        name=name,
        title=title,
        unit=metric.unit if metric else "",
        bounded=bounded,
        judged=metric is not None and metric.judged,
        mean=numbers.mean,
        low=numbers.low,
        high=numbers.high,
        n_of=n_of,
        note=numbers.note,
        sample=sentences.sample(numbers, live=live),
        readable=sentences.readable(numbers),
        applies=sentences.applies_to(title, numbers),
        weighted=sentences.weighted(numbers),
        if_missing="" if live else sentences.if_missing(name, numbers),
        corrected=corrected if corrected and corrected.mean is not None else None,
        corrected_missing=sentences.bounds_with_missing(corrected) if corrected and not live else "",
    )


def metric_rows(run: Run) -> list[MetricRow]:
    return [
        metric_row(name, run.numbers_of(name), corrected_mean(run, name), live=run.is_live) for name in run.all_metrics
    ]


def corrected_mean(run: Run, metric: str) -> Corrected | None:
    """The mean above the best guess over all tasks of the run; ``None`` if no guess rate is known."""
    chance = (run.numbers.chance or {}).get(metric)
    return chance.average if chance else None


def run_row(run: Run) -> RunRow:
    elapsed = run.duration_seconds
    # Over all of its active time: a rate of the last seconds would jump with every batch.
    rate = run.done / elapsed if elapsed and run.done and not sentences.silent(run) else None
    return RunRow(
        run=run,
        headline=metric_row(run.headline, run.numbers_of(run.headline)),
        percent=100 * run.done // run.total if run.total else 0,
        rate=rate,
        elapsed=elapsed,
        left=(run.total - run.done) / rate if rate and run.status == RunStatus.RUNNING else None,
        cost=text_of(cost(run)),
        provisional=run.status not in COMPLETED,
    )


def run_rows(runs: Iterable[Run]) -> list[RunRow]:
    return [run_row(run) for run in runs]


def run_finding(run: Run) -> str:
    """What is known of a run, in a few words: ``0.551 (0.523 to 0.578)``, ``Running, 18%``, ``Failed``."""
    row = run_row(run)
    if run.is_live:
        return f"{state_of(run).text}, {row.percent}%"
    headline = row.headline
    if row.provisional or headline.mean is None:
        return run_status(run.status, run.errors)
    bounds = "" if headline.low is None else f" ({interval(headline.low, headline.high)})"
    return f"{score(headline.mean)}{bounds}"


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run with a budget has cost, and what the rest costs at that rate, in words: ``Spent $0.004 of $0.006. …``

    ``proposed`` is a budget, in US dollars, that leaves twice of what the rest needs; empty if that is unknown.
    """

    said: str
    proposed: str = ""


def spent(run: Run) -> Spent:
    known = [each for each in (run.cost_usd, run.judge_cost_usd) if each is not None]
    said = f"Spent {money(sum(known))} of {money(run.budget_usd)}."
    if not sum(known) or not run.done or run.done >= run.total:
        return Spent(said)
    left = run.total - run.done
    rest = sum(known) * left / run.done
    said = f"{said} The rest, {plural(left, 'result')}, needs about {money(rest)} more."
    # The budget reserves the most that each request in flight can cost, which is more than what it costs.
    proposed = max(sum(known) + 2 * rest, 1.25 * (run.budget_usd or 0.0))
    return Spent(said, f"{proposed:.{max(2, 1 - math.floor(math.log10(proposed)))}f}")


def beside(row: MetricRow, headline: MetricRow) -> MetricRow:
    """Another metric of a run without what the headline above it says already: the same sample, the same notes."""
    said = headline.note.split("; ")
    note = "; ".join(part for part in row.note.split("; ") if part not in said)
    return replace(row, note=note, sample="" if row.sample == headline.sample else row.sample)


@dataclass(frozen=True, slots=True)
class Comparable:
    """A run among comparable ones. ``rank`` is the range that the paired tests allow, empty with a ``reason``.
    ``differs`` names how it answers and what scored it, where the runs differ in that."""

    run: Run
    score: MetricRow
    rank: str
    reason: str
    differs: str


def comparables(table: RankedTable) -> list[Comparable]:
    """Ranked runs, best first, and those without a rank."""
    told = differences_in_full([place.run for place in table.places], table.metric)
    return [
        Comparable(place.run, metric_row(table.metric, place.numbers), table.rank(place), place.reason, words)
        for place, words in zip(table.places, told, strict=True)
    ]


def facets_of(run: Run) -> dict[str, str]:
    """Key → title of everything that the run is broken down by."""
    labels = {key: sentence_case(key) for key in run.parts.facets if key not in FACETS}
    return {**FACETS, **labels}


def labels_known(run: Run) -> list[tuple[str, str]]:
    """The tags and metadata that the results of a run can be filtered by, as options."""
    facets = run.dataset_version.facets.get("labels", {})
    return [(f"{key}: {value}", f"{sentence_case(key)}: {value}") for key, values in facets.items() for value in values]


def weak_spots(run: Run, row: MetricRow) -> dict[str, str]:
    """The breakdowns of a run in which a level has its whole interval below the run's mean, with a sentence of each."""
    sentences_of = {}
    for facet, title in facets_of(run).items():
        lowest = run.numbers_of(row.name).if_missing_wrong
        levels = [(name, run.parts.at(facet, name, row.name)) for name in run.parts.facets.get(facet, {})]
        weak = [
            (level.mean or 0.0, words(name) if facet in FACETS else name, level)
            for name, level in levels
            if lowest is not None and level.high_missing is not None and level.high_missing < lowest
        ]
        if weak and is_score(row.name):
            mean, name, level = min(weak, key=lambda each: each[0])
            sentences_of[facet] = (
                f"{title}: {name} has the lowest score, {score(mean)} ({interval(level.low, level.high)}; "
                f"{sentences.n_of_mean(row.name, level)}). Its interval lies below the score of the run."
            )
    return sentences_of


@dataclass(frozen=True, slots=True)
class OutcomeCount:
    """``share`` is of all outcomes; ``bounds`` say how sure the share of a faulty answer is. People contradict
    ``disputed`` of the ``count``."""

    outcome: str
    count: int
    share: float
    bounds: str
    disputed: int


def outcome_counts(run: Run, disputed: Mapping[str, int]) -> list[OutcomeCount]:
    """Outcomes that occur, in their fixed order."""
    counts, rates = run.numbers.outcomes, run.numbers.fault_rates or {}
    total = sum(counts.values())
    return [
        OutcomeCount(outcome, count, count / total, _bounds(rates.get(outcome)), disputed.get(outcome, 0))
        for outcome in Outcome.values
        if (count := counts.get(outcome))
    ]


def _bounds(rate: Expected | None) -> str:
    return f"95% interval: {interval(rate.low, rate.high, percent)} of answers" if rate else ""


@dataclass(frozen=True, slots=True)
class Failure:
    """Results that are not correct for one reason. ``heads`` is the number of all with its outcome, where it is the
    first of them; ``where`` names the places that have most of them. ``scores_zero`` is true for answers that are
    unparsable, cut off or refused, false for errors, which are not part of any mean, and ``None`` for others.
    """

    outcome: str
    scores_zero: bool | None
    heads: int | None
    reason: str
    label: str
    n: int
    share: float
    where: str
    examples: Sequence[ResultRow]


def failures_of(run: Run, examples: Mapping[int, ResultRow]) -> list[Failure]:
    """What failed by outcome and reason: the most frequent outcome first, and in it the most frequent reason."""
    groups, total = run.numbers.failures, sum(run.numbers.outcomes.values())
    of_outcome = Counter[str]()
    for group in groups:
        of_outcome[group.outcome] += group.n
    rows, seen = [], set[str]()
    for group in sorted(groups, key=lambda group: (-of_outcome[group.outcome], group.outcome, -group.n)):
        outcome, reason = group.outcome, group.reason
        places = sorted(group.where.items(), key=lambda place: -place[1])
        shown = [sentence_case(name) for name, _ in places[:PLACES] if name]
        rows.append(
            Failure(
                outcome=outcome,
                scores_zero=outcome in FAULTS or (False if outcome in ERRORS else None),
                heads=None if outcome in seen else of_outcome[outcome],
                reason=reason,
                label=sentence_case(reason) if reason else OUTCOME[outcome],
                n=group.n,
                share=group.n / total,
                where=", ".join(shown) + (f" and {len(places) - PLACES} more" if len(places) > PLACES else ""),
                examples=[examples[pk] for pk in group.examples if pk in examples],
            )
        )
        seen.add(outcome)
    return rows


def _judge_parameters(run: Run) -> dict[str, Any]:
    """The settings of the run's judge and its own parameters in one list."""
    settings = {name: value for name, value in run.judge_settings.items() if name in JudgeSettings.model_fields}
    second = {"second": run.judge_settings["second"]["model"]} if "second" in run.judge_settings else {}
    return {**settings, **second, **run.judge_settings.get("params", {}), **run.judge_settings.get("params_of", {})}


def _rubric_words(rubric: RubricValues) -> str:
    """The text of a rubric as the run used it: ``version 3fa2b1c4, scale 1 to 5, sees input. The answer is…``."""
    read = Rubric.of(rubric)
    text = " ".join(read.criteria + read.steps)
    return f"version {read.hash[:8]}, scale {read.scale}, sees {', '.join(read.sees)}. {text}"


def chosen_settings(run: Run) -> str:
    """The parameters that are sent with each request, in a few words: ``Temperature 0.2, Max output tokens 64``."""
    given = [(row.label, row.value_of(run)) for row in RUN_PARAMETERS.values() if row.sent]
    return ", ".join(f"{label} {value}" for label, value in given if value not in NOT_GIVEN) or "the model’s defaults"


def settings_of(run: Run) -> list[tuple[str, object]]:
    """Every parameter of a run with its label, and where its tasks and its code come from."""
    return [
        ("Dataset version", run.version_label),
        ("Content hash", run.dataset_version.content_hash),
        *settings_shown(run),
        *([("Parameters of the model", shown(run.model_params))] if run.model_params else ()),
        *([("Judge parameters", shown(_judge_parameters(run)))] if run.judge_settings else ()),
        *((f"Rubric {name}", _rubric_words(rubric)) for name, rubric in run.rubrics.items()),
        *([("Judge trial", f"{run.judge_trial['value']:g}: {run.judge_trial['reason']}")] if run.judge_trial else ()),
        *([("Canvases", sentences.canvases(run.numbers.canvases))] if run.representation else ()),
        ("Prompt hash", run.prompt_hash or "–"),
        ("Code version", run.code_version or "–"),
        *((name.replace("_", " ").capitalize(), value) for name, value in sorted(run.environment.items())),
    ]


@dataclass(frozen=True, slots=True)
class JudgingRow:
    """A run in which only a judge is asked."""

    run: Run
    noun: ClassVar[str]
    routes: ClassVar[tuple[str, str, str]]
    """The names of the addresses of all such runs, of one, and of an action on it."""

    @property
    def total(self) -> int:
        """How many verdicts it needs, also before it is prepared."""
        raise NotImplementedError

    @property
    def percent(self) -> int:
        return 100 * self.run.done // self.total if self.total else 0

    @property
    def announcement(self) -> str:
        """The status for screen readers."""
        status = run_status(self.run.status, self.run.errors)
        done = f", {self.percent} percent done" if self.run.is_live else ""
        return f"{self.noun} {self.run.pk}: {status}{done}"

    @property
    def cost_note(self) -> str:
        """Why the cost is unknown; empty if it is known, or before the run is prepared."""
        run = self.run
        return unknown_cost(run.judge_model, run.judge_cost_usd, run.judge_tokens_in) if run.total else ""

    @property
    def actions(self) -> list[str]:
        """Names of the possible actions. Resuming also retries what has no verdict."""
        possible = {"resume": {"resume", "retry"}, "cancel": {"cancel"}, "delete": {"delete"}}
        allowed = allowed_actions(self.run, set().union(*possible.values()))
        return [name for name, any_of in possible.items() if any_of & allowed.keys()]
