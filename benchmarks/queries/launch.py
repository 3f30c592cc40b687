"""What earlier runs say of what can be chosen for the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import FloatField, Max
from django.db.models.fields.json import KeyTransform
from django.db.models.functions import Cast

from benchmarks.models import COMPLETED, OF_MODELS, Result, Run, RunKind, Task
from benchmarks.presentation.labels import dataset_title
from benchmarks.queries.datasets import runnable_datasets
from benchmarks.queries.runs import HeadlineNumber, turns

MOST_ANSWERS = 60
"""Of runs that are tried out, which have three tasks each."""


def used_last(account: User | None) -> tuple[list[str], list[str]]:
    """The models and the slugs of the benchmarks of the latest run that the person started, or of its experiment."""
    own = Run.objects.filter(OF_MODELS, import_format="", created_by=account, scheduled=None).order_by("-pk")
    latest = own.only("experiment").first()
    if latest is None:
        return [], []
    together = Run.objects.filter(experiment=latest.experiment_id) if latest.experiment_id else own.filter(pk=latest.pk)
    models, runnable = (
        together.order_by("pk").values_list("model", flat=True),
        {each.slug for each in runnable_datasets()},
    )
    slugs = together.order_by("pk").values_list("dataset__slug", flat=True)
    return [*dict.fromkeys(models)], [slug for slug in dict.fromkeys(slugs) if slug in runnable]


def trial_answers(pks: Sequence[int]) -> tuple[list[Run], list[tuple[Task, list[Result | None]]]]:
    """The trials that exist, and each of their tasks with the result of each run, ``None`` of one that has none yet."""
    trials = Run.objects.filter(kind=RunKind.TRIAL, pk__in=pks)
    runs = list(trials.select_related("dataset").defer("summary").annotate(**turns()).order_by("pk"))
    found: dict[int, dict[int, Result]] = {}
    results = Result.objects.filter(run__in=runs, repeat=1).select_related("task", "transcript")
    for result in results.order_by("position")[:MOST_ANSWERS]:
        found.setdefault(result.task_id, {})[result.run_id] = result
    rows = [(next(iter(of.values())).task, [of.get(run.pk) for run in runs]) for of in found.values()]
    return runs, rows


def last_runs(column: str) -> dict[str, datetime]:
    """Value of the column → when the latest run with it was queued; imported runs and checks of judges do not count."""
    ours = Run.objects.filter(OF_MODELS, import_format="").order_by()
    return dict(ours.values_list(column).annotate(Max("created_at")))


@dataclass(frozen=True, slots=True)
class LastResult:
    """Of a model's latest completed run: its median latency in milliseconds, its headline score, and its dataset."""

    latency_ms: float | None
    mean: float | None
    on: str


def last_results() -> dict[str, LastResult]:
    """By model."""
    ended = Run.objects.filter(OF_MODELS, import_format="", status__in=COMPLETED).order_by()
    latest = ended.values_list("model").annotate(Max("pk")).values_list("pk__max", flat=True)
    median = Cast(KeyTransform("p50", KeyTransform("latency_ms", "summary")), FloatField())
    found = Run.objects.filter(pk__in=list(latest)).annotate(median=median, mean=HeadlineNumber("mean"))
    rows = found.values_list("model", "median", "mean", *("dataset__name", "dataset__slug"))
    return {model: LastResult(latency, mean, dataset_title(*named)) for model, latency, mean, *named in rows}
