"""What is scored on generated canvases without reading them, by task class, tracking steps and number of shapes.

A set of few canvases says little of it, because in few questions some answer is frequent by chance. So
`guess_rates.json` has the rates of the generator, each from thousands of canvases that belong to no set::

    {"generator_version": ..., "seed": ..., "rates": {task class: {tracking steps: [[number of shapes, score of the
     best rule, score of the best that uses the examples of few-shot prompts, canvases asked about], ...]}}}

`python -m tasks_app.guess_rates` measures them again, which takes about a quarter of an hour.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tasks_app.canvas.generator import GENERATOR_VERSION, MAX_SHAPES
from tasks_app.loader import CanvasDocument, build_canvas
from tasks_app.shortcuts import EXAMPLES, Asked, probe, scoring
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS
from tasks_app.tasks.task import DEFAULT_TRACKING_STEPS

FILE = Path(__file__).with_suffix(".json")
CANVASES = 4_000
SEED = 2**40 + 1
"""Not a seed that somebody would choose for a set"""
STEPS = (1, 2, 3, 4, 5, 6, 8, 12)
"""Tracking steps of which `TRACKING` is measured; other classes, whose questions have none, with
`DEFAULT_TRACKING_STEPS` only"""
TRACKING = ("existence_tracking", "shuffle_tracking")
_ROW = re.compile(r"(?<=\[)[^\[\]{}]+(?=\])")


@dataclass(frozen=True, slots=True)
class Rate:
    """Mean scores of the best rules that do not read the canvas, over `n` canvases."""

    blind: float
    by_examples: float
    n: int

    def best(self, *, few_shot: bool) -> float:
        return max(self.blind, self.by_examples) if few_shot else self.blind


def rates_of(generator_version: str, task_class: str, tracking_steps: int) -> Mapping[int, Rate]:
    """The rates of a task class by number of shapes; empty if they were not measured."""
    measured = _measured()
    if generator_version != measured["generator_version"]:
        return {}
    steps = tracking_steps if task_class in TRACKING else DEFAULT_TRACKING_STEPS
    rows = measured["rates"].get(task_class, {}).get(str(steps), ())
    return {n_shapes: Rate(blind, by_examples, n) for n_shapes, blind, by_examples, n in rows}


@cache
def _measured() -> dict[str, Any]:
    measured: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return measured


def rate(name: str, n_shapes: int, documents: Sequence[CanvasDocument]) -> Rate | None:
    """The rate of a task class on these canvases; None if too few of them allow a question."""
    questions, score = asked(name, n_shapes, documents), scoring(REGISTERED_TASKS[name])
    blind, by_examples = probe(questions, score), probe(questions, score, EXAMPLES)
    if blind is None or by_examples is None:
        return None
    return Rate(round(blind.score, 4), round(by_examples.score, 4), len(questions))


def asked(name: str, n_shapes: int, documents: Sequence[CanvasDocument]) -> list[Asked]:
    """The questions of a class, each with the examples that a few-shot prompt shows."""
    found = []
    for number, document in enumerate(documents):
        questions = [(str(question), str(answer)) for question, answer in document.questions[name]]
        for question, answer in questions[:1]:
            text = document.descriptions.get(name, "")
            found.append(Asked(question, text, n_shapes, number, answer, tuple(questions[1:])))
    return found


def _measure(name: str, steps: int, canvases: int) -> Iterator[list[float]]:
    for n_shapes in range(1, MAX_SHAPES + 1):
        documents = [
            build_canvas(n_shapes, SEED, at, canvases, tracking_steps=steps, tasks={name: REGISTERED_TASKS[name]})
            for at in range(canvases)
        ]
        if (found := rate(name, n_shapes, documents)) is not None:
            yield [n_shapes, found.blind, found.by_examples, found.n]


def main() -> None:
    rates = {
        name: {
            str(steps): list(_measure(name, steps, CANVASES))
            for steps in (STEPS if name in TRACKING else (DEFAULT_TRACKING_STEPS,))
        }
        for name in REGISTERED_TASKS
    }
    content = json.dumps({"generator_version": GENERATOR_VERSION, "seed": SEED, "rates": rates}, indent=1)
    FILE.write_text(_ROW.sub(lambda row: " ".join(row.group().split()), content) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
