"""What the search finds by name: datasets, canvas sets, models, experiments, reviews, runs
and tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from django.db.models import Case, Count, Q, QuerySet, When

from benchmarks.models import (
    ERRORS,
    HIDDEN_KINDS,
    OF_BASELINES,
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
from benchmarks.queries.runs import WORDS_OF_RUN, RunFilters, every_word, in_one_of, run_list, runs, words_of
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
    """What has every word of the text in its names, of upper or lower case, in any order.

    Of runs also by number (``12``, ``run 12``), model, variant and dataset, of runs and experiments by a whole tag, of
    tasks of current versions by the question. With several words those come first that have the text as it is.
    """
    number = text.lower().removeprefix("run").strip(" #")
    by_number = Q(pk=int(number)) if number.isascii() and number.isdigit() and len(number) < 10 else Q()
    datasets = Dataset.objects.exclude(kind__in=HIDDEN_KINDS)
    with_model = Run.objects.filter(OF_MODELS).values_list("model").annotate(runs=Count("pk"))
    tasks = Task.objects.filter(version__in=datasets.values("current_version")).select_related("version__dataset")
    fields_of_task = ("id", "task_id", "name", "input", "version__dataset__slug", "version__dataset__name")
    named = ("slug", "name")
    return Matches(
        datasets=_found(datasets.filter(canvas_set=None).select_related("current_version"), text, named),
        canvas_sets=_found(CanvasSet.objects.all(), text, named),
        models=_found(with_model, text, ("model",), order=("model",)),
        experiments=_found(experiments(), text, ("name",), tags=True),
        reviews=_found(ReviewQueue.objects.all(), text, ("name",)),
        runs=_found(runs(), text, WORDS_OF_RUN, tags=True, exact=by_number),
        n_runs=run_list(RunFilters(text=text)).count(),
        tasks=_with_answers(
            _found(tasks.only(*fields_of_task), text, ("task_id", "name", "input"), order=("version", "position"))
        ),
    )


def _found(
    rows: QuerySet[Any, Any],
    text: str,
    places: Sequence[str],
    *,
    tags: bool = False,
    exact: Q | None = None,
    order: Sequence[str] = ("-id",),
) -> list[Any]:
    """Up to ``MOST`` rows that are ``exact`` or have every word, those first that are exact or have the whole text."""
    exact, first = exact or Q(), []
    if exact or len(words_of(text)) > 1:
        # Ids and slugs have hyphens where people type spaces.
        whole = exact | in_one_of(places, text) | in_one_of(places, text.replace(" ", "-"))
        first = [Case(When(whole, then=0), default=1)]
    return list(rows.filter(exact | every_word(text, places, tags=tags)).order_by(*first, *order)[:MOST])


def newest() -> Matches:
    """The newest datasets and runs, for those who have not typed yet."""
    datasets = Dataset.objects.exclude(kind__in=HIDDEN_KINDS).select_related("current_version").filter(canvas_set=None)
    return Matches(list(datasets.order_by("-id")[:NEWEST]), [], [], [], [], list(runs().order_by("-id")[:NEWEST]), [])


def _with_answers(tasks: Iterable[Task]) -> list[tuple[Task, int, int]]:
    """Tasks with their correct answers and all that have an outcome, of models but not of baselines, in one query."""
    found = list(tasks)
    ended = Run.objects.filter(OF_MODELS, status__in=TERMINAL).exclude(OF_BASELINES)
    counted = (
        Result.objects.filter(task__in=found, run__in=ended)
        .exclude(outcome__in=("", *ERRORS))
        .order_by()
        .values_list("task")
        .annotate(correct=Count("pk", filter=Q(outcome=Outcome.CORRECT)), every=Count("pk"))
    )
    by_task = {task: numbers for task, *numbers in counted}
    return [(task, *by_task.get(task.pk, (0, 0))) for task in found]
