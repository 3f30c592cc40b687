"""Labels as pages show them: the choices of a form, and what people have said in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from benchmarks.metrics.base import Level
from benchmarks.metrics.registered_metrics import metric_named
from benchmarks.models import LOST, UNSCORED, Flag, Label, Outcome, Result, ReviewItem
from benchmarks.presentation.labels import LABEL_FLAG, OUTCOME, metric_title
from benchmarks.presentation.numbers import MISSING, n_of, number, score
from benchmarks.queries.preferences import candidates_of
from benchmarks.queries.reviews import AnswerLabels, Unlabeled, is_labeled_by_verdicts, labelable_metrics, levels_of
from frontend.steps import ReviewSteps
from frontend.texts import Excerpt, excerpt

FLAG_KEYS = {Flag.REFERENCE_DOUBTFUL: "d", Flag.TASK_UNCLEAR: "u", Flag.ANSWER_UNREADABLE: "x"}
HALF = 0.5
"""Labels below say wrong, those above say right."""
WITHOUT_VERDICT = {*LOST, *UNSCORED, Outcome.ANSWERED, Outcome.CANCELLED}
"""Outcomes that nobody can contradict."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A button of the form: ``key`` presses it."""

    key: str
    value: str
    title: str
    description: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class LabelForm:
    metric: str
    values: list[Choice]
    flags: list[Choice]
    reason: str
    exists: bool
    n_steps: int
    """0 for an answer without steps."""
    first_wrong_step: int | None


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One label in words."""

    author: str
    mine: bool
    metric: str
    value: str
    flags: str
    reason: str
    step: str
    at: datetime
    earlier: Sequence[LabelRow] = ()


def label_form(metric: str, result: Result, current: Label | None, n_steps: int = 0) -> LabelForm:
    """The form with the choices of the metric's scale; a stored value between them is a further choice. ``n_steps`` are
    those of an agent."""
    levels = list(levels_of(metric, result))
    stored, flagged = (current.value, current.flags) if current else (None, [])
    if stored is not None and stored not in [level.value for level in levels]:
        levels = sorted([*levels, Level(stored, score(stored))], key=lambda level: level.value)
    values = [
        Choice(str(key), f"{level.value!r}", level.title, level.description, level.value == stored)
        for key, level in enumerate(levels, 1)
    ]
    flags = [Choice(FLAG_KEYS[flag], flag.value, flag.label, "", flag.value in flagged) for flag in Flag]
    reason, step = (current.reason, current.first_wrong_step) if current else ("", None)
    return LabelForm(metric, values, flags, reason, current is not None, n_steps, step)


@dataclass(frozen=True, slots=True)
class ReviewPair:
    """Two answers to choose between, the first one at the left; ``names`` are empty in a blind review."""

    texts: tuple[Excerpt, Excerpt]
    names: tuple[str, str]
    steps: Sequence[ReviewSteps | None]


def review_pair(item: ReviewItem, steps: Sequence[ReviewSteps | None]) -> ReviewPair:
    """The pair of an item whose result is one of a preference run."""
    known, run = item.result.task.known_answer or {}, item.result.run
    names = {each["run"]: each["name"] for each in candidates_of(run)}
    shown = ("", "") if item.queue.blind else (names[known["first"]], names[known["second"]])
    return ReviewPair((excerpt(known["text"]), excerpt(known["other"])), shown, steps)


def label_row(
    label: Label, result: Result, author: str = "", mine: bool = False, earlier: Sequence[Label] = ()
) -> LabelRow:
    """``result`` is the one that is shown: the scale of its rubric names the value."""
    titles = {level.value: level.title for level in levels_of(label.metric, result)}
    return LabelRow(
        author,
        mine,
        metric_title(label.metric),
        MISSING if label.value is None else titles.get(label.value, score(label.value)),
        ", ".join(LABEL_FLAG.get(flag, flag) for flag in label.flags),
        label.reason,
        _step_words(label.first_wrong_step),
        label.created_at,
        [label_row(each, result) for each in earlier],
    )


def _step_words(position: int | None) -> str:
    if position is None:
        return ""
    return f"Step {number(position)} is the first wrong one" if position else "No step is wrong"


def n_against(outcome: str | None, values: Sequence[float]) -> int:
    """How many verdicts of people contradict the outcome."""
    if outcome in WITHOUT_VERDICT:
        return 0
    return sum(value < HALF if outcome == Outcome.CORRECT else value > HALF for value in values)


def contradiction(labels: AnswerLabels, result: Result) -> str:
    """Who contradicts the outcome: ``Correct by Exact match, wrong by 2 of 2 people``; empty if nobody does."""
    decides = labelable_metrics(result.run)[0]
    if not is_labeled_by_verdicts(decides):
        return ""
    own = [each.label.value for each in labels.shown if each.label.metric == decides]
    of_outcome = [value for value in own if value is not None]
    against = n_against(result.outcome, of_outcome)
    if not against:
        return ""
    metric = metric_named(decides)
    by = result.run.judge_model if metric and metric.judged else metric_title(decides)
    people = "person" if len(of_outcome) == 1 else "people"
    said = "wrong" if result.outcome == Outcome.CORRECT else "right"
    return f"{OUTCOME[result.outcome]} by {by}, {said} by {n_of(against, len(of_outcome))} {people}"


def shown_labels(labels: AnswerLabels, result: Result) -> list[LabelRow]:
    return [label_row(each.label, result, each.author, each.mine, each.earlier) for each in labels.shown]


def unlabeled_words(unlabeled: Unlabeled) -> str:
    """Why answers still lack labels: ``1 needs a second person, 2 claimed by others``."""
    second = f"{number(unlabeled.labeled)} {'needs' if unlabeled.labeled == 1 else 'need'} a second person"
    said = {
        second: unlabeled.labeled,
        f"{number(unlabeled.skipped)} skipped by you": unlabeled.skipped,
        f"{number(unlabeled.claimed)} claimed by others": unlabeled.claimed,
    }
    return ", ".join(words for words, n in said.items() if n)
