"""What the search finds by name: datasets, canvas sets, models, experiments, reviews, runs
and tasks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from django.db.models import Count, Q, Value

from benchmarks.models import (
    ERRORS,
    HIDDEN_KINDS,
    OF_MODELS,
    TERMINAL,
    Dataset,
    Experiment,
    Outcome,
    Result,
    ReviewQueue,
    Run,
    Task,
)
from benchmarks.queries.experiments import experiments
from benchmarks.queries.runs import HasTag, RunFilters, run_list, runs
from tasks_app.models import CanvasSet

MOST = 5
"""Matches of each kind that are returned."""
NEWEST = 3
"""Of each kind that is offered before anything is typed."""


@dataclass(frozen=True, slots=True)
class Matches:
    """Up to ``MOST`` of each kind, the newest first; models by name with their number of runs, tasks in their order
    with how many of their answers are correct, of how many that models gave. ``n_runs`` are all that the list of runs
    finds."""

    datasets: list[Dataset]
    canvas_sets: list[CanvasSet]
    models: list[tuple[str, int]]
    experiments: list[Experiment]
    reviews: list[ReviewQueue]
    runs: list[Run]
    tasks: list[tuple[Task, int, int]]
    n_runs: int = 0

    def __bool__(self) -> bool:
        return any(getattr(self, kind.name) for kind in fields(self))


def search(text: str) -> Matches:
    """Matches of a part of the name, of upper or lower case.

    Of runs also by number (``12``, ``run 12``), model and dataset, of runs and experiments by a whole tag, of tasks of
    current versions by a part of the question.
    """
    number = text.lower().removeprefix("run").strip(" #")
    by_number = Q(pk=int(number)) if number.isascii() and number.isdigit() and len(number) < 10 else Q()
    datasets = Dataset.objects.exclude(kind__in=HIDDEN_KINDS)
    with_model = Run.objects.filter(OF_MODELS, model__icontains=text).order_by("model").values_list("model")
    tasks = Task.objects.filter(version__in=datasets.values("current_version"))
    tagged = Q(HasTag("tags", Value(text)))
    of_run = Q(name__icontains=text) | Q(model__icontains=text) | Q(dataset__name__icontains=text)
    return Matches(
        datasets=list(
            datasets.filter(Q(slug__icontains=text) | Q(name__icontains=text), canvas_set=None)
            .select_related("current_version")
            .order_by("-id")[:MOST]
        ),
        canvas_sets=list(
            CanvasSet.objects.filter(Q(slug__icontains=text) | Q(name__icontains=text)).order_by("-id")[:MOST]
        ),
        models=list(with_model.annotate(runs=Count("pk"))[:MOST]),
        experiments=list(experiments().filter(Q(name__icontains=text) | tagged)[:MOST]),
        reviews=list(ReviewQueue.objects.filter(name__icontains=text).order_by("-id")[:MOST]),
        runs=list(runs().filter(by_number | of_run | tagged).order_by("-id")[:MOST]),
        n_runs=run_list(RunFilters(text=text)).count(),
        tasks=_with_answers(
            tasks.filter(Q(task_id__icontains=text) | Q(name__icontains=text) | Q(input__icontains=text))
            .select_related("version__dataset")
            .only("id", "task_id", "name", "version__dataset__slug", "version__dataset__name")
            .order_by("version", "position")[:MOST]
        ),
    )


def newest() -> Matches:
    """The newest datasets and runs, for those who have not typed yet."""
    datasets = Dataset.objects.exclude(kind__in=HIDDEN_KINDS).select_related("current_version").filter(canvas_set=None)
    return Matches(list(datasets.order_by("-id")[:NEWEST]), [], [], [], [], list(runs().order_by("-id")[:NEWEST]), [])


def _with_answers(tasks: Iterable[Task]) -> list[tuple[Task, int, int]]:
    """Tasks with their correct answers and all that have an outcome, of models but not of baselines, in one query."""
    found = list(tasks)
    ended = Run.objects.filter(OF_MODELS, status__in=TERMINAL).exclude(model__startswith="baseline/")
    counted = (
        Result.objects.filter(task__in=found, run__in=ended)
        .exclude(outcome__in=("", *ERRORS))
        .order_by()
        .values_list("task")
        .annotate(correct=Count("pk", filter=Q(outcome=Outcome.CORRECT)), every=Count("pk"))
    )
    by_task = {task: numbers for task, *numbers in counted}
    return [(task, *by_task.get(task.pk, (0, 0))) for task in found]
