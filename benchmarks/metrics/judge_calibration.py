"""Measuring a judge on answers whose truth is known.

Canvas questions have one right answer. From each, right and wrong answers are made in several wordings; a judge scores
them without knowing which are which; what it says is then compared with the truth. Pure: the judging itself, and what
it costs, come from the caller.

A wrong answer is the right answer to another question of the same task class, so that it is of the right kind and
length. Every made answer is first given to the task class's own rules, and left out where they do not confirm that it
is right, or wrong.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.metrics.base import Item, JudgedMetric, Score
from benchmarks.providers.base import known_sum
from benchmarks.statistics.agreement import Kappa, cohen_kappa
from benchmarks.statistics.intervals import Interval, mean_interval
from benchmarks.statistics.paired import Comparison, compare
from benchmarks.statistics.reliability import JudgeSpread, judge_spread
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS

SHORT, LONG = "bare", "explained"
"""The two wordings that differ in length alone and show a bias for it."""

WORDINGS: Mapping[str, Callable[[str, str], str]] = {
    SHORT: lambda answer, other: answer,
    "marked": lambda answer, other: f"Answer: {answer}",
    "confident": lambda answer, other: f"I have checked this twice and there can be no doubt.\n\n**Answer:** {answer}",
    LONG: lambda answer, other: (
        "To answer this, I go through the description step by step. First I note every shape that is mentioned, with "
        "its size, its colour and its place. Then I compare what is said of each with what the question asks, and "
        "leave out all that has no bearing on it. Finally I check the result against the whole description once more, "
        f"so that nothing is overlooked or counted twice. This leads to one result.\n\nAnswer: {answer}"
    ),
    "changed mind": lambda answer, other: (
        f"My first thought was: {other}. Going through it again, that does not hold.\n\nAnswer: {answer}"
    ),
}
"""An answer, and one of the opposite truth that it may mention, put into words."""


@dataclass(frozen=True, slots=True)
class CanvasQuestion:
    """``group`` is the task class, ``canvas`` names the canvas, which several questions may share."""

    id: str
    canvas: str
    group: str
    input: str
    expected: str


@dataclass(frozen=True, slots=True)
class CalibrationCase:
    """One made answer, to be judged once. ``repeat`` counts from 0."""

    question: CanvasQuestion
    wording: str
    text: str
    right: bool
    repeat: int = 0

    @property
    def answer_key(self) -> tuple[str, str, bool]:
        """The same for all repeats of one answer."""
        return (self.question.id, self.wording, self.right)

    def item(self) -> Item:
        question = self.question
        return Item(question.input, question.expected, self.text, group=question.group)


@dataclass(frozen=True, slots=True)
class JudgedCase:
    """What the judge made of a case. ``cost_usd`` is ``None`` where the price is unknown."""

    case: CalibrationCase
    score: Score
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Confusion:
    """Answers by truth and by the judge's verdict, by the metric's own bounds of correct and wrong."""

    right_as_correct: int = 0
    right_as_partial: int = 0
    right_as_wrong: int = 0
    wrong_as_correct: int = 0
    wrong_as_partial: int = 0
    wrong_as_wrong: int = 0


@dataclass(frozen=True, slots=True)
class Calibration:
    """How far a judge can be trusted. All but ``spread``, ``errors`` and the cost rest on one verdict an answer, the
    first that is a score. Intervals take the answers about one canvas as one cluster.
    """

    n_answers: int
    confusion: Confusion
    kappa: Kappa
    """Agreement on correct or not correct, beyond chance."""
    accuracy: Interval
    false_accepts: Interval
    """Share of the wrong answers that are called correct."""
    false_rejects: Interval
    """Share of the right answers that are not called correct."""
    by_wording: Mapping[str, Interval]
    """Accuracy by wording, from plain to devious."""
    length_bias: Mapping[bool, Comparison]
    """The long wording against the short one, in the judge's score, for right (``True``) and for wrong answers."""
    spread: JudgeSpread
    errors: int
    calls: int
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None


def calibration_cases(
    questions: Sequence[CanvasQuestion],
    *,
    phrasings: Sequence[str] = tuple(WORDINGS),
    repeats: int = 1,
    seed: int = 0,
) -> list[CalibrationCase]:
    """Right and wrong answers to each question in each wording, ``repeats`` times each; ``seed`` draws their order.

    A question for which no other answer of its task class is wrong has none, and is left out.
    """
    rng = random.Random(seed)
    cases: list[CalibrationCase] = []
    for question in questions:
        wrong = _wrong_answer(question, questions, rng)
        if wrong is None:
            continue
        for wording in phrasings:
            for right, answer, other in ((True, question.expected, wrong), (False, wrong, question.expected)):
                text = WORDINGS[wording](answer, other)
                if _task_value(question, text) == float(right):
                    cases += [CalibrationCase(question, wording, text, right, repeat) for repeat in range(repeats)]
    rng.shuffle(cases)
    return cases


def calibrate(judged: Sequence[JudgedCase], metric: JudgedMetric) -> Calibration:
    """Compare the judge's scores with the truth. ``metric`` says from which value on an answer counts as correct."""
    scores: dict[tuple[str, str, bool], list[float]] = defaultdict(list)
    cases: dict[tuple[str, str, bool], CalibrationCase] = {}
    for one in sorted(judged, key=lambda one: one.case.repeat):
        if one.score.value is not None:
            scores[one.case.answer_key].append(one.score.value)
            cases[one.case.answer_key] = one.case
    first = {key: values[0] for key, values in scores.items()}
    verdicts = [(cases[key], value) for key, value in first.items()]
    called_correct = [value >= metric.passes_at for _, value in verdicts]
    usages = [one.score.usage for one in judged if one.score.usage is not None]
    costs = [one.cost_usd for one in judged]
    return Calibration(
        n_answers=len(verdicts),
        confusion=_confusion(verdicts, metric),
        kappa=cohen_kappa(
            [case.right for case, _ in verdicts],
            called_correct,
            categories=(False, True),
            clusters=_canvases(verdicts),
        ),
        accuracy=_accuracy(verdicts, metric),
        false_accepts=_share_called_correct([pair for pair in verdicts if not pair[0].right], metric, of=True),
        false_rejects=_share_called_correct([pair for pair in verdicts if pair[0].right], metric, of=False),
        by_wording={
            wording: _accuracy([pair for pair in verdicts if pair[0].wording == wording], metric)
            for wording in sorted({case.wording for case, _ in verdicts}, key=list(WORDINGS).index)
        },
        length_bias={right: _length_bias(verdicts, right) for right in (True, False)},
        spread=judge_spread(scores),
        errors=sum(one.score.value is None for one in judged),
        calls=sum(usage.calls for usage in usages),
        tokens_in=known_sum(*(usage.tokens_in for usage in usages)),
        tokens_out=known_sum(*(usage.tokens_out for usage in usages)),
        cost_usd=sum(cost for cost in costs if cost is not None) if None not in costs else None,
    )


Verdicts = Sequence[tuple[CalibrationCase, float]]


def _confusion(verdicts: Verdicts, metric: JudgedMetric) -> Confusion:
    counts: dict[str, int] = defaultdict(int)
    for case, value in verdicts:
        said = "correct" if value >= metric.passes_at else "wrong" if value <= metric.fails_at else "partial"
        counts[f"{'right' if case.right else 'wrong'}_as_{said}"] += 1
    return Confusion(**counts)


def _accuracy(verdicts: Verdicts, metric: JudgedMetric) -> Interval:
    hits = [float((value >= metric.passes_at) == case.right) for case, value in verdicts]
    return mean_interval(hits, _canvases(verdicts))


def _share_called_correct(verdicts: Verdicts, metric: JudgedMetric, *, of: bool) -> Interval:
    """The share called correct (``of`` true) or not called correct."""
    return mean_interval([float((value >= metric.passes_at) is of) for _, value in verdicts], _canvases(verdicts))


def _length_bias(verdicts: Verdicts, right: bool) -> Comparison:
    by_wording: dict[str, dict[str, float]] = {SHORT: {}, LONG: {}}
    canvases: dict[str, Hashable] = {}
    for case, value in verdicts:
        if case.right is right and case.wording in by_wording:
            by_wording[case.wording][case.question.id] = value
            canvases[case.question.id] = case.question.canvas
    return compare(by_wording[SHORT], by_wording[LONG], canvases)


def _canvases(verdicts: Verdicts) -> list[str]:
    return [case.question.canvas for case, _ in verdicts]


def _wrong_answer(question: CanvasQuestion, questions: Sequence[CanvasQuestion], rng: random.Random) -> str | None:
    """Another question's answer that the task class scores 0 here, drawn from all there are, or ``None``."""
    others = sorted({other.expected for other in questions if other.group == question.group} - {question.expected})
    rng.shuffle(others)
    return next((answer for answer in others if _task_value(question, answer) == 0.0), None)


def _task_value(question: CanvasQuestion, text: str) -> float | None:
    return REGISTERED_TASKS[question.group].verdict(question.expected, text).value
