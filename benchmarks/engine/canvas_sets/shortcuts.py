"""The questions of a stored canvas set without their canvases: what can be scored, and the answers that do."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models.fields.json import KeyTextTransform

from benchmarks.models import Task
from tasks_app.models import CanvasSet, Question
from tasks_app.shortcuts import EXAMPLES, RULES, Asked, Probe, probe, scoring
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS

LEARNED = 5_000
"""Questions of a task class, the first of the set, that the rules are fitted to and scored on."""


def probe_class(canvas_set: CanvasSet, name: str, *, examples: bool = False) -> Probe | None:
    """Probe a task class of a set, by the rules that use the examples of few-shot prompts or by all others.

    None if it is not registered or has too few questions.
    """
    stored = Question.objects.filter(canvas__canvas_set=canvas_set, task_name=name).order_by("canvas__index")
    rows = stored.annotate(text=KeyTextTransform(name, "canvas__descriptions")).values_list(
        "question", "text", "canvas__n_shapes", "canvas__number", "answer", "examples"
    )
    if name not in REGISTERED_TASKS:
        return None
    questions = [Asked(it[0], it[1] or "", *it[2:5], examples=_shown(it[5])) for it in rows[:LEARNED]]
    return probe(questions, scoring(REGISTERED_TASKS[name]), EXAMPLES if examples else RULES)


def _shown(examples: Sequence[Sequence[object]]) -> tuple[tuple[str, str], ...]:
    return tuple((str(question), str(answer)) for question, answer in examples)


class BlindAnswers:
    """Answers the questions of a set by the best rule for their task class that does not see the canvas.

    With ``few_shot``, a rule that uses the examples answers where it is better.
    """

    def __init__(self, canvas_set: CanvasSet, *, few_shot: bool) -> None:
        self._probes: dict[str, Probe | None] = {}
        for name in canvas_set.task_classes:
            probes = [probe_class(canvas_set, name, examples=examples) for examples in (False, True)[: 1 + few_shot]]
            self._probes[name] = max(filter(None, probes), key=lambda probe: probe.score, default=None)

    def answer(self, task: Task) -> str | None:
        """The answer to a task that comes with its question and canvas; None if its class could not be probed."""
        question = task.question
        class_probe = self._probes.get(task.group)
        if question is None or class_probe is None:
            return None
        canvas = question.canvas
        text = canvas.descriptions.get(question.task_name, "")
        examples = _shown(question.examples)
        return class_probe.answer(Asked(question.question, text, canvas.n_shapes, canvas.number, examples=examples))
