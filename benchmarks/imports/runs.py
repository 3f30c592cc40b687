"""A run of another tool in the common form: what was asked, what came back, how it was scored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from benchmarks.dataset_format.spec import TaskSpec
from benchmarks.metrics.base import Score, ScoreStatus
from benchmarks.providers.steps import Step

Unused = Counter[tuple[str, str]]
"""How often which path of which part of a file had a value that was not used."""


MAX_REPEATS = 2**15 - 1


class ImportProblem(Exception):
    """A file that cannot be imported. The message says where in it, what is wrong, and what is expected instead."""


TESTED = ""
"""Stands for the model under test among models."""


class Spent(NamedTuple):
    """Tokens, and the cost in dollars; unknown numbers are ``None``."""

    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedResult:
    """One task asked once. It has either an ``error`` and no scores, or an answer. Unknown numbers are ``None``."""

    task_id: str
    repeat: int = 0
    """Which of the task's repeats it is, from 1; 0 is the next one."""
    answer: str = ""
    answer_lost: bool = False
    """The model answered, but the tool did not keep what, so only the tool's scores can say anything about it."""
    reasoning: str = ""
    messages: Sequence[Mapping[str, object]] = ()
    tool_calls: Sequence[Mapping[str, object]] = ()
    retrieved: Sequence[str] | None = None
    """Passages that were looked up for the answer; ``None`` if the file does not say."""
    scores: Mapping[str, Score] = field(default_factory=dict)
    """By the name of the tool's scorer."""
    error: str | None = None
    cancelled: bool = False
    """Not sent, or not answered to the end, because the run ended before."""
    finish_reason: str = ""
    duration_ms: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    reasoning_tokens: int | None = None
    """Part of the tokens out."""
    cached_tokens: int | None = None
    """Part of the tokens in."""
    cost_usd: float | None = None
    judging: Mapping[str, Spent] = field(default_factory=dict)
    """What other models used to score the answer, by their names."""
    attempts: int = 1
    """How often the task was tried; tokens and cost are those of all attempts."""
    cached: bool = False
    finished_at: datetime | None = None
    notes: Sequence[str] = ()
    steps: Callable[[], Iterable[Step]] | None = None
    """Reads what an agent did, when the result is stored: there may be too many steps to hold. ``None`` if the file
    does not say."""


NOT_SAID = Score(ScoreStatus.METRIC_ERROR, reason="The tool gave no score.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRun:
    """One model on one set of tasks. A file may have several.

    As an importer makes it, scores have the names of the tool's scorers; once assembled, those of metrics here.
    """

    format: str = ""
    """The importer's name, once assembled."""
    part: str = ""
    """Distinguishes the runs of a file, and never changes."""
    model: str
    """Empty if the file does not name it."""
    variant: str = ""
    """The prompt's name, if the file asks the same tasks with several prompts."""
    name: str
    """Of the set of tasks."""
    tasks: Sequence[TaskSpec]
    results: Sequence[ImportedResult]
    metrics: Sequence[str] = ()
    """The scorers that come first, in this order; the others follow as the results have them. The first decides the
    outcome."""
    measurements: Collection[str] = ()
    """Scorers whose numbers are no scores. Those with a number below 0 or above 1 need not be named."""
    missing: Score = NOT_SAID
    """The score of an answer by a scorer that gave none. What a scorer did not say is an error of the scorer. It is not
    applicable only where the tool scores a task by metrics of its own choice, and did not choose this one."""
    reported: Mapping[str, float] = field(default_factory=dict)
    """Numbers of the whole run that no single results give, such as BLEU and the mean of a group of tasks."""
    evaluation: str = ""
    """The tool's id of the evaluation, or its time; empty if this format of its files has none."""
    parameters: Mapping[str, object] = field(default_factory=dict)
    tags: Sequence[str] = ()
    """Of the run."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """What else the file says about the run, for example, versions and the revision; empty if unknown."""
    shortfall: str = ""
    """Why the run is incomplete, in sentences; empty if it is complete."""
    besides: Mapping[str, Spent] = field(default_factory=dict)
    """Model → what it used in the run that no result has, such as in attempts that failed; ``TESTED`` is the model."""
    unused: Sequence[str] = ()
    """What of the file was not imported or not checked, in sentences…"""
    unread: Unused = field(default_factory=Counter)
    """…and counted, which becomes a sentence for all runs that are imported together. What is of the whole file stands
    at its first run."""
    started_at: datetime | None = None
    completed_at: datetime | None = None


def name_of(question: str) -> str:
    """What people call a task that only has a question: its beginning, in one line; empty without words."""
    return "".join(filter(str.isprintable, " ".join(question.split())))[:80].strip()
