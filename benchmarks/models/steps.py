"""What an agent did for a result: one narrow row a step, and its texts compressed, which are read when it is opened."""

from __future__ import annotations

import json
import zlib
from typing import Any

from django.db import models
from django.db.models import Q

from benchmarks.models.results import Result
from benchmarks.providers.steps import KINDS, TOOL_CALL, Step, of_messages

SHOWN = 400
"""Characters of ``begins`` and ``returns``."""
_COLUMNS = ("kind", "name", "agent", "depth", "at", "duration_ms", "tokens_in", "tokens_out")
"""Of a step, as they are."""
_IN_BODY = ("text", "arguments", "result", "error")


class StoredStep(models.Model):
    """A step in the order in which it happened, from 1. Lists read all but ``body``."""

    # Without an index of its own: those below start with the result.
    result = models.ForeignKey(Result, on_delete=models.CASCADE, related_name="trajectory", db_index=False)
    position = models.PositiveIntegerField()
    kind = models.CharField(max_length=10, choices=[(kind, kind) for kind in KINDS])
    name = models.CharField(max_length=200, blank=True)
    agent = models.CharField(max_length=200, blank=True)
    depth = models.PositiveSmallIntegerField(default=0)
    failed = models.BooleanField(default=False)
    begins = models.TextField(blank=True, help_text="How the text or the arguments begin")
    returns = models.TextField(blank=True, help_text="How the result or the error begins")
    is_cut = models.BooleanField(default=False, help_text="Whether the texts are longer than what is shown of them")
    at = models.DateTimeField(null=True, blank=True)
    duration_ms = models.FloatField(null=True, blank=True)
    tokens_in = models.PositiveIntegerField(null=True, blank=True)
    tokens_out = models.PositiveIntegerField(null=True, blank=True)
    body = models.BinaryField(help_text="JSON with text, arguments, result and error, compressed by zlib")

    class Meta:
        db_table = "benchmarks_step"
        ordering = ("result", "position")
        constraints = (models.UniqueConstraint(fields=("result", "position"), name="one_step_per_position"),)
        indexes = (
            models.Index(fields=("result", "position"), name="failed_steps", condition=Q(failed=True)),
            models.Index(fields=("result", "position"), name="steps_calls", condition=Q(kind=TOOL_CALL)),
        )

    def __str__(self) -> str:
        return f"step {self.position} of result {self.result_id}"

    @classmethod
    def of(cls, result_id: int, position: int, step: Step) -> StoredStep:
        """A row, not saved."""
        begins = step.text if step.arguments is None else in_words(step.arguments)
        returns = step.error or ("" if step.result is None else in_words(step.result))
        body = {name: value for name in _IN_BODY if (value := getattr(step, name)) not in (None, "")}
        return cls(
            result_id=result_id,
            position=position,
            begins=begins[:SHOWN],
            returns=returns[:SHOWN],
            is_cut=len(begins) > SHOWN or len(returns) > SHOWN or bool(step.text and step.arguments is not None),
            body=zlib.compress(json.dumps(body, ensure_ascii=False).encode()),
            failed=step.failed,
            **{name: getattr(step, name) for name in _COLUMNS},
        )

    @property
    def whole(self) -> dict[str, Any]:
        """Text, arguments, result and error, those that it has."""
        stored: dict[str, Any] = json.loads(zlib.decompress(self.body))
        return stored

    @property
    def step(self) -> Step:
        return Step(**{name: getattr(self, name) for name in _COLUMNS}, **self.whole)


def steps_of_messages(result: Result) -> list[StoredStep]:
    """What the messages of a result tell, as rows that are not stored."""
    transcript = getattr(result, "transcript", None)
    messages = transcript.messages if transcript and not result.run.texts_pruned else []
    return [StoredStep.of(result.pk, number, step) for number, step in enumerate(of_messages(messages), 1)]


def in_words(value: Any) -> str:
    """A JSON value in a line: ``order_id: 1042, to: card``."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_inner(each)}" for name, each in value.items())
    return _inner(value)


def _inner(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
