"""What guessing would have scored: by task class for canvas runs, over the tasks with choices for multiple choice."""

from __future__ import annotations

from collections import Counter

from django.db.models import Count

from benchmarks.engine.canvas_audit import guess_score
from benchmarks.models import Run, Task
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS

CANVAS_METRIC = "task_score"
CHOICE_METRIC = "multiple_choice"


def guess_rates(run: Run) -> dict[str, float]:
    """The expected score of a guess by task class, for the classes of a canvas run where it is known.

    It is the class's own where drawing any possible answer has a known score, and that of always giving the most
    frequent answer of the set where it depends on the set's balance.
    """
    if CANVAS_METRIC not in run.metrics:
        return {}
    audited = _audited(run)
    rates = {name: _own_rate(name) or audited.get(name) or _majority_score(run, name) for name in run.task_classes}
    return {name: rate for name, rate in rates.items() if rate is not None and rate < 1}


def choice_guess_rate(run: Run) -> float | None:
    """The mean of 1 / choices over the scored results of a multiple-choice metric; ``None`` without any."""
    scored = run.scores.filter(metric=CHOICE_METRIC, value__isnull=False)
    choices = scored.values_list("result__task__choices", flat=True)
    sizes = Counter(len(offered) for offered in choices.iterator(chunk_size=5_000) if offered)
    total = sizes.total()
    return sum(count / size for size, count in sizes.items()) / total if total else None


def _own_rate(name: str) -> float | None:
    task_class = REGISTERED_TASKS.get(name)
    return None if task_class is None else task_class.guess_score or task_class.guess_rate


def _audited(run: Run) -> dict[str, float]:
    canvas_set = run.dataset.canvas_set
    audits = canvas_set.audit.get("tasks", {}) if canvas_set else {}
    return {name: audit.get("majority_score") for name, audit in audits.items()}


def _majority_score(run: Run, name: str) -> float | None:
    """As the audit of the set will have it."""
    answers = Task.objects.filter(version=run.dataset_version_id, group=name).order_by()
    counted = dict(answers.values_list("expected_output").annotate(n=Count("pk")))
    if not counted:
        return None
    majority = min(counted, key=lambda answer: (-counted[answer], answer))
    return guess_score(name, counted, [majority])
