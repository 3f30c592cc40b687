"""What to do with a judge, from its agreement with people: one sentence that decides, then what it rests on."""

from __future__ import annotations

import math
from dataclasses import dataclass

from benchmarks.metrics.panel import judges_named
from benchmarks.presentation.numbers import n_of, number, percent, plural, points
from benchmarks.presentation.ranks import listed
from benchmarks.statistics.agreement import Kappa
from benchmarks.statistics.intervals import Interval
from benchmarks.statistics.prediction_powered import CorrectedMean
from benchmarks.summary import Agreement

ENOUGH = 40
"""Fewer labels do not decide which way a judge errs."""
STEP = 40
"""How many more labels the sentences speak of."""


UNRELIABLE = 0.2
"""From this share of wrong answers passed or of right ones failed, a judge is not called usable as it is."""


@dataclass(frozen=True, slots=True)
class JudgeVerdict:
    """``finding`` decides, ``basis`` says on what it rests, ``advice`` what to do. ``more`` labels are advised."""

    finding: str
    basis: str
    advice: str
    caution: bool
    more: int

    @property
    def text(self) -> str:
        return " ".join(filter(None, (self.finding, self.basis, self.advice)))


def judge_verdict(
    counts: tuple[int, int, int, int], leaning: str, kappa: Kappa, corrected: CorrectedMean | None
) -> JudgeVerdict:
    """``counts`` are the answers that people and judge pass, only people, only the judge, and neither."""
    both, strict, lenient, neither = counts
    n = sum(counts)
    errors = (
        f"It passes {_share(lenient, lenient + neither, 'wrong answer')} and fails "
        f"{_share(strict, strict + both, 'right answer')}."
    )
    if n < ENOUGH:
        more = min(ENOUGH - n, corrected.n_judged - corrected.n_labels) if corrected else ENOUGH - n
        missing = f"Too few labels: label {number(more)} more." if more else "Too few answers: all are labeled."
        if not n:
            return JudgeVerdict(missing, "Nobody has labeled an answer.", "", True, more)
        finding = f"Agrees with people on {n_of(both + neither, n)} answers: do not rely on it yet."
        return JudgeVerdict(finding, missing, "", True, more)
    more, advice = _advice(corrected)
    if kappa.kappa is None:
        finding = "Not decided: judge and people give every answer the same verdict."
        return JudgeVerdict(finding, "Label answers that differ in quality.", advice, True, more)
    if kappa.low is None or kappa.low <= 0:
        finding = "Not usable: this judge may agree with people no more often than by chance."
        advice = "Use another judge or another rubric. The corrected mean rests on the labels."
        return JudgeVerdict(finding, errors, advice, True, more)
    reliable = (
        f" The corrected mean is reliable for differences above {points(corrected.detectable_difference)} points."
        if corrected
        else ""
    )
    worst = max(wrong / total for wrong, total in ((lenient, lenient + neither), (strict, strict + both)) if total)
    if leaning:
        finding = f"Usable after correction: this judge is {leaning}."
    elif worst >= UNRELIABLE:
        finding = "Usable only after correction: this judge errs often."
    elif lenient + strict:
        finding = "Usable: this judge errs, but is not significantly lenient or strict."
    else:
        finding = "Usable: this judge agrees with people on every labeled answer."
    return JudgeVerdict(finding, errors + reliable, advice, bool(leaning) or worst >= UNRELIABLE, more)


def calibration_leaning(numbers: Agreement) -> str:
    """``lenient`` or ``strict`` if one kind of mistake is significantly more frequent, else empty."""
    leniency = numbers.leniency
    if not leniency.is_clear or leniency.difference is None:
        return ""
    return "lenient" if leniency.difference > 0 else "strict"


def calibration_finding(numbers: Agreement) -> str:
    """Which way the judge errs on known answers; empty unless both right and wrong ones have a verdict."""
    accepts, rejects = numbers.false_accepts.mean, numbers.false_rejects.mean
    if accepts is None or rejects is None:
        return ""
    if leaning := calibration_leaning(numbers):
        return f"This judge is {leaning}."
    if not accepts and not rejects:
        return "This judge makes no mistakes on these answers."
    return "This judge makes mistakes, but is not significantly lenient or strict."


KAPPA_WORDS = ((0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial"), (math.inf, "almost perfect"))
"""The upper end of each step of κ and its usual name (Landis and Koch, 1977)."""


def kappa_words(kappa: Kappa) -> str:
    """κ for readers who do not know it; chance as long as its interval allows for it."""
    if kappa.kappa is None:
        return ""
    if kappa.low is None or kappa.low <= 0:
        return "may be chance"
    return next(words for end, words in KAPPA_WORDS if kappa.kappa <= end) + " agreement"


def judged_by(judge_model: str, with_people: Interval | None, on_known: float | None) -> str:
    """Who gave a score and what is known of it: ``judged by openai/judge, not calibrated``.

    ``with_people`` is the share of labeled answers with the verdict of people, which calibrates a judge from ``ENOUGH``
    of them on; ``on_known`` is the share of right verdicts on canvas questions, of which the truth is known.
    """
    judge = f"judged by {listed(judges_named(judge_model))}" if judge_model else "judged"
    found, calibrated = [], on_known is not None
    if with_people is not None and with_people.mean is not None:
        enough, agree = with_people.n >= ENOUGH, with_people.mean
        share = percent(agree) if enough else number(round(agree * with_people.n))
        found.append(f"agrees with people on {share} of {plural(with_people.n, 'answer')}")
        calibrated = calibrated or enough
    if on_known is not None:
        found.append(f"right on {percent(on_known)} of canvas questions")
    return f"{judge}, {'calibrated' if calibrated else 'not calibrated'}" + (f": {', '.join(found)}" if found else "")


def _share(n: int, total: int, noun: str) -> str:
    if not total:
        return f"no {noun}, because none is labeled,"
    return f"{number(n)} of {plural(total, noun)} ({percent(n / total)})"


def _advice(corrected: CorrectedMean | None) -> tuple[int, str]:
    """How many more labels to give, and what they would bring."""
    if corrected is None:
        return STEP, ""
    more = min(STEP, corrected.n_judged - corrected.n_labels)
    if more <= 0:
        return 0, "All answers are labeled."
    then = 2**0.5 * corrected.half_width_with(corrected.n_labels + more)
    return more, f"{plural(more, 'more label')} would lower that to {points(then)} points."
