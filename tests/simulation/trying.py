"""Try seeds, each in a database that is filled in the same way."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings

from benchmarks.models import Dataset
from codeforge.config import Config, parse_config
from tests.simulation import receiver
from tests.simulation.databases import simulated_database
from tests.simulation.endpoint import PRICES
from tests.simulation.scenario import Outcome, try_seed
from tests.simulation.speed import quick_queries
from tests.simulation.workload import MODELS
from tests.support.factories import make_dataset, make_task

SLUG = "twelve"
FIRST = (-1, -2, -4)
"""Seeds that together import and cache what is imported and cached once for a process."""


def configured() -> Config:
    return parse_config(
        {
            "providers": {"sim": {"base_url": "http://127.0.0.1:1"}},
            "models": dict.fromkeys((*MODELS, "sim/judge"), PRICES),
            "webhooks": {receiver.NAME: receiver.CONFIGURED},
        },
        environ={},
    )


def twelve_tasks() -> None:
    tasks = [make_task(number, input=f"task-{number}: What is {number} + {number}?") for number in range(1, 13)]
    make_dataset(tasks, slug=SLUG)


GARBAGE = 20_000, 50, 50
"""A seed leaves little of it"""


@contextmanager
def quiet() -> Iterator[None]:
    """Warnings of faults are what is simulated."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


@contextmanager
def prepared() -> Iterator[Callable[[int], Outcome]]:
    """A function that tries a seed."""
    os.environ[receiver.SECRET_VARIABLE] = receiver.SECRET
    settings.CODEFORGE = configured()
    with simulated_database(twelve_tasks) as renew:

        def tried(seed: int) -> Outcome:
            renew()
            return try_seed(seed, Dataset.objects.get(slug=SLUG))

        with quiet(), quick_queries():
            for seed in FIRST:  # here, so that copies of this process need not, and alike for each seed
                tried(seed)
            gc.collect()
            gc.freeze()  # what lives as long as the process is not looked through again for each seed
            gc.set_threshold(*GARBAGE)
            yield tried
