"""What guessing would have scored: by task class for canvas runs, over the tasks with choices for multiple choice.

Scores corrected for guessing, beside the raw ones: by task class with their average, or over multiple choice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Count

from benchmarks.engine.canvas_sets.audit import guess_score
from benchmarks.engine.summary.means import WHOLE, Cell, Means, Sums, added, cluster_parts, plain
from benchmarks.models import Run, Task
from benchmarks.statistics.chance import GroupMean, Part, corrected_average, corrected_interval
from benchmarks.statistics.intervals import Interval
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


def chance_numbers(run: Run, cells: Mapping[Cell, Sums], means: Means, guesses: Mapping[str, float]) -> dict[str, Any]:
    """Metric → ``{"groups": [{"group", "guess", "raw", "corrected"}], "average", "left_out"}``; empty where no guess
    rate is known. A group named "" is all tasks with choices.
    """
    found = {}
    if guesses:
        found[CANVAS_METRIC] = _by_task_class(run, cells, means, guesses)
    if CHOICE_METRIC in run.metrics and (rate := choice_guess_rate(run)) is not None and rate < 1:
        raw = means[CHOICE_METRIC, WHOLE, ()]
        corrected = corrected_interval(raw, rate)
        found[CHOICE_METRIC] = _numbers({"": (rate, raw, corrected)}, corrected, [])
    return found


def _by_task_class(run: Run, cells: Mapping[Cell, Sums], means: Means, guesses: Mapping[str, float]) -> dict[str, Any]:
    groups = {
        name: (rate, raw, corrected_interval(raw, rate))
        for name, rate in guesses.items()
        if (raw := means.get((CANVAS_METRIC, ("group",), (name,)))) is not None and raw.mean is not None
    }
    left_out = [name for name in run.task_classes if name not in groups]
    if len(groups) == 1:
        average = next(iter(groups.values()))[2]
    else:
        sums = added(cells.items(), lambda cell: cell.group if cell.metric == CANVAS_METRIC else None)
        grouped = {name: GroupMean(sums[name].n, sums[name].mean, rate) for name, (rate, *_) in groups.items()}
        average = corrected_average(grouped, _parts_of(run, grouped))
    return _numbers(groups, average, left_out)


def _parts_of(run: Run, groups: Mapping[str, GroupMean]) -> Iterator[list[Part]]:
    for cluster in cluster_parts(run, CANVAS_METRIC):
        parts = [(part.group, part.n, part.total, part.squares) for part in cluster if part.group in groups]
        if parts:
            yield parts


def _numbers(
    groups: Mapping[str, tuple[float, Interval, Interval]], average: Interval, left_out: list[str]
) -> dict[str, Any]:
    return {
        "groups": [
            {"group": name, "guess": rate, "raw": plain(raw), "corrected": plain(corrected)}
            for name, (rate, raw, corrected) in groups.items()
        ],
        "average": plain(average),
        "left_out": left_out,
    }
