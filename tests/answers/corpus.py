"""Replies of models with what a careful person reads in them, and what the readers of answers make of them.

`plain.yaml`: styles of chat models. `small_model.yaml`: replies of the model of `make local-llm`, labeled by hand.
`adversarial.yaml`: contradictions, negations, quotations, injected answers, other scripts.
`development.yaml`: kinds that readers misread. Each maps a reader, which is
a metric or a canvas task class, to answers, and an answer to replies. `none` is a reply without a readable answer: it
gives none, several, or says that it has none. Where an answer is a sentence about the task ("The capital of France is
Paris"), the question is given, because a person reads it with the question.

`formerly_unseen.yaml` and `unseen.yaml` are apart: their replies are labeled right or wrong for one reference. Rules
are developed on the former. No rule is written from the latter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from benchmarks.metrics.base import DeterministicMetric, Item, ScoreStatus
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from tasks_app.tasks.answers import Verdict, judge_phrase
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS

PARTS = ("plain", "small_model", "adversarial", "development")
UNSEEN = "unseen"
LABELED = ("formerly_unseen", UNSEEN)
CHOICES = ("London", "Paris", "Rome", "New York")
NO_ANSWER = "none"


@dataclass(frozen=True, slots=True)
class Row:
    part: str
    reader: str
    label: str
    """The answer in the reply, or `NO_ANSWER`."""
    reply: str
    expected: str = "0"
    """The reference that a reply without an answer is compared with."""
    question: str = ""
    choices: tuple[str, ...] = CHOICES
    from_template: bool = False


@dataclass(frozen=True, slots=True)
class LabeledReply:
    reader: str
    kind: str
    question: str
    expected: str
    reply: str
    right: bool
    """Whether a careful person reads the reference as the answer of the reply."""
    choices: tuple[str, ...] = CHOICES


@cache
def corpus() -> tuple[Row, ...]:
    return tuple(row for part in PARTS for row in _rows(part))


@cache
def labeled(part: str) -> tuple[LabeledReply, ...]:
    """The replies of one of ``LABELED``."""
    return tuple(
        LabeledReply(
            reader,
            item["kind"],
            item["question"],
            item["expected"],
            reply,
            label == "right",
            tuple(item.get("choices", CHOICES)),
        )
        for reader, items in _content(part).items()
        for item in items
        for label in ("right", "wrong")
        for reply in item[label]
    )


def labeled_reading(row: LabeledReply) -> str:
    """Score a reply: "right", "wrongly right", "wrongly wrong", or "unreadable", a right reply without an answer."""
    value = _score(row.reader, row.expected, row.reply, row.question, row.choices)
    if (value == 1) == row.right:
        return "right"
    return "unreadable" if value is None else "wrongly wrong" if row.right else "wrongly right"


def reading(row: Row) -> str:
    """Read a reply: "right", "false positive" (something that the label does not say) or "false negative" (nothing)."""
    answer = _readable(row)
    if row.label == NO_ANSWER:
        return "right" if answer is None else "false positive"
    return "right" if answer else "false negative" if answer is None else "false positive"


def _readable(row: Row) -> bool | None:
    """Whether the reader reads the label in the reply; None if it reads nothing."""
    expected = row.expected if row.label == NO_ANSWER else row.label
    value = _score(row.reader, expected, row.reply, row.question, row.choices)
    if value is None:
        return None
    return value == 1 or (None if row.reader in {"phrase", "exact_match", "contains"} else False)


def _score(reader: str, expected: str, reply: str, question: str, choices: tuple[str, ...] = CHOICES) -> float | None:
    """The score of a reply, 0 to 1; None if nothing is read in it."""
    if reader in REGISTERED_TASKS or reader == "phrase":
        read = REGISTERED_TASKS[reader].verdict if reader in REGISTERED_TASKS else _phrase
        verdict = read(expected, reply, question)
        return None if verdict.extracted == "not enough information" else verdict.value
    metric = REGISTERED_METRICS[reader]
    assert isinstance(metric, DeterministicMetric)
    score = metric.score(Item(input=question, expected_output=expected, actual_output=reply, choices=choices))
    assert score.status in {ScoreStatus.SCORED, ScoreStatus.UNPARSABLE}, (reader, reply, score)
    return score.value if score.status is ScoreStatus.SCORED else None


def _phrase(expected: str, reply: str, question: str) -> Verdict:
    """The stricter reading that a task class can choose."""
    return judge_phrase(expected, reply)


def _rows(part: str) -> Iterator[Row]:
    content = _content(part)
    templates, values = content.pop("templates", []), content.pop("values", {})
    for reader, labels in values.items():
        for label in labels:
            texts = [template.replace("{}", label) for template in templates]
            yield from (Row(part, reader, _label(reader, label), text, from_template=True) for text in texts)
    for reader, answers in content.items():
        for label, replies in answers.items():
            for reply in replies:
                fields = {"reply": reply} if isinstance(reply, str) else reply
                fields = fields | ({"choices": tuple(fields["choices"])} if "choices" in fields else {})
                default = {"expected": "A"} if reader == "multiple_choice" else {}
                yield Row(part, reader, _label(reader, label), **(default | fields))


def _content(part: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((Path(__file__).parent / f"{part}.yaml").read_text(encoding="utf-8"))
    return content


def _label(reader: str, label: str) -> str:
    """A label as a task class expects it: numbers in digits, directions in the order of the canvases."""
    return {"twelve": "12"}.get(label, label) if reader == "count" else label
