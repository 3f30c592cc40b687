"""``manage.py judge ACTION``: how reliable a judge is. ``--help`` lists the actions.

Exit codes: 0 success; 2 request refused or invalid usage; 3 the calibration failed or was stopped; 130 interrupted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import QuerySet

from benchmarks.analysis.judge_agreement import JudgeAgreement
from benchmarks.management.actions import JSON, action, argument, reader_of
from benchmarks.management.judges import EXIT_CODES, JudgingCommand
from benchmarks.metrics.judge_calibration import TRUTHS, VERDICTS
from benchmarks.models import Run
from benchmarks.presentation import sentences
from benchmarks.presentation.labels import run_status
from benchmarks.presentation.numbers import MISSING, interval, money, p_words, percent, plural, points, score
from benchmarks.presentation.tables import aligned
from benchmarks.queries.corrected_ranks import corrected_ranks, corrected_sentence
from benchmarks.queries.judge_agreement import judge_agreement
from benchmarks.queries.judges import agreement_of, answers_to_judge, calibrations
from benchmarks.queries.resources.corrected_ranks import CorrectedRankResource
from benchmarks.queries.resources.judge_agreement import JudgeAgreementResource
from benchmarks.queries.resources.judges import CalibrationDetail, CalibrationResource
from benchmarks.queries.runs import runs_named
from benchmarks.queries.tables.corrected_ranks import CORRECTED_RANKS
from benchmarks.queries.tables.judges import BY_ANSWER, CALIBRATIONS, SEPARATIONS, Share
from benchmarks.services.errors import NotPossible
from benchmarks.services.judges import CalibrationRequest, start_calibration
from benchmarks.statistics.agreement import Kappa
from benchmarks.statistics.paired import Comparison
from benchmarks.statistics.prediction_powered import CorrectedMean
from benchmarks.statistics.reliability import JudgeSpread
from benchmarks.summary import Agreement

FIELDS = {str(name): field for name, field in CalibrationRequest().fields.items()}
OPTIONS = {name: "--judge" if name == "judge_model" else f"--{name.replace('_', '-')}" for name in FIELDS}


class Command(JudgingCommand):
    command, noun, empty = "judge", "calibration", "No calibrations yet."
    table = CALIBRATIONS
    listed, shown = CalibrationResource, CalibrationDetail
    help = f"Calibrate judges on canvas answers with known truth. {EXIT_CODES}"

    @action(
        "Have a judge score correct and wrong answers to canvas questions, and compare its verdicts with the truth.",
        *(
            argument(OPTIONS[name], "X", str(field.help_text), dest=name, required=field.required)
            for name, field in FIELDS.items()
        ),
        JSON,
    )
    def calibrate(self, *, as_json: bool, **options: Any) -> int:
        run = start_calibration({name: options[name] for name in FIELDS if options[name] is not None})
        self.note(f"Calibration {run.pk}: {run.judge_model} judges {plural(answers_to_judge(run), 'answer')}.")
        return self.follow(run, as_json)

    @action(
        "Print how well a judge agrees with people, and means corrected by their labels.",
        argument("--judge", "X", "provider/model of the judge", required=True),
        argument("--metric", "X", "judged metric (default correctness)", default="correctness"),
        argument("--run", "ID", "only this run", type=int),
        argument("--experiment", "ID", "only the runs of this experiment", type=int),
        JSON,
    )
    def agreement(
        self, *, judge: str, metric: str, run: int | None, experiment: int | None, as_json: bool, **options: Any
    ) -> None:
        agreement = judge_agreement(judge, metric, run=run, experiment=experiment)
        if agreement is None:
            raise NotPossible(
                f"No random review was drawn from answers that {judge} has scored by {metric}. Create one first."
            )
        found = JudgeAgreementResource.of(agreement, reader_of())
        self.print_either(as_json, found, "\n".join(_people(agreement)))

    @action(
        "Rank runs by means that people's labels correct.",
        argument("chosen", "RUN", "ids of runs on one version of a dataset", type=int, nargs="+"),
        argument("--metric", "NAME", "by default correctness", default="correctness"),
        JSON,
    )
    def corrected(self, *, chosen: Sequence[int], metric: str, as_json: bool, **options: Any) -> None:
        try:
            places = corrected_ranks(runs_named(chosen), metric)
        except Run.DoesNotExist as missing:
            raise NotPossible(str(missing)) from None
        except ValueError as problem:
            raise NotPossible(str(problem)) from None
        found = [CorrectedRankResource.of(place, reader_of()) for place in places]
        self.print_either(as_json, found, f"{corrected_sentence(places)}\n{CORRECTED_RANKS.text(places)}")

    def runs(self) -> QuerySet[Run]:
        return calibrations()

    def lines(self, row: Run) -> Iterator[str]:
        """The calibration as text: confusion, agreement, biases, consistency, cost."""
        yield (
            f"Calibration {row.pk}: {row.judge_model} as judge of {row.metrics[0]}, on answers to {_canvas_set(row)}, "
            f"each judged {plural(row.repeats, 'time')}"
        )
        yield f"{run_status(row.status, row.errors)}, {row.done} of {answers_to_judge(row)} answers judged"
        if row.error_message:
            yield row.error_message
        if numbers := agreement_of(row):
            yield from _agreement(numbers)
        yield f"Cost: {money(row.judge_cost_usd)} ({sentences.tokens(row.judge_tokens_in, row.judge_tokens_out)})"


def _canvas_set(run: Run) -> str:
    canvas_set = run.dataset.known_answers_of
    return canvas_set.slug if canvas_set else MISSING


def _agreement(numbers: Agreement) -> Iterator[str]:
    rows = [(truth, *(str(numbers.confusion[f"{truth}_as_{verdict}"]) for verdict in VERDICTS)) for truth in TRUTHS]
    yield "\n" + aligned(("truth", *(f"judged {verdict}" for verdict in VERDICTS)), rows, right=(1, 2, 3))
    shares = {
        "Accuracy": numbers.accuracy,
        "Wrong answers accepted": numbers.false_accepts,
        "Correct answers rejected": numbers.false_rejects,
        **{f"Accuracy, {name}": share for name, share in numbers.by_phrasing.items()},
    }
    yield "\n" + BY_ANSWER.text(Share.of(title, share) for title, share in shares.items())
    yield f"\nAgreement with the truth beyond chance (Cohen's κ): {_kappa(numbers.kappa)}"
    unpaired = "unknown, because no question has a verdict on a correct and on a wrong answer"
    yield f"Wrong answers accepted minus correct answers rejected: {_difference(numbers.leniency, unpaired)}"
    for truth in TRUTHS:
        unpaired = "unknown, because no answer was judged in both lengths"
        yield f"Length bias, {truth} answers: {_difference(numbers.length_bias[truth], unpaired)}"
    yield f"Consistency across repeats: {_spread(numbers.spread)}"
    yield f"Without a verdict: {numbers.errors}"


def _people(people: JudgeAgreement) -> Iterator[str]:
    """The agreement with people as text."""
    labeled = plural(len(people.answers), "labeled answer")
    yield f"{people.judge_model} as judge of {people.metric}: {people.verdict.text}"
    if people.n_open_reviews:
        yield f"{plural(people.n_open_reviews, 'open review')} not counted yet."
    agreement = people.agreement
    if agreement.mean is not None:
        bounds = interval(agreement.low, agreement.high, percent)
        yield f"\nAgreement with people: {percent(agreement.mean)} ({bounds}) of {labeled}"
        yield f"Beyond chance (Cohen's κ): {_kappa(people.kappa)}"
        yield f"Too lenient: {people.count(False, True)}, too strict: {people.count(True, False)}"
    if people.steps:
        shares = (people.steps.same, people.steps.near, people.steps.where_wrong)
        same, near, where_wrong = (f"{percent(each.mean)} of {plural(each.n, 'answer')}" for each in shares)
        bounds = interval(people.steps.same.low, people.steps.same.high, percent)
        yield f"First wrong step: the same on {same} ({bounds}), at most one away on {near}"
        yield f"Where people name one: the same on {where_wrong}"
    means: list[tuple[str, CorrectedMean | None]] = [("all runs", people.corrected)] if people.corrected else []
    means += [(f"run {each.run.pk}, {each.run.model}", each.means) for each in people.runs]
    rows = [(name, *_three(each)) for name, each in means]
    yield "\n" + aligned(("mean and 95% interval", "judge alone", "labels alone", "corrected"), rows)
    if people.separations:
        yield "\n" + SEPARATIONS.text(people.separations)
    if people.favor:
        yield "\nDoes it favor its own family? " + " ".join(people.favor.words)


def _three(means: CorrectedMean | None) -> list[str]:
    """Judge alone, labels alone and corrected, each with its interval."""
    if means is None:
        return [MISSING, MISSING, "too few labels"]
    parts = (means.judge, means.labels, means)
    return [f"{score(part.mean)} ({interval(part.low, part.high)})" for part in parts]


def _kappa(kappa: Kappa) -> str:
    if kappa.kappa is None:
        return f"undefined: {kappa.note}"
    bounds = "" if kappa.low is None else f" ({interval(kappa.low, kappa.high)})"
    return f"{score(kappa.kappa)}{bounds}" + (f"; {kappa.note}" if kappa.note else "")


def _difference(comparison: Comparison, unpaired: str) -> str:
    if comparison.difference is None or comparison.p_value is None:
        return comparison.note or unpaired
    sign = "+" if comparison.difference > 0 else ""
    bounds = interval(comparison.low, comparison.high, points)
    return f"{sign}{points(comparison.difference)} points ({bounds}), {p_words(comparison.p_value)}"


def _spread(spread: JudgeSpread) -> str:
    if spread.deviation is None:
        return "unknown, because no answer was judged more than once"
    return (
        f"standard deviation {score(spread.deviation)}, largest difference {score(spread.widest)}, "
        f"over {plural(spread.n_answers, 'answer')}"
    )
