"""A judge's agreement with people, as other programs read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from benchmarks.analysis.judge_agreement import JudgeAgreement, Part
from benchmarks.analysis.judge_comparisons import CorrectedRun, Favor, LabeledAnswer, Separation
from benchmarks.queries.resources.base import Reader, Resource
from benchmarks.statistics.intervals import Interval
from benchmarks.statistics.prediction_powered import CorrectedMean

Numbers = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class JudgeAgreementResource(Resource):
    judge_model: str
    metric: str
    verdict: str
    """Whether the judge is usable, and what to do"""
    more_labels: int
    """Labels that are advised"""
    leaning: str
    """lenient, strict, or empty if neither is significant"""
    n_labeled: int
    """Judged answers with labels of closed random reviews"""
    n_reviewers: int
    n_other_labels: int
    """Labels outside random reviews, which are not used"""
    n_open_reviews: int
    """Random reviews that are open, so their labels are not used yet"""
    agreement: Numbers
    """Share of equal verdicts: mean, low, high, n"""
    kappa: Numbers
    """Cohen's κ of judge and people"""
    alpha: Numbers
    """Krippendorff's α of people with each other"""
    known_answers: Numbers | None
    """Accuracy in the latest calibration"""
    lenient: int
    """Wrong answers that the judge passes"""
    strict: int
    """Right answers that the judge fails"""
    corrected: Numbers | None
    """Mean by judge and labels, with judge_alone, labels_alone and detectable_difference"""
    runs: Sequence[Numbers]
    """The same by run"""
    separations: Sequence[Numbers]
    """Differences of corrected means of runs on one version, neighbors only"""
    favor: Numbers | None
    """Whether the judge favors models of its own maker; null without labels of such models"""
    by_model: Sequence[Numbers]
    by_class: Sequence[Numbers]
    steps: Numbers | None
    """How often the judge names the first wrong step that people name: same, near (at most one away), where_wrong
    (same, where people name one); null without an answer for which both say it"""
    disagreements: Sequence[Numbers]

    @classmethod
    def of(cls, row: JudgeAgreement, reader: Reader, **given: Any) -> Self:
        return super().of(
            row,
            reader,
            verdict=row.verdict.text,
            more_labels=row.verdict.more,
            n_labeled=len(row.answers),
            agreement=_bounds(row.agreement),
            kappa=asdict(row.kappa),
            alpha=asdict(row.alpha),
            known_answers=row.known_answers and asdict(row.known_answers),
            lenient=row.count(False, True),
            strict=row.count(True, False),
            corrected=_means(row.corrected),
            runs=[_run(each) for each in row.runs],
            separations=[_separation(each) for each in row.separations],
            favor=row.favor and _favor(row.favor),
            by_model=[_part(each) for each in row.by_model],
            by_class=[_part(each) for each in row.by_class],
            steps=row.steps and {name: _bounds(getattr(row.steps, name)) for name in ("same", "near", "where_wrong")},
            disagreements=[_answer(each) for each in row.disagreements],
        )


def _bounds(interval: Interval) -> Numbers:
    return {name: getattr(interval, name) for name in ("mean", "low", "high", "n")}


def _means(means: CorrectedMean | None) -> Numbers | None:
    if means is None:
        return None
    own = ("mean", "low", "high", "slope", "n_labels", "n_judged", "detectable_difference")
    alone = {"judge_alone": _bounds(means.judge), "labels_alone": _bounds(means.labels)}
    return {name: getattr(means, name) for name in own} | alone


def _run(each: CorrectedRun) -> Numbers:
    counts = {"n_judged": each.n_judged, "n_labeled": each.n_labels}
    return {"run": each.run.pk, "model": each.run.model, **counts, "corrected": _means(each.means)}


def _separation(each: Separation) -> Numbers:
    return {"higher": each.higher.pk, "lower": each.lower.pk, "judged": each.judged, **asdict(each.corrected)}


def _favor(favor: Favor) -> Numbers:
    bounds = {name: getattr(favor.comparison, name, None) for name in ("difference", "low", "high", "p_value")}
    counts = {"n_own": favor.n_own, "n_others": favor.n_others, "more_labels": favor.missing}
    return {"makers": favor.makers, "models": favor.own, "verdict": favor.verdict, **bounds, **counts}


def _part(part: Part) -> Numbers:
    counts = {"lenient": part.n_lenient, "strict": part.n_strict, "leaning": part.leaning}
    return {"name": part.name, "agreement": _bounds(part.agreement), **counts}


def _answer(answer: LabeledAnswer) -> Numbers:
    scores = {"judge": answer.judged, "people": answer.label}
    return {"result": answer.result, "run": answer.run, "error": answer.error, **scores}
