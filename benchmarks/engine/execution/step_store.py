"""Store the steps of results, in batches, so that memory does not grow with their number."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from benchmarks.models import StoredStep
from benchmarks.providers.steps import Step

BATCH = 1_000


def write_steps(steps: Iterable[tuple[int, Iterable[Step]]]) -> None:
    """Store the steps of results, given by ID, which have none yet."""
    rows = (StoredStep.of(key, number, step) for key, each in steps for number, step in enumerate(each, 1))
    while batch := list(islice(rows, BATCH)):
        StoredStep.objects.bulk_create(batch)
