"""What the search finds by name: datasets, canvas sets, models, experiments, reviews, runs
and tasks."""

from __future__ import annotations

from dataclasses import dataclass, fields

from django.db.models import Q, Value

from benchmarks.models import HIDDEN_KINDS, OF_MODELS, Dataset, Experiment, ReviewQueue, Run, Task
from benchmarks.queries.runs import HasTag, runs
from tasks_app.models import CanvasSet

MOST = 8
"""Matches of each kind that are returned."""


@dataclass(frozen=True, slots=True)
class Matches:
    """Up to ``MOST`` of each kind, the newest first; models by name, tasks in their order."""

    datasets: list[Dataset]
    canvas_sets: list[CanvasSet]
    models: list[str]
    experiments: list[Experiment]
    reviews: list[ReviewQueue]
    runs: list[Run]
    tasks: list[Task]

    def __bool__(self) -> bool:
        return any(getattr(self, kind.name) for kind in fields(self))


def search(text: str) -> Matches:
    """Matches of a part of the name, of upper or lower case; of runs also by number (``12``, ``run 12``), of runs
    and experiments by a whole tag, of tasks by a part of the question. Tasks are those of current versions.
    """
    number = text.lower().removeprefix("run").strip(" #")
    by_number = Q(pk=int(number)) if number.isascii() and number.isdigit() and len(number) < 10 else Q()
    datasets = Dataset.objects.exclude(kind__in=HIDDEN_KINDS)
    with_model = Run.objects.filter(OF_MODELS, model__icontains=text).order_by("model")
    tasks = Task.objects.filter(version__in=datasets.values("current_version"))
    tagged = Q(HasTag("tags", Value(text)))
    return Matches(
        datasets=list(datasets.filter(Q(slug__icontains=text) | Q(name__icontains=text)).order_by("-id")[:MOST]),
        canvas_sets=list(CanvasSet.objects.filter(slug__icontains=text).order_by("-id")[:MOST]),
        models=list(with_model.values_list("model", flat=True).distinct()[:MOST]),
        experiments=list(Experiment.objects.filter(Q(name__icontains=text) | tagged).order_by("-id")[:MOST]),
        reviews=list(ReviewQueue.objects.filter(name__icontains=text).order_by("-id")[:MOST]),
        runs=list(runs().filter(by_number | Q(name__icontains=text) | tagged).order_by("-id")[:MOST]),
        tasks=list(
            tasks.filter(Q(task_id__icontains=text) | Q(name__icontains=text) | Q(input__icontains=text))
            .select_related("version__dataset")
            .only("id", "task_id", "name", "version__dataset__slug", "version__dataset__name")
            .order_by("version", "position")[:MOST]
        ),
    )
