"""Whether a judge can be relied on, by people's labels and by known answers: the same words on every page."""

from __future__ import annotations

import math
from dataclasses import dataclass

from benchmarks.metrics.judge_calibration import Share
from benchmarks.metrics.panel import judges_named
from benchmarks.presentation.numbers import n_of, number, percent, plural, points
from benchmarks.presentation.ranks import listed
from benchmarks.presentation.sentences import n_of_expected
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
UNCHECKED = "not checked by people"
TOO_FEW = "not reliable yet"


@dataclass(frozen=True, slots=True)
class JudgeStanding:
    """Whether to rely on a judge for a metric, in a ``word``, and the ``evidence`` for it."""

    word: str
    evidence: str
    caution: bool

    @property
    def text(self) -> str:
        return f"{self.word}: {self.evidence}" if self.evidence else self.word


@dataclass(frozen=True, slots=True)
class JudgeVerdict:
    """``word`` and ``finding`` decide, ``basis`` says on what it rests, ``advice`` what to do. ``more`` labels are
    advised."""

    word: str
    finding: str
    basis: str
    advice: str
    caution: bool
    more: int

    @property
    def text(self) -> str:
        return " ".join(filter(None, (self.finding, self.basis, self.advice)))


def judge_verdict(
    counts: tuple[int, int, int, int],
    leaning: str,
    kappa: Kappa,
    agreement: Interval,
    *,
    corrected: CorrectedMean | None = None,
    unlabeled: int = 0,
) -> JudgeVerdict:
    """``counts`` are the answers that people and judge pass, only people, only the judge, and neither; ``unlabeled``
    is how many judged answers have no label."""
    both, strict, lenient, neither = counts
    n = sum(counts)
    errors = (
        f"It passes {_share(lenient, lenient + neither, 'wrong answer')} and fails "
        f"{_share(strict, strict + both, 'right answer')}."
    )
    if n < ENOUGH:
        more = min(ENOUGH - n, unlabeled)
        if not n:
            return JudgeVerdict(UNCHECKED, "No labels count yet: do not rely on this judge.", "", "", True, more)
        finding = f"Do not rely on it yet: it agrees with people on {n_of(both + neither, n)} answers."
        return JudgeVerdict(TOO_FEW, finding, _missing(n, unlabeled), "", True, more)
    more, advice = _advice(corrected, unlabeled)
    if kappa.kappa is None:
        finding = "Not decided: judge and people give every answer the same verdict."
        return JudgeVerdict("not decided", finding, "Label answers that differ in quality.", advice, True, more)
    if kappa.low is None or kappa.low <= 0:
        finding = "Not usable: this judge may agree with people no more often than by chance."
        advice = "Use another judge or another rubric. The corrected mean rests on the labels."
        return JudgeVerdict("not usable", finding, errors, advice, True, more)
    reliable = (
        f" The corrected mean is reliable for differences above {points(corrected.detectable_difference)} points."
        if corrected
        else ""
    )
    worst = max(wrong / total for wrong, total in ((lenient, lenient + neither), (strict, strict + both)) if total)
    word = "usable after correction"
    if leaning:
        finding = f"Usable after correction: this judge is {leaning}."
    elif worst >= UNRELIABLE:
        finding = "Usable after correction: this judge errs often."
    elif agreement.low is None or agreement.low < 1 - UNRELIABLE:
        finding = f"Usable after correction: it may differ from people on more than {percent(UNRELIABLE)} of answers."
    else:
        word = "usable"
        finding = "Usable: this judge errs, but is not significantly lenient or strict."
        if not lenient + strict:
            finding = "Usable: this judge agrees with people on every labeled answer."
    return JudgeVerdict(word, finding, errors + reliable, advice, word != "usable", more)


def _missing(n: int, unlabeled: int) -> str:
    """What fewer labels than ``ENOUGH`` still need."""
    if not unlabeled:
        return f"All of its answers are labeled. Run more tasks and label them: a decision needs {ENOUGH} labels."
    if n + unlabeled < ENOUGH:
        return f"Label the {plural(unlabeled, 'other answer')}, then run more tasks: a decision needs {ENOUGH} labels."
    return f"Label {number(ENOUGH - n)} more: a decision needs {ENOUGH} labels."


def calibration_leaning(numbers: Agreement) -> str:
    """``lenient`` or ``strict`` if one kind of mistake is significantly more frequent, else empty."""
    leniency = numbers.leniency
    if not leniency.is_clear or leniency.difference is None:
        return ""
    return "lenient" if leniency.difference > 0 else "strict"


def count_of_share(share: Share) -> str:
    """How many answers a share counts: ``82 of 100``; without some verdicts, ``77 of 93, n = 93 of 110 (84.5%)``."""
    if share.mean is None:
        return n_of(0, share.n_expected)
    count = n_of(round(share.mean * share.n), share.n)
    return f"{count}, n = {n_of_expected(share.n, share.n_expected)}" if share.n < share.n_expected else count


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


def judge_standing(
    verdict: JudgeVerdict | None, agreement: Interval | None, known: Agreement | None, n_open: int = 0
) -> JudgeStanding:
    """Of a judge for a metric: the ``verdict`` by people's labels, or ``None`` without any; ``known`` answers alone
    decide nothing, because they are of another kind; ``n_open`` are the open reviews."""
    found = []
    if verdict and agreement and agreement.n and agreement.mean is not None:
        share = percent(agreement.mean) if agreement.n >= ENOUGH else number(round(agreement.mean * agreement.n))
        found.append(f"agrees with people on {share} of {plural(agreement.n, 'answer')}")
    if known and known.accuracy.mean is not None:
        leaning = calibration_leaning(known)
        share = f"right on {percent(known.accuracy.mean)} of {plural(known.accuracy.n, 'known answer')}"
        found.append(f"{share} ({leaning})" if leaning else share)
    if n_open:
        found.append(f"{plural(n_open, 'open review')} not counted yet")
    return JudgeStanding(verdict.word if verdict else UNCHECKED, ", ".join(found), verdict is None or verdict.caution)


def judged_by(judge_model: str, standing: JudgeStanding) -> str:
    """Who gave a score and whether to rely on it: ``judged by openai/judge, not checked by people``."""
    judge = f"judged by {listed(judges_named(judge_model))}" if judge_model else "judged"
    return f"{judge}, {standing.text}"


def _share(n: int, total: int, noun: str) -> str:
    if not total:
        return f"no {noun}, because none is labeled,"
    return f"{number(n)} of {plural(total, noun)} ({percent(n / total)})"


def _advice(corrected: CorrectedMean | None, unlabeled: int) -> tuple[int, str]:
    """How many more labels to give, and what they would bring."""
    more = min(STEP, unlabeled)
    if more <= 0:
        return 0, "All answers are labeled."
    if corrected is None:
        return more, ""
    then = 2**0.5 * corrected.half_width_with(corrected.n_labels + more)
    return more, f"{plural(more, 'more label')} would lower that to {points(then)} points."
