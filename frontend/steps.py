"""Steps of an agent as lists show them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from benchmarks.models import StoredStep
from benchmarks.providers.steps import MODEL_CALL, SCORE
from benchmarks.queries.steps import StepFilters, Steps
from frontend.texts import Excerpt, excerpt

KIND_LABELS = {
    "message": "Message",
    "reasoning": "Reasoning",
    "tool_call": "Tool call",
    "model_call": "Model call",
    "state": "State",
    "score": "Score",
    "error": "Error",
}
OPENED = 100_000
"""Characters of a step that a reviewer opens."""
DEEPEST = 4
"""Levels of sub-agents that are indented."""


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step of a list. ``whole`` is the address of all its texts, empty if the row has them; ``opened`` are these."""

    step: StoredStep
    title: str
    kind: str
    indent: int
    returns: str
    whole: str = ""
    opened: Excerpt | None = None
    blind: bool = False

    @property
    def model(self) -> str:
        return self.step.name if self.step.kind == MODEL_CALL and not self.blind else ""


@dataclass(frozen=True, slots=True)
class ReviewSteps:
    """A page of an answer's steps as a reviewer may see them; ``following`` is where the next one begins. Where two
    answers are shown, ``side`` begins the names of its parameters and anchors."""

    side: str
    total: int
    first: int
    rows: list[StepRow]
    following: int | None


def step_rows(steps: Iterable[StoredStep], whole: Callable[[StoredStep], str]) -> list[StepRow]:
    return [_row(step, whole(step) if step.is_cut else "") for step in steps]


def review_steps(found: Steps, blind: bool, first: int, opened: int | None, side: str = "") -> ReviewSteps | None:
    """The page of steps that begins at ``first``, the step ``opened`` with all its texts; ``None`` without any step.

    Blind, nothing names the model: neither who did a step, nor its time and tokens, nor scores.
    """
    if not (total := found.counts().total):
        return None
    page = found.page(StepFilters(first=first))
    rows = [
        _row(
            step,
            f"?{side}from={first}&{side}step={step.position}#{side}step-{step.position}" if step.is_cut else "",
            _opened(found.step(step.position), blind) if step.position == opened else None,
            blind,
        )
        for step in page.rows
        if not (blind and step.kind == SCORE)
    ]
    return ReviewSteps(side, total, first, rows, page.following)


def _opened(step: StoredStep, blind: bool) -> Excerpt:
    said = step.whole
    if blind and step.kind == MODEL_CALL:
        said.pop("error", None)
    texts = (
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2) for value in said.values()
    )
    return excerpt("\n\n".join(texts), OPENED)


def _row(step: StoredStep, whole: str, opened: Excerpt | None = None, blind: bool = False) -> StepRow:
    named = {
        "tool_call": step.name,
        "score": step.name,
        "message": step.name.capitalize(),
        "state": step.name.capitalize(),
    }
    returns = "" if blind and step.kind == MODEL_CALL and step.failed else step.returns
    title = named.get(step.kind) or KIND_LABELS[step.kind]
    return StepRow(step, title, KIND_LABELS[step.kind], min(step.depth, DEEPEST), returns, whole, opened, blind)
