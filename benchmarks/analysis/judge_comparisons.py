"""What a judge with labels can tell apart: two runs after correction, whether it favors models of its own maker, and
whether it names the step of an agent that people name."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import eq
from statistics import fmean

from benchmarks.metrics.panel import judges_named
from benchmarks.models import Run
from benchmarks.presentation.numbers import interval, number, plural, points
from benchmarks.providers.model_families import maker_of
from benchmarks.statistics.contamination import Contamination, Sample, published_against_fresh
from benchmarks.statistics.intervals import Interval, mean_interval
from benchmarks.statistics.prediction_powered import FEWEST, CorrectedDifference, CorrectedMean, corrected_difference


@dataclass(frozen=True, slots=True)
class LabeledAnswer:
    """An answer with the judge's score and people's labels, all from 0 to 1."""

    result: int
    run: int
    model: str
    group: str
    cluster: Hashable
    judged: float
    labels: tuple[float, ...]
    judge_passes: bool
    people_pass: bool
    by_another: bool = False
    """Whether another judge gave the score, because the replies of this one could not be read"""
    judge_step: int | None = None
    """The first wrong step according to the judge: 0 for none, ``None`` if it did not see the steps."""
    people_steps: tuple[int, ...] = ()
    """Those that people name, 0 for none."""

    @property
    def label(self) -> float:
        """What people say on average."""
        return sum(self.labels) / len(self.labels)

    @property
    def error(self) -> str:
        """``lenient`` or ``strict`` if judge and people disagree, else empty."""
        return "" if self.judge_passes == self.people_pass else "lenient" if self.judge_passes else "strict"


@dataclass(frozen=True, slots=True)
class StepAgreement:
    """How often a judge names the first wrong step that people name. Of an answer that several people labeled: the
    share of them."""

    same: Interval
    """No wrong step according to both is the same."""
    near: Interval
    """The same or at most one step away."""
    where_wrong: Interval
    """The same, on answers in which people name a step."""


def step_agreement(answers: Sequence[LabeledAnswer]) -> StepAgreement | None:
    """``None`` without an answer for which both say it."""
    said = [(each, each.judge_step, each.people_steps) for each in answers]
    all_steps = [(each, judge, people) for each, judge, people in said if judge is not None and people]
    named = [(each, judge, [step for step in people if step]) for each, judge, people in all_steps]
    same = _shares(all_steps, eq)
    near = _shares(all_steps, lambda judge, step: judge == step or (bool(judge and step) and abs(judge - step) == 1))
    where_wrong = _shares([row for row in named if row[2]], eq)
    return StepAgreement(same, near, where_wrong) if all_steps else None


def _shares(rows: Sequence[tuple[LabeledAnswer, int, Sequence[int]]], agrees: Callable[[int, int], bool]) -> Interval:
    shares = [fmean(agrees(judge, step) for step in people) for _, judge, people in rows]
    return mean_interval(shares, [answer.cluster for answer, _, _ in rows])


@dataclass(frozen=True, slots=True)
class CorrectedRun:
    """A run, its judged and its labeled answers; no means if there are too few labels."""

    run: Run
    n_judged: int
    n_labels: int
    means: CorrectedMean | None


@dataclass(frozen=True, slots=True)
class Separation:
    """Two runs on one version: ``higher`` has the higher corrected mean."""

    higher: Run
    lower: Run
    corrected: CorrectedDifference
    judged: float
    """The difference by the judge alone."""

    @property
    def words(self) -> tuple[str, str]:
        """Whether the labels tell the runs apart, and how many more are needed if not."""
        if self.corrected.is_clear:
            return "Enough labels: different", ""
        more = self.corrected.more_labels
        if more is None:
            return (
                "Not separated",
                "Even labels of all answers would not make the difference significant. Run more tasks.",
            )
        advice = f"If the difference persists, {plural(more, 'more label')} would make it significant."
        return f"Too few labels: {number(more)} more", advice


@dataclass(frozen=True, slots=True)
class Favor:
    """How much more often a judge passes answers of models of its own maker than equally good ones of others.

    ``comparison`` averages the difference among right and among wrong answers; ``None`` with too few labels, and then
    ``missing`` more are needed on the side that has fewer.
    """

    makers: tuple[str, ...]
    own: tuple[str, ...]
    """Models of these makers whose answers are labeled."""
    n_own: int
    n_others: int
    comparison: Contamination | None
    missing: int = 0

    @property
    def verdict(self) -> str:
        """``favors``, ``disfavors``, ``no sign`` or ``too few labels``."""
        comparison = self.comparison
        if comparison is None or comparison.low is None or comparison.high is None:
            return "too few labels"
        return "favors" if comparison.low > 0 else "disfavors" if comparison.high < 0 else "no sign"

    @property
    def words(self) -> tuple[str, str]:
        """The finding, and on what it rests."""
        makers = " and ".join(self.makers)
        counts = f"{plural(self.n_own, 'labeled answer')} of {makers} models, {number(self.n_others)} of others."
        comparison = self.comparison
        if comparison is None:
            side = f"{makers} models" if self.n_own <= self.n_others else "models of other makers"
            return f"Too few labels: {number(self.missing)} more, on answers of {side}.", counts
        if comparison.difference is None or comparison.low is None or comparison.high is None:
            return "Unknown: neither correct nor wrong answers of both groups are labeled.", counts
        size, bounds = points(abs(comparison.difference)), interval(comparison.low, comparison.high, points)
        signed = points(comparison.difference)
        basis = f"It passes answers of {makers} models {signed} points ({bounds}) more often. {counts}"
        if self.verdict == "favors":
            return f"Favors {makers} models by {size} points over equally good answers of others.", basis
        if self.verdict == "disfavors":
            return f"Stricter with {makers} models, by {size} points, than with equally good answers of others.", basis
        return f"No sign that it favors {makers} models.", basis


def separation(first: CorrectedRun, second: CorrectedRun) -> Separation | None:
    """``None`` for runs on different versions, or if one has too few labels."""
    if first.means is None or second.means is None or first.run.dataset_version_id != second.run.dataset_version_id:
        return None
    if first.means.mean < second.means.mean:
        first, second = second, first
    higher, lower = first.means, second.means
    if higher is None or lower is None:
        return None
    judged = (higher.judge.mean or 0.0) - (lower.judge.mean or 0.0)
    return Separation(first.run, second.run, corrected_difference(higher, lower), judged)


def separations(runs: Iterable[CorrectedRun]) -> list[Separation]:
    """Of neighbors by corrected mean, on each version."""
    placed = sorted(
        (each for each in runs if each.means),
        key=lambda each: (-each.run.dataset_version_id, each.means.mean if each.means else 0.0),
        reverse=True,
    )
    return [gap for pair in pairwise(placed) if (gap := separation(*pair))]


def favor_of(judge_model: str, answers: Sequence[LabeledAnswer]) -> Favor | None:
    """``None`` if no labeled answer is of a model of a judge's maker."""
    makers = {maker for judge in judges_named(judge_model) if (maker := maker_of(judge))}
    own = [answer for answer in answers if maker_of(answer.model) in makers]
    if not own:
        return None
    others = [answer for answer in answers if maker_of(answer.model) not in makers]
    comparison = None
    missing = max(0, FEWEST - min(len(own), len(others)))
    if not missing:
        strata = {
            name: (_passes(own, right), _passes(others, right)) for name, right in (("right", True), ("wrong", False))
        }
        comparison = published_against_fresh(strata)
    models = tuple(sorted({answer.model for answer in own}))
    return Favor(tuple(sorted(makers)), models, len(own), len(others), comparison, missing)


def _passes(answers: Iterable[LabeledAnswer], right: bool) -> Sample:
    """The judge's verdicts on the answers that people pass, or on those that they do not."""
    chosen = [answer for answer in answers if answer.people_pass == right]
    return Sample([float(answer.judge_passes) for answer in chosen], [answer.cluster for answer in chosen])
