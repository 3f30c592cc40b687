"""Calibrations of judges as pages show them, made of the numbers that are stored with them. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.metrics.judge_calibration import WORDINGS
from benchmarks.models import JudgeCalibration, Run
from benchmarks.statistics.sentences import count, percent
from frontend.view_models import MetricRow, metric_row, metric_rows

VERDICTS = ("correct", "partial", "wrong")
TRUTHS = ("right", "wrong")
LIVE = frozenset({JudgeCalibration.Status.QUEUED, JudgeCalibration.Status.RUNNING})

Numbers = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Kappa:
    """Cohen's κ with its bounds; ``None`` where it is not defined, and the note says why."""

    value: float | None
    low: float | None
    high: float | None
    note: str


@dataclass(frozen=True, slots=True)
class Share:
    """A share of answers with its interval, or none where there were no such answers."""

    title: str
    mean: float | None
    low: float | None
    high: float | None
    n: int
    note: str


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What the judge called the answers of one truth: ``(verdict, answers)`` in the order of ``VERDICTS``."""

    truth: str
    counts: tuple[tuple[str, int], ...]

    @property
    def total(self) -> int:
        return sum(answers for _, answers in self.counts)


@dataclass(frozen=True, slots=True)
class LengthBias:
    """The judge's score of long answers minus that of short ones that say the same, in scores from 0 to 1."""

    truth: str
    n: int
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    note: str


@dataclass(frozen=True, slots=True)
class Spread:
    """How far repeated scores of one answer lie apart; ``None`` where none was judged twice."""

    deviation: float | None
    widest: float | None
    n_answers: int


@dataclass(frozen=True, slots=True)
class Findings:
    """What a completed calibration found."""

    n_answers: int
    kappa: Kappa
    accuracy: Share
    false_accepts: Share
    false_rejects: Share
    by_wording: tuple[Share, ...]
    verdicts: tuple[Verdicts, ...]
    length_bias: tuple[LengthBias, ...]
    spread: Spread
    errors: int
    calls: int

    @property
    def shares(self) -> tuple[Share, ...]:
        return (self.accuracy, self.false_accepts, self.false_rejects)

    @property
    def sentence(self) -> str:
        """The answer in one sentence, for readers who do not know κ."""
        words = f"Of {count(self.n_answers, 'answer')} it judged {_percent(self.accuracy)} rightly."
        if self.false_accepts.mean is None or self.false_rejects.mean is None:
            return words
        return (
            f"{words} It called {_percent(self.false_accepts)} of the wrong answers correct, and did not call "
            f"{_percent(self.false_rejects)} of the right ones correct."
        )


@dataclass(frozen=True, slots=True)
class CalibrationRow:
    """One calibration. ``findings`` is ``None`` until it has completed."""

    calibration: JudgeCalibration
    metric: MetricRow
    findings: Findings | None

    @property
    def live(self) -> bool:
        return self.calibration.status in LIVE

    @property
    def resumable(self) -> bool:
        return self.calibration.status in (JudgeCalibration.Status.CANCELLED, JudgeCalibration.Status.FAILED)

    @property
    def percent(self) -> int:
        return 100 * self.calibration.done // self.calibration.total if self.calibration.total else 0

    @property
    def seconds(self) -> float | None:
        """From being asked for to the end, waiting for a worker included."""
        ended = self.calibration.completed_at
        return None if ended is None else (ended - self.calibration.created_at).total_seconds()


@dataclass(frozen=True, slots=True)
class Trust:
    """How far the judge of a run was examined for one of its metrics. ``latest`` is its newest calibration."""

    metric: MetricRow
    latest: CalibrationRow | None
    examinable: bool


def calibration_row(calibration: JudgeCalibration) -> CalibrationRow:
    return CalibrationRow(calibration, metric_row(calibration.metric), findings(calibration.numbers))


def calibration_rows(calibrations: Iterable[JudgeCalibration]) -> list[CalibrationRow]:
    return [calibration_row(calibration) for calibration in calibrations]


def judge_trust(run: Run, latest: Mapping[str, JudgeCalibration], examinable: Iterable[str]) -> list[Trust]:
    """One entry for each judged metric of the run. ``latest`` holds calibrations of its judge by metric."""
    known = frozenset(examinable)
    return [
        Trust(row, calibration_row(latest[row.name]) if row.name in latest else None, row.name in known)
        for row in metric_rows(run)
        if row.judged
    ]


def findings(numbers: Numbers) -> Findings | None:
    """The stored numbers by name; ``None`` where there are none (yet)."""
    if not numbers:
        return None
    kappa, spread = numbers["kappa"], numbers["spread"]
    return Findings(
        n_answers=numbers["n_answers"],
        kappa=Kappa(kappa["kappa"], kappa["low"], kappa["high"], kappa["note"]),
        accuracy=_share("Judged rightly", numbers["accuracy"]),
        false_accepts=_share("Wrong answers called correct", numbers["false_accepts"]),
        false_rejects=_share("Right answers not called correct", numbers["false_rejects"]),
        by_wording=tuple(_share(wording, found) for wording, found in _in_order(numbers["by_wording"])),
        verdicts=tuple(_verdicts(truth, numbers["confusion"]) for truth in TRUTHS),
        length_bias=tuple(_length_bias(truth, numbers["length_bias"][truth]) for truth in TRUTHS),
        spread=Spread(spread["deviation"], spread["widest"], spread["n_answers"]),
        errors=numbers["errors"],
        calls=numbers["calls"],
    )


def settings_of(calibration: JudgeCalibration) -> list[tuple[str, object]]:
    """Every parameter of a calibration, in words, for the end of its page."""
    return [
        ("Judge", calibration.judge_model),
        ("Metric", calibration.metric),
        ("Canvas set", calibration.canvas_set.slug),
        ("Questions, at most", calibration.questions),
        ("Wordings", ", ".join(calibration.phrasings)),
        ("Each answer is judged", count(calibration.repeats, "time")),
        ("Requests in flight, at most", calibration.concurrency),
        ("Seed", calibration.seed),
        ("Code version", calibration.code_version or "–"),
    ]


def _in_order(by_wording: Numbers) -> list[tuple[str, Numbers]]:
    """From plain to devious; PostgreSQL keeps no order of keys."""
    known = list(WORDINGS)
    return sorted(by_wording.items(), key=lambda pair: known.index(pair[0]) if pair[0] in known else len(known))


def _share(title: str, found: Numbers) -> Share:
    return Share(title, found["mean"], found["low"], found["high"], found["n"], found["note"])


def _verdicts(truth: str, confusion: Numbers) -> Verdicts:
    return Verdicts(truth, tuple((verdict, confusion[f"{truth}_as_{verdict}"]) for verdict in VERDICTS))


def _length_bias(truth: str, found: Numbers) -> LengthBias:
    return LengthBias(
        truth=truth,
        n=found["n_shared"],
        difference=found["difference"],
        low=found["low"],
        high=found["high"],
        p_value=found["p_value"],
        note=found["note"],
    )


def _percent(share: Share) -> str:
    return "none" if share.mean is None else percent(share.mean)
