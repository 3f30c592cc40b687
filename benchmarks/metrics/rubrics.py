"""Rubrics: criteria as data, of a dataset, of one task or of the configuration, by which a judge scores answers.

``rubric:NAME`` scores every task by one rubric, which the run stores as it was used. ``rubric`` scores each task by the
rubric of the task itself. The judge gets one prompt of our own, because a rubric has its own scale.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, cast, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, WithJsonSchema

from benchmarks.metrics.base import (
    FIRST_WRONG_STEP,
    Item,
    Judge,
    JudgedMetric,
    Level,
    Score,
    not_applicable,
    scored,
    with_passages,
)
from benchmarks.metrics.judge_responses import JudgeResponseError
from benchmarks.metrics.judges import JUDGING_TIMEOUT_S, JudgeSession, as_data, judge_failure, shown_answer
from benchmarks.metrics.task_parts import RubricValues
from benchmarks.providers.base import ProviderError
from benchmarks.providers.steps import MAX_TOLD, MOST_IMPORTED

PREFIX = "rubric:"
Scale = Literal["0 to 1", "1 to 5", "pass or fail"]
Sight = Literal["input", "context", "expected", "tools", "steps", "picture"]
SCALES: tuple[str, ...] = get_args(Scale)
SIGHTS: tuple[str, ...] = get_args(Sight)
ENDS = {"0 to 1": (0.0, 1.0), "1 to 5": (1.0, 5.0)}
"""Scale → its lowest and its highest score; ``pass or fail`` has none."""
DEFAULT_SCALE = "0 to 1"
DEFAULT_SIGHT = ("input",)
DEFAULT_THRESHOLDS = {"0 to 1": 0.7, "1 to 5": 4.0}
_NONE, _ALL = "Meets none of the criteria", "Meets all of them fully"
LEVELS = {
    "0 to 1": (
        Level(0.0, "0", _NONE),
        *(Level(value, f"{value:g}") for value in (0.25, 0.5, 0.75)),
        Level(1.0, "1", _ALL),
    ),
    "1 to 5": (Level(0.0, "1", _NONE), *(Level((n - 1) / 4, str(n)) for n in (2, 3, 4)), Level(1.0, "5", _ALL)),
    "pass or fail": (Level(0.0, "Fail"), Level(1.0, "Pass", "Meets all criteria")),
}
"""Scale → what people choose from, with the stored values; those from 0 to 1 are not the only ones."""
_NEEDED = {"context": "passages", "expected": "expected_output"}
"""What a rubric shows the judge → the field of the task without which it does not apply."""
_ASKED = {
    "0 to 1": '"score" (a number from 0, meets none of the criteria, to 1, meets all of them fully)',
    "1 to 5": '"score" (a whole number from 1, meets none of the criteria, to 5, meets all of them fully)',
    "pass or fail": '"verdict" ("pass" if the answer meets all criteria, otherwise "fail")',
}


def _whole_score(value: float) -> float:
    if value not in (1, 2, 3, 4, 5):
        raise ValueError("the score must be a whole number from 1 to 5")
    return value


def _share(value: float) -> float:
    if not 0 <= value <= 1:
        raise ValueError("the score must be a number from 0 to 1")
    return value


class _Share(BaseModel):
    reason: str
    score: Annotated[float, AfterValidator(_share)]


class _Points(BaseModel):
    reason: str
    score: Annotated[float, AfterValidator(_whole_score), WithJsonSchema({"type": "integer", "enum": [1, 2, 3, 4, 5]})]


def _lower(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


class _Verdict(BaseModel):
    reason: str
    verdict: Annotated[Literal["pass", "fail"], BeforeValidator(_lower)]


class _OfSteps(BaseModel):
    first_wrong_step: Annotated[int | None, Field(ge=1, le=MOST_IMPORTED)] = None


class _ShareOfSteps(_Share, _OfSteps):
    pass


class _PointsOfSteps(_Points, _OfSteps):
    pass


class _VerdictOfSteps(_Verdict, _OfSteps):
    pass


_RESPONSES: dict[tuple[str, bool], type[BaseModel]] = {
    ("0 to 1", False): _Share,
    ("0 to 1", True): _ShareOfSteps,
    ("1 to 5", False): _Points,
    ("1 to 5", True): _PointsOfSteps,
    ("pass or fail", False): _Verdict,
    ("pass or fail", True): _VerdictOfSteps,
}
"""Scale, and whether the judge sees the steps → what it returns."""
_WHICH_STEP = '"first_wrong_step" (the number of the first of the STEPS that is wrong by these criteria, or null)'


@dataclass(frozen=True, slots=True)
class Rubric:
    """What a valid ``rubrics`` entry says, with its defaults filled in."""

    name: str
    criteria: tuple[str, ...]
    steps: tuple[str, ...] = ()
    scale: str = DEFAULT_SCALE
    sees: tuple[str, ...] = DEFAULT_SIGHT
    threshold: float | None = None
    """In units of the scale; ``None`` is its default."""

    @staticmethod
    def of(values: RubricValues) -> Rubric:
        """The rubric of a validated mapping, as files and the database hold it."""
        criteria = values["criteria"]
        return Rubric(
            values.get("name") or "",
            (criteria,) if isinstance(criteria, str) else tuple(criteria),
            tuple(values.get("steps", ())),
            values.get("scale", DEFAULT_SCALE),
            tuple(values.get("sees", DEFAULT_SIGHT)),
            values.get("threshold"),
        )

    @property
    def passes_at(self) -> float:
        """The threshold from 0 to 1."""
        if self.scale not in ENDS:
            return 1.0
        low, high = ENDS[self.scale]
        threshold = DEFAULT_THRESHOLDS[self.scale] if self.threshold is None else self.threshold
        return (threshold - low) / (high - low)

    @property
    def hash(self) -> str:
        """SHA-256 (hex) of everything that the judge reads, and of the threshold: another text is another version."""
        content = [self.criteria, self.steps, self.scale, sorted(self.sees), self.passes_at]
        return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()

    @property
    def size(self) -> int:
        """Bytes of its texts, an upper bound on their tokens."""
        return sum(len(text.encode()) for text in (self.name, *self.criteria, *self.steps))

    def applies_to(self, item: Item) -> bool:
        return all(item.has(_NEEDED[sight]) for sight in self.sees if sight in _NEEDED)

    def prompt(self, item: Item) -> str:
        """What the judge reads. The rubric comes first, so that vendors can cache it."""
        parts = [
            "Score the ANSWER by this rubric, and by nothing else. Give credit only for what the ANSWER itself shows.",
            "Criteria:\n" + _numbered(self.criteria[::-1] if item.reverse_criteria else self.criteria),
        ]
        if self.steps:
            parts.append("Steps:\n" + _numbered(self.steps))
        shown = {
            "input": lambda: [as_data("TASK", item.input)],
            "context": lambda: [as_data("PASSAGE", passage) for passage in item.passages],
            "expected": lambda: [as_data("REFERENCE", item.reference)],
            "tools": lambda: [as_data("TOOL CALLS", _calls(item))],
            "steps": lambda: [as_data("STEPS", item.steps or "(none)")],
            "picture": lambda: ["The attached images belong to the task."] if item.pictures else [],
        }
        for sight in SIGHTS:
            parts += shown[sight]() if sight in self.sees else []
        parts.append(shown_answer(item))
        asked = f"{_WHICH_STEP} and {_ASKED[self.scale]}" if "steps" in self.sees else f"and {_ASKED[self.scale]}"
        comma = "," if "steps" in self.sees else ""
        keys = f'Return only JSON with the keys "reason" (one or two sentences){comma} {asked}.'
        return "\n\n".join([*parts, keys, "JSON:"])

    async def scored_by(self, session: JudgeSession, item: Item) -> Score:
        """The judge's score from 0 to 1. Raises ``JudgeResponseError`` and whatever the judge raises."""
        session.pictures = tuple(item.pictures) if "picture" in self.sees else ()
        response = await session.ask(self.prompt(item), _RESPONSES[self.scale, "steps" in self.sees])
        detail: dict[str, Any] = {"passes_at": self.passes_at, "rubric": self.hash[:12]}
        if isinstance(response, _OfSteps):
            detail[FIRST_WRONG_STEP] = response.first_wrong_step or 0
        if isinstance(response, _Verdict):
            return scored(response.verdict == "pass", response.reason, **detail)
        given = cast("_Share | _Points", response)
        low, high = ENDS[self.scale]
        if high > 1:
            detail["points"] = f"{given.score:g} of {high:g}"
        return scored((given.score - low) / (high - low), given.reason, **detail)


class _JudgedByRubric(JudgedMetric):
    timeout_s = JUDGING_TIMEOUT_S

    def rubric_of(self, item: Item) -> Rubric | None:
        """The rubric by which the item is scored; ``None`` without one."""
        raise NotImplementedError

    def applies_to(self, item: Item) -> bool:
        rubric = self.rubric_of(item)
        return rubric is not None and rubric.applies_to(item)

    def reordered(self, item: Item) -> Item:
        rubric = self.rubric_of(item)
        shows_context = rubric is not None and "context" in rubric.sees
        reordered = with_passages(item, item.passages[::-1]) if shows_context else item
        return replace(reordered, reverse_criteria=rubric is not None and len(rubric.criteria) > 1)

    def extra_tokens(self, item: Item) -> int:
        rubric = self.rubric_of(item)
        if rubric is None:
            return 0
        calls = len(_calls(item).encode()) if "tools" in rubric.sees else 0
        # Before the answer, it is not known what the steps will be.
        steps = len(item.steps.encode()) if item.steps else MAX_TOLD
        return rubric.size + calls + (steps if "steps" in rubric.sees else 0)

    def pictures_shown(self, item: Item) -> int:
        rubric = self.rubric_of(item)
        return len(item.pictures) if rubric is not None and "picture" in rubric.sees else 0

    async def judge(self, item: Item, judge: Judge) -> Score:
        rubric = self.rubric_of(item)
        if rubric is None:
            return not_applicable("The task has no rubric.")
        session = JudgeSession(judge)
        try:
            async with asyncio.timeout(self.timeout_s):
                score = await rubric.scored_by(session, item)
        except (ProviderError, JudgeResponseError, TimeoutError) as error:
            score = judge_failure(session, error, self.timeout_s)
        return replace(score, usage=session.usage)


class TaskRubric(_JudgedByRubric):
    """Each task by its own rubric."""

    name = "rubric"
    title = "Rubric of the task"
    description = "A judge scores the answer by the rubric of the task"
    needs = frozenset({"rubric"})

    def rubric_of(self, item: Item) -> Rubric | None:
        return Rubric.of(item.rubric) if item.rubric else None


class RubricMetric(_JudgedByRubric):
    """Every task by one rubric. Known by its name alone, it has no rubric, and can be shown but not computed."""

    description: ClassVar[str] = "A judge scores the answer by a rubric"

    def __init__(self, name: str, rubric: Rubric | None = None) -> None:
        self.name = name  # type: ignore[misc]  # a class variable of the registered metrics
        self.title = f"{name.removeprefix(PREFIX)} (rubric)"  # type: ignore[misc]  # as above
        self.rubric = rubric
        if rubric is not None:
            self.needs = frozenset(_NEEDED[sight] for sight in rubric.sees if sight in _NEEDED)  # type: ignore[misc]
            self.passes_at = rubric.passes_at  # type: ignore[misc]  # as above
            self.fails_at = fails_at(rubric.passes_at)  # type: ignore[misc]  # as above

    def rubric_of(self, item: Item) -> Rubric | None:
        return self.rubric


def stored_rubric(values: RubricValues) -> RubricValues:
    """A validated rubric as a run stores it: with the hash of what the judge reads."""
    return {**values, "hash": Rubric.of(values).hash}


def fails_at(passes_at: float) -> float:
    """Up to this score an answer is wrong: 0.3, or less below a low threshold."""
    return min(JudgedMetric.fails_at, passes_at / 2)


def rubric_metric(name: str, rubrics: Mapping[str, RubricValues] | None = None) -> RubricMetric | None:
    """The metric ``rubric:NAME``, with its rubric if it is among ``rubrics``; ``None`` for other names."""
    if not name.startswith(PREFIX):
        return None
    values = (rubrics or {}).get(name.removeprefix(PREFIX))
    return RubricMetric(name, Rubric.of(values) if values else None)


def _numbered(texts: Sequence[str]) -> str:
    return "\n".join(f"{number}. {text.strip()}" for number, text in enumerate(texts, 1))


def _calls(item: Item) -> str:
    return "\n".join(f"{call.name}({call.raw_arguments})" for call in item.tool_calls) or "(none)"
