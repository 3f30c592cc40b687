"""Seeds tried one after the other in a database of their own."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.test.utils import setup_databases, teardown_databases

from benchmarks.models import Dataset
from codeforge.config import Config, parse_config
from tests.simulation.endpoint import PRICES
from tests.simulation.mutants import Mutant
from tests.simulation.scenario import Outcome, try_seed
from tests.support.factories import make_dataset, make_task


def configured() -> Config:
    models = {"sim/model": PRICES, "sim/judge": PRICES}
    return parse_config({"providers": {"sim": {"base_url": "http://127.0.0.1:1"}}, "models": models}, environ={})


def twelve_tasks() -> Dataset:
    tasks = [make_task(number, input=f"task-{number}: What is {number} + {number}?") for number in range(1, 13)]
    return make_dataset(tasks, slug="twelve")


@contextmanager
def quiet() -> Iterator[None]:
    """Warnings of faults are what is simulated."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def in_new_database(seeds: Iterable[int], mutant: Mutant | None = None) -> Iterator[Outcome]:
    settings.DATABASES["default"]["TEST"] |= {"NAME": ":memory:"}
    made = setup_databases(verbosity=0, interactive=False)
    settings.CODEFORGE = configured()
    try:
        dataset = twelve_tasks()
        if mutant is not None:
            mutant.plant()
        with quiet():
            try_seed(-1, dataset)  # what is cached once for a process is cached from here on, for each seed alike
            for seed in seeds:
                yield try_seed(seed, dataset)
    finally:
        teardown_databases(made, verbosity=0)
