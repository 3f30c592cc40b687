"""What a metric is: a named way to give one answer a score, or a reason why it has none.

A metric declares what it needs, whether it calls a judge, its range and its direction. The API, the form, the admin and
the documents read that declaration. Nothing here knows the database, the settings or Django.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, ClassVar, Protocol

from benchmarks.metrics.extraction import Extraction
from benchmarks.metrics.task_parts import Arguments, ExpectedCall, FinalState, Row, RubricValues, Rule
from benchmarks.providers.base import ToolCall
from benchmarks.providers.steps import Failures

FIRST_WRONG_STEP = "first_wrong_step"
"""In the detail of a judged score: the position of the step at which the judge says that it went wrong, 0 for none."""
MAX_RECORDED = 2_000
"""Characters of an extraction that are stored with a score; the whole answer is stored with the result."""


class ScoreStatus(StrEnum):
    """How a metric ended: with a value, with a fault of the answer, which counts as the lowest value, or with none."""

    SCORED = "scored"
    UNPARSABLE = "unparsable"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    NOT_APPLICABLE = "not_applicable"
    JUDGE_ERROR = "judge_error"
    METRIC_ERROR = "metric_error"
    """The metric itself failed, for example, because of its sandbox or an unusable pattern in the dataset."""
    DOUBTFUL = "doubtful"
    """Set aside, because the audit of the canvas set finds the reference wrong or undetermined."""


FAULTS = frozenset({ScoreStatus.UNPARSABLE, ScoreStatus.TRUNCATED, ScoreStatus.REFUSED})
"""Faults of the answer: the model is to blame, so the score is the lowest one. No other status without a verdict has a
value: what the endpoint, the judge or this software broke never counts as a zero."""
WITH_VALUE = FAULTS | {ScoreStatus.SCORED}
_FINISH_FAULTS = {
    "refusal": ScoreStatus.REFUSED,
    "content_filter": ScoreStatus.REFUSED,
    "length": ScoreStatus.TRUNCATED,
}
_FAULT_REASONS = {
    ScoreStatus.REFUSED: "The model or a content filter declined to answer.",
    ScoreStatus.TRUNCATED: "The answer is cut off, because it reached the limit of output tokens.",
    ScoreStatus.UNPARSABLE: "The answer is empty.",
}
_FAULT_KINDS = {
    "refusal": "The model declined to answer",
    "content_filter": "Stopped by a content filter",
    "length": "Cut off at the limit of output tokens",
}
_NO_ANSWER_BEGUN = (
    "The output reached the token limit before an answer began, for example, while the model was thinking."
)


def finish_fault(finish_reason: str) -> ScoreStatus | None:
    """The fault of an answer that its finish reason alone shows: refused or cut off."""
    return _FINISH_FAULTS.get(finish_reason)


ALWAYS_THERE = frozenset({"input", "actual_output", "duration_ms", "tokens_out", "tool_calls"})
"""Fields of ``Item`` that every answered task has. Whatever else a metric needs, a dataset may lack."""
FROM_SYSTEMS = {"passages": "context", "retrieved": ""}
"""Fields of ``Item`` that a system under test reports, and the task's field that stands in for them."""


@dataclass(frozen=True, slots=True)
class WorldSpec:
    """The tables at the start, the rules of tools, and the JSON Schema of each tool's arguments."""

    tables: Mapping[str, Sequence[Row]]
    rules: Sequence[Rule]
    parameters: Mapping[str, Arguments]


@dataclass(frozen=True, slots=True)
class Item:
    """One answered task as a metric sees it. Optional fields come from the dataset's task."""

    input: str
    expected_output: str
    actual_output: str
    other_answers: Sequence[str] = ()
    """Texts that are accepted besides ``expected_output``."""
    expected_tools: Sequence[ExpectedCall] = ()
    tools_offered: bool = False
    """Whether the model could call tools, even if the task expects no call."""
    tool_calls: Sequence[ToolCall] = ()
    context: Sequence[str] = ()
    expected_context: Sequence[str] = ()
    retrieved: Sequence[str] | None = None
    """Passages that a system looked up for its answer; ``None`` if it does not say."""
    tests: str | None = None
    schema: Mapping[str, Any] | None = None
    choices: Sequence[str] = ()
    pattern: str | None = None
    constraints: Mapping[str, Any] = field(default_factory=dict)
    must_refuse: bool | None = None
    """Whether the task must be refused, or must not; ``None`` if it does not say…"""
    declined: bool = False
    """…and whether the endpoint reports that the model or a filter declined."""
    turns: Sequence[Item] = ()
    """What each turn of a scripted conversation expects, with what the user says as its input…"""
    turn_answers: Sequence[str] = ()
    """…and the answers, in order; fewer if the conversation ended early."""
    simulated_turns: int = 0
    """The most messages of a simulated user; 0 without one. Then ``input`` is the conversation up to the answer."""
    opening_users: int = 0
    """Messages of the user before the first turn."""
    world: WorldSpec | None = None
    """What the tool calls read and changed…"""
    final_state: FinalState = field(default_factory=FinalState)
    """…and what must hold in it at the end."""
    tolerance: float | None = None
    rubric: RubricValues = field(default_factory=RubricValues)
    """The task's own rubric, with the dataset's in place of a name."""
    pictures: Sequence[str] = ()
    """URLs of the images that the model was shown, mostly ``data:``; only if a rubric shows them to the judge."""
    steps: str | None = None
    """What the agent did, as text; only if a rubric shows it to the judge."""
    failures: Failures | None = None
    """How many of its steps failed; only if a metric of the run counts them."""
    other_output: str = ""
    """The second of two answers between which a judge chooses; the first is ``actual_output``."""
    reverse_criteria: bool = False
    """Whether a rubric lists its criteria in reverse."""
    group: str = ""
    """The canvas task class that made the question; empty for YAML tasks."""
    duration_ms: float | None = None
    tokens_out: int | None = None

    def has(self, field: str) -> bool:
        """Whether a metric that needs the field can use the item. That a system retrieved nothing counts as well."""
        if field in FROM_SYSTEMS and self.retrieved is not None:
            return True
        return bool(getattr(self, field))

    @property
    def passages(self) -> Sequence[str]:
        """What the answer can be held against: the passages that the system looked up, else those of the task."""
        return self.context if self.retrieved is None else self.retrieved

    @property
    def reference(self) -> str:
        """The accepted answers as one text, for a judge."""
        if not self.other_answers:
            return self.expected_output
        listed = (f"{number}. {text}" for number, text in enumerate((self.expected_output, *self.other_answers), 1))
        return "Any one of these is right:\n" + "\n".join(listed)

    def by_answer(self) -> list[Item]:
        """The item once for each accepted answer."""
        if not self.other_answers:
            return [self]
        answers = (self.expected_output, *self.other_answers)
        return [replace(self, expected_output=text, other_answers=()) for text in answers]


def with_passages(item: Item, passages: Sequence[str]) -> Item:
    """The item with other passages, where it has them: what was looked up, else the task's context."""
    return replace(item, context=passages) if item.retrieved is None else replace(item, retrieved=passages)


@dataclass(frozen=True, slots=True)
class JudgeUsage:
    """What the judge was sent for one score, and the usage over all of its calls.

    Token counts are ``None`` if the endpoint did not report them for every response. A call without a response counts
    as a call and uses no tokens.
    """

    calls: int = 0
    tokens_in: int | None = 0
    tokens_out: int | None = 0
    raw_reply: str = ""
    prompt: str = ""
    cached_tokens: int = 0
    """Part of ``tokens_in`` that the vendor's cache held, as far as it was reported."""
    notes: tuple[str, ...] = ()
    """What a reader of the verdict must know, such as parameters that were not sent; each sentence once."""
    by_model: Sequence[Sequence[Any]] = ()
    """Of several verdicts: model, tokens in, tokens out and cached tokens of each."""


@dataclass(frozen=True, slots=True)
class Score:
    """One metric's verdict: a ``value`` exactly when ``status`` is in ``WITH_VALUE``, otherwise a ``reason`` for its
    absence.

    Raises ``ValueError`` if value and status do not agree.
    """

    status: ScoreStatus
    value: float | None = None
    reason: str = ""
    extracted: str | None = None
    """The part of the answer that was compared, if the metric extracts one; a wrong extraction is thus visible."""
    usage: JudgeUsage | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def failure(self) -> str:
        """Why the answer is not right, in a few words by which results are grouped; empty if the metric cannot tell."""
        return str(self.detail.get("failure", ""))

    def __post_init__(self) -> None:
        if (self.value is not None) != (self.status in WITH_VALUE):
            raise ValueError(f"the status {self.status} does not agree with the value {self.value}")


def scored(
    value: float, reason: str = "", extraction: Extraction | None = None, failure: str = "", **detail: Any
) -> Score:
    """A score with a value; ``True`` and ``False`` mean 1 and 0. ``failure`` says what a value below 1 means."""
    if failure and value < 1:
        detail["failure"] = failure
    return _score(ScoreStatus.SCORED, float(value), reason, extraction, detail)


def unparsable(reason: str, extraction: Extraction | None = None, **detail: Any) -> Score:
    """The answer holds nothing of the kind that the metric compares, which scores 0."""
    return _score(ScoreStatus.UNPARSABLE, 0.0, reason, extraction, detail)


def not_applicable(reason: str) -> Score:
    return Score(ScoreStatus.NOT_APPLICABLE, None, reason)


def metric_error(reason: str, extraction: Extraction | None = None) -> Score:
    """The metric failed through no fault of the answer: a sandbox that broke, a pattern that cannot be used."""
    return _score(ScoreStatus.METRIC_ERROR, None, reason, extraction, {})


def judge_error(reason: str, **detail: Any) -> Score:
    return Score(ScoreStatus.JUDGE_ERROR, None, reason, detail=detail)


def _score(
    status: ScoreStatus, value: float | None, reason: str, extraction: Extraction | None, detail: dict[str, Any]
) -> Score:
    if extraction is None:
        return Score(status, value, reason, detail=detail)
    extracted = shortened(extraction.text, MAX_RECORDED)
    return Score(status, value, reason, extracted, detail={"extraction": extraction.how, **detail})


def shortened(text: str, limit: int = 80) -> str:
    """``text`` cut to ``limit`` characters, with an ellipsis if something was left out."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def from_difference(first: str, second: str, limit: int = 80) -> tuple[str, str]:
    """Two texts cut to ``limit`` characters from a little before their first difference on."""
    places = (place for place, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
    common = next(places, min(len(first), len(second)))
    start = max(0, common - limit // 4) if max(len(first), len(second)) > limit else 0
    before = "…" if start else ""
    return before + shortened(first[start:], limit), before + shortened(second[start:], limit)


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
    """A judge's response. Token counts are ``None`` if the endpoint reports none, and 0 for a cached response."""

    text: str
    tokens_in: int | None
    tokens_out: int | None
    cached_tokens: int = 0
    finish_reason: str = "stop"
    notes: tuple[str, ...] = ()
    """What a reader of the verdict must know, such as parameters that were not sent."""
    is_last: bool = False
    """Whether the judge cannot be asked again."""


class Judge(Protocol):
    """The model behind judged metrics, called through the engine: its limits, retries, cache and cost apply."""

    model: str

    async def ask(
        self, prompt: str, schema: Mapping[str, Any] | None = None, pictures: Sequence[str] = ()
    ) -> JudgeAnswer:
        """Send one prompt; ``schema`` requests JSON of that form, ``pictures`` are URLs of images before the prompt.

        Raises ``ProviderError`` after the last retry.
        """


@dataclass(frozen=True, slots=True)
class Level:
    """One step of a scale: a value, its name, and what an answer of this value is like."""

    value: float
    title: str
    description: str = ""


VERDICTS = (Level(0.0, "Wrong"), Level(0.5, "Partly right"), Level(1.0, "Right"))
"""What people choose from where a rubric gives no scale."""


class Metric(ABC):
    """Base of all metrics. ``name`` is the registry key, ``needs`` names the ``Item`` fields that must be present."""

    name: ClassVar[str]
    title: ClassVar[str]
    description: ClassVar[str]
    needs: ClassVar[frozenset[str]] = frozenset()
    judged: ClassVar[bool] = False
    range: ClassVar[tuple[float, float | None]] = (0.0, 1.0)
    """Lowest and highest value; ``None`` is unbounded (latency, length)."""
    unit: ClassVar[str] = ""
    higher_is_better: ClassVar[bool] = True
    passes_at: ClassVar[float] = 1.0
    """An answer is correct at this value or more, wrong at ``fails_at`` or less, and partial between them."""
    fails_at: ClassVar[float] = 0.0
    judges_refusals: ClassVar[bool] = False
    """True if a refusal may be the right answer."""
    decides_outcome: ClassVar[bool] = True
    """False for measurements such as latency, which do not say whether an answer is correct."""
    blocking: ClassVar[bool] = False
    """True if ``score`` waits for a process: call it in a thread, not on the event loop."""

    def applies_to(self, item: Item) -> bool:
        """Whether the item has everything this metric needs."""
        return all(item.has(name) for name in self.needs)

    def applies_to_any(self, item: Item) -> bool:
        """Whether it applies with any of the accepted answers."""
        return any(map(self.applies_to, item.by_answer()))

    def applies_to_turn(self, turn: Item) -> bool:
        """Whether it judges a turn of a scripted conversation."""
        return self.applies_to_any(turn)

    def has_answer(self, item: Item) -> bool:
        """Whether the model returned anything that this metric can score."""
        return bool(item.actual_output.strip())

    def fault(self, item: Item, finish_reason: str) -> Score | None:
        """The score of an answer that is refused, cut off or empty; ``None`` if the metric has to score the answer.

        Decided before anything is computed, so that no judge is paid for it. Measurements are not affected.
        """
        if not self.decides_outcome:
            return None
        fault = finish_fault(finish_reason) or (None if self.has_answer(item) else ScoreStatus.UNPARSABLE)
        if fault is None:
            return None
        reason, failure = _FAULT_REASONS[fault], _FAULT_KINDS.get(finish_reason, "Empty answer")
        if fault is ScoreStatus.TRUNCATED and not self.has_answer(item):
            reason, failure = _NO_ANSWER_BEGUN, "Cut off before an answer began"
        return Score(fault, self.range[0], reason, detail={"failure": failure})

    def unavailable(self) -> str | None:
        """Why this metric cannot run on this machine as configured, or ``None``. Checked when a run is created."""
        return None


class DeterministicMetric(Metric):
    @abstractmethod
    def score(self, item: Item) -> Score:
        """Score without any model. Raises nothing, whatever the text."""

    def best_score(self, item: Item) -> Score:
        """The score by the accepted answer that the answer matches best.

        If one of them could not be compared, that is the score, unless another makes the answer correct. Of equal
        scores, one that leaves open what the answer is comes first.
        """
        if "expected_output" not in self.needs or not item.other_answers:
            return self.score(item)

        def preference(score: Score) -> tuple[bool, bool, float, bool]:
            value = -1.0 if score.value is None else score.value
            return value >= self.passes_at, score.status is ScoreStatus.METRIC_ERROR, value, score.status in FAULTS

        best = max(map(self.score, item.by_answer()), key=preference)
        return replace(best, reason=f"{best.reason} Best of {1 + len(item.other_answers)} accepted answers.")


class JudgedMetric(Metric):
    judged = True
    passes_at = 0.7
    fails_at = 0.3

    def decided_without_judge(self, item: Item) -> Score | None:
        """The score if the item alone settles it (identical text), otherwise ``None``. Only runs that skip the judge
        on identical answers call this."""
        return None

    def reordered(self, item: Item) -> Item:
        """The item with what the judge reads in no order of its own in reverse; the same if there is nothing such."""
        return item

    def extra_tokens(self, item: Item) -> int:
        """An upper bound on what the prompt has besides fixed instructions and the item's texts."""
        return 0

    def pictures_shown(self, item: Item) -> int:
        return 0

    @abstractmethod
    async def judge(self, item: Item, judge: Judge) -> Score:
        """Score by calling the judge. A judge that fails or returns nonsense gives ``JUDGE_ERROR``, never a zero."""
