"""The tables of calibrations and preference runs."""

from __future__ import annotations

from benchmarks.models import Run
from benchmarks.presentation.cells import Cell, Link, Mean, Moment, Words, run_state
from benchmarks.presentation.labels import metric_title
from benchmarks.presentation.numbers import MISSING, money, number
from benchmarks.presentation.preferences import PEOPLE, verdict
from benchmarks.presentation.sentences import n_of_expected
from benchmarks.presentation.tables import Column, Table
from benchmarks.queries.judges import agreement_of, answers_to_judge
from benchmarks.queries.preferences import candidates_of, judgements_to_make, numbers_of
from benchmarks.queries.tables.runs import drawn_progress


def _canvas_set(run: Run) -> Cell:
    canvas_set = run.dataset.known_answers_of
    return Link(canvas_set.slug, "gallery", (canvas_set.slug,)) if canvas_set else MISSING


def _kappa(run: Run) -> Cell:
    numbers = agreement_of(run)
    if numbers is None:
        return MISSING
    kappa = numbers.kappa
    return Words("undefined", "soft", kappa.note) if kappa.kappa is None else Mean(kappa.kappa, kappa.low, kappa.high)


def _accuracy(run: Run) -> Cell:
    numbers = agreement_of(run)
    return Mean(numbers.accuracy.mean, numbers.accuracy.low, numbers.accuracy.high) if numbers else MISSING


def _answers(run: Run) -> Cell:
    if numbers := agreement_of(run):
        return n_of_expected(numbers.accuracy.n, numbers.accuracy.n_expected)
    total = answers_to_judge(run)
    return [*drawn_progress(run.done, total, live=run.is_live), f"{number(run.done)} of {number(total)}"]


def _result(run: Run) -> Cell:
    numbers = numbers_of(run)
    return verdict([each["name"] for each in candidates_of(run)], numbers) if numbers else MISSING


def _cost(run: Run) -> Cell:
    return money(run.judge_cost_usd)


CALIBRATIONS = Table[Run](
    "Calibrations, newest first",
    [
        Column("Calibration", lambda run: Link(f"Calibration {run.pk}", "calibration", (run.pk,)), look="nowrap"),
        Column("Judge", lambda run: run.judge_model, "name"),
        Column("Metric", lambda run: metric_title(run.metrics[0])),
        Column("Canvas set", _canvas_set),
        Column("Status", lambda run: run_state(run.status)),
        Column("κ", _kappa, look="nowrap", info="kappa"),
        Column("Accuracy", _accuracy, look="nowrap"),
        Column("Answers", _answers, "number", look="nowrap"),
        Column("Cost", _cost, "number"),
        Column("Queued", lambda run: Moment(run.created_at), look="nowrap"),
    ],
    region=True,
)
PREFERENCES = Table[Run](
    "Preference runs, newest first",
    [
        Column("Preference run", lambda run: Link(f"Preference run {run.pk}", "preference", (run.pk,)), look="nowrap"),
        Column("Chosen by", lambda run: run.judge_model or PEOPLE, "name"),
        Column("Dataset", lambda run: (run.preference or {})["dataset"]),
        Column("Status", lambda run: run_state(run.status, run.errors)),
        Column("Result", _result),
        Column(
            "Judgements", lambda run: f"{number(run.done)} of {number(judgements_to_make(run))}", "number", "nowrap"
        ),
        Column("Cost", _cost, "number"),
        Column("Queued", lambda run: Moment(run.created_at), look="nowrap"),
    ],
    region=True,
)
