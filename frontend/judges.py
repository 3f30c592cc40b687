"""Judge calibrations as pages show them: view models, made from the numbers stored with the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import urlencode

from benchmarks.metrics.judge_calibration import PHRASINGS, TRUTHS, VERDICTS
from benchmarks.metrics.registered_metrics import parts_of
from benchmarks.models import Run
from benchmarks.presentation.judges import calibration_finding, calibration_leaning
from benchmarks.presentation.labels import metric_title
from benchmarks.presentation.numbers import MISSING, interval, percent, plural
from benchmarks.presentation.sentences import n_of_expected
from benchmarks.presentation.tables import Shown
from benchmarks.queries.judge_agreement import corrected_run
from benchmarks.queries.judge_words import JudgeRow, rows_of
from benchmarks.queries.judges import agreement_of, answers_to_judge
from benchmarks.queries.tables.judges import BY_PHRASING, JUDGES, LENGTH_BIAS, LengthBias, Share
from benchmarks.services.judges import calibratable_metrics
from benchmarks.statistics.intervals import Interval
from benchmarks.statistics.panel import JudgeOfPanel
from benchmarks.statistics.prediction_powered import CorrectedMean
from benchmarks.summary import Agreement, Panel
from frontend.view_models import JudgingRow, MetricRow, metric_rows

_MEANING = {
    ("correct", "correct"): "agrees",
    ("correct", "partial"): "too strict",
    ("correct", "wrong"): "too strict",
    ("wrong", "correct"): "too lenient",
    ("wrong", "partial"): "agrees",
    ("wrong", "wrong"): "agrees",
}
"""Truth and verdict → what the judge does. Only "correct" accepts an answer."""


@dataclass(frozen=True, slots=True)
class CalibrationRow(JudgingRow):
    """One calibration. ``numbers`` is ``None`` until it has completed."""

    numbers: Agreement | None
    noun: ClassVar[str] = "Calibration"
    routes: ClassVar = ("frontend:judges", "frontend:calibration", "frontend:calibration-action")

    @property
    def metric(self) -> str:
        return metric_title(self.run.metrics[0])

    @property
    def canvas_set(self) -> str:
        canvas_set = self.run.dataset.known_answers_of
        return canvas_set.slug if canvas_set else ""

    @property
    def total(self) -> int:
        return answers_to_judge(self.run)

    @property
    def found(self) -> Agreement:
        """Its numbers, once it has some."""
        assert self.numbers is not None, "a calibration without numbers shows none"
        return self.numbers

    @property
    def shares(self) -> list[Share]:
        found = self.found
        return [
            Share.of("Accuracy", found.accuracy),
            Share.of("Wrong answers accepted", found.false_accepts),
            Share.of("Correct answers rejected", found.false_rejects),
        ]

    @property
    def by_phrasing(self) -> Shown[Share]:
        """In the order of ``PHRASINGS``, because PostgreSQL keeps no order of keys."""
        shares = self.found.by_phrasing
        ordered = sorted(shares, key=lambda name: list(PHRASINGS).index(name) if name in PHRASINGS else len(PHRASINGS))
        return BY_PHRASING.of(Share.of(name, shares[name]) for name in ordered)

    @property
    def verdicts(self) -> list[tuple[str, list[tuple[str, int, str]], int]]:
        """For correct and for wrong answers: the verdicts in the order of ``VERDICTS``, each with its number of answers
        and what it means, and the total."""
        confusion = self.found.confusion
        rows = [
            (truth, [(verdict, confusion[f"{truth}_as_{verdict}"], _MEANING[truth, verdict]) for verdict in VERDICTS])
            for truth in TRUTHS
        ]
        return [(truth, counts, sum(answers for _, answers, _ in counts)) for truth, counts in rows]

    @property
    def n_of(self) -> str:
        """How many answers have a verdict, of how many."""
        return self.shares[0].n_of

    @property
    def length_bias(self) -> Shown[LengthBias]:
        """For correct and for wrong answers: the difference, and the n of N of the questions behind it."""
        rows = [(truth, self.found.length_bias[truth]) for truth in TRUTHS]
        return LENGTH_BIAS.of(
            LengthBias(truth, bias, n_of_expected(bias.n_shared, bias.n_shared + bias.n_missing))
            for truth, bias in rows
        )

    @property
    def verdict(self) -> tuple[str, str]:
        """Which way the judge errs, in words: the finding, and the shares behind it. Empty without both shares."""
        accepts, rejects = self.found.false_accepts, self.found.false_rejects
        if accepts.mean is None or rejects.mean is None:
            return "", ""
        shares = (
            f"It accepts {_share(accepts)} of {plural(accepts.n, 'wrong answer')} and rejects "
            f"{_share(rejects)} of {plural(rejects.n, 'correct answer')}."
        )
        return calibration_finding(self.found), shares

    @property
    def weakness(self) -> str:
        """The phrasing whose accuracy is below what the accuracy of all may be, as a sentence; empty without one."""
        least = min(self.found.by_phrasing.items(), key=lambda each: each[1].mean or 0.0, default=None)
        bound = self.found.accuracy.low
        if least is None or least[1].mean is None or bound is None or least[1].mean >= bound:
            return ""
        return f"Least accurate by phrasing: {least[0]}."

    @property
    def needs_caution(self) -> bool:
        """Whether it leans one way, or may agree with the truth no more than by chance."""
        kappa = self.found.kappa.low
        return bool(calibration_leaning(self.found)) or kappa is None or kappa <= 0

    @property
    def request(self) -> dict[str, object]:
        """The request for the same calibration again."""
        requested = self.run.calibration or {}
        return {
            "judge_model": self.run.judge_model,
            "canvas_set": self.canvas_set,
            "metric": self.run.metrics[0],
            "questions": requested["questions"],
            "repeats": self.run.repeats,
            "concurrency": self.run.concurrency,
            "seed": requested["seed"],
        }

    @property
    def settings(self) -> list[tuple[str, object]]:
        """Every parameter, for the end of the page."""
        labels = {
            "judge_model": "Judge",
            "metric": "Metric",
            "canvas_set": "Canvas set",
            "questions": "Max questions",
            "repeats": "Repeats per answer",
            "concurrency": "Max concurrent requests",
            "seed": "Seed",
        }
        return [
            *((label, self.request[name]) for name, label in labels.items()),
            ("Phrasings", ", ".join((self.run.calibration or {})["phrasings"])),
            ("Code version", self.run.code_version or MISSING),
        ]


def _share(share: Interval) -> str:
    return f"{percent(share.mean)} ({interval(share.low, share.high, percent)})"


@dataclass(frozen=True, slots=True)
class Reliability:
    """What is known of a run's judge for one metric."""

    metric: MetricRow
    judge: JudgeRow
    calibratable: bool
    corrected: CorrectedMean | None
    is_told: bool
    """The headline of the run says what is known of the judge."""

    @property
    def has_links(self) -> bool:
        """To what is known of the judge, whoever looks."""
        return bool(self.corrected or self.judge.people or self.judge.calibration)

    @property
    def query(self) -> str:
        """Of the page of its agreement with people."""
        return urlencode({"judge": self.judge.judge, "metric": self.judge.metric})


def calibration_row(run: Run) -> CalibrationRow:
    return CalibrationRow(run, agreement_of(run))


def judge_reliability(run: Run) -> list[Reliability]:
    """One entry for each judged metric of the run."""
    judged = [row for row in metric_rows(run) if row.judged]
    corrected = corrected_run(run) if judged else {}
    found = rows_of((run.judge_model, row.name) for row in judged) if judged else []
    possible = calibratable_metrics()
    told = parts_of(run.headline)
    return [
        Reliability(row, known, row.name in possible, corrected.get(row.name), row.name in told)
        for row, known in zip(judged, found, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class PanelRow:
    """How several verdicts on the same answers agree, for one metric of a run."""

    metric: MetricRow
    numbers: Panel

    @property
    def has_order(self) -> bool:
        """Whether some answers were judged in both orders."""
        return bool(self.numbers.order.n)

    @property
    def judges(self) -> Shown[JudgeOfPanel]:
        deviation = any(judge.deviation is not None for judge in self.numbers.judges)
        return JUDGES.where(deviation=deviation).of(self.numbers.judges, title=f"Judges of {self.metric.title}")


def panel_rows(run: Run) -> list[PanelRow]:
    panels = run.numbers.panels or {}
    return [PanelRow(row, panels[row.name]) for row in metric_rows(run) if row.name in panels]
