"""The questions of a stored canvas set without their canvases: what can be scored, and the answers that do."""

from __future__ import annotations

from django.db.models.fields.json import KeyTextTransform

from benchmarks.models import Task
from tasks_app.models import CanvasSet, Question
from tasks_app.shortcuts import Asked, Probe, probe, scoring
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS

LEARNED = 5_000
"""Questions of a task class, the first of the set, that the rules are fitted to and scored on."""


def probe_class(canvas_set: CanvasSet, name: str) -> Probe | None:
    """Probe a task class of a set; None if it is not registered or has too few questions."""
    questions = Question.objects.filter(canvas__canvas_set=canvas_set, task_name=name).order_by("canvas__index")
    rows = questions.annotate(text=KeyTextTransform(name, "canvas__descriptions")).values_list(
        "question", "text", "canvas__n_shapes", "canvas__number", "answer"
    )
    if name not in REGISTERED_TASKS:
        return None
    return probe([Asked(it[0], it[1] or "", *it[2:]) for it in rows[:LEARNED]], scoring(REGISTERED_TASKS[name]))


class BlindAnswers:
    """Answers the questions of a set by the best rule for their task class that does not see the canvas."""

    def __init__(self, canvas_set: CanvasSet) -> None:
        self._probes = {name: probe_class(canvas_set, name) for name in canvas_set.task_classes}

    def answer(self, task: Task) -> str | None:
        """The answer to a task that comes with its question and canvas; None if its class could not be probed."""
        question = task.question
        class_probe = self._probes.get(task.group)
        if question is None or class_probe is None:
            return None
        canvas = question.canvas
        text = canvas.descriptions.get(question.task_name, "")
        return class_probe.answer(Asked(question.question, text, canvas.n_shapes, canvas.number))
