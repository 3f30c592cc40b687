"""Runs with a scripted judge whose answers people have labeled in a random review."""

from __future__ import annotations

import random
from typing import Any

from django.utils import timezone

from benchmarks.models import Dataset, Label, ReviewQueue, Run
from tests.support.factories import make_dataset
from tests.support.page_factories import make_scored_run

METRIC, JUDGE = "correctness", "loop/judge"


def make_judged_run(
    n: int = 200, dataset: Dataset | None = None, *, lenient: float = 0.4, strict: float = 0.02, **fields: Any
) -> tuple[Run, list[float]]:
    """A run of which 70% (``rate``) of the answers are right, by a judge with these errors; and what is right."""
    rng, rate = random.Random(fields.pop("seed", 4)), fields.pop("rate", 0.7)
    truth = [float(rng.random() < rate) for _ in range(n)]
    judged = [float(rng.random() >= strict if right else rng.random() < lenient) for right in truth]
    run = make_scored_run(dataset or make_dataset(n), judged, metrics=(METRIC,), **{"judge_model": JUDGE, **fields})
    return run, truth


def make_review(*runs: Run, method: str = "random", **fields: Any) -> ReviewQueue:
    """A closed one, because labels of open reviews do not count."""
    given = {
        "name": "Review",
        "metric": METRIC,
        "source": {"runs": [run.pk for run in runs], "experiment": None, "filters": {}},
        "blind": False,
        "closed_at": timezone.now(),
        "sampling": {"method": method, "size": 80, "seed": 1},
    }
    return ReviewQueue.objects.create(**{**given, **fields})


def label_answers(run: Run, truth: list[float], queue: ReviewQueue | None, n: int = 80, author: str = "ida") -> None:
    """A person labels ``n`` answers, drawn at random, as they are."""
    results = list(run.results.order_by("position"))
    drawn = random.Random(9).sample(range(len(results)), n)
    Label.objects.bulk_create(
        Label(result=results[at], metric=METRIC, value=truth[at], queue=queue, author_name=author) for at in drawn
    )
