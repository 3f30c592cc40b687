"""Queries and code agree on which models are baselines."""

from __future__ import annotations

import pytest

from benchmarks.models import OF_BASELINES, Run
from benchmarks.providers.model_names import is_baseline
from tests.support.factories import make_dataset
from tests.support.page_factories import make_scored_run


@pytest.mark.django_db
def test_a_query_finds_the_names_that_the_function_knows_as_baselines() -> None:
    names = ["baseline/random", "baseline/", "baseline", "baselines/random", "mine/baseline/random"]
    dataset = make_dataset(1)
    for name in names:
        make_scored_run(dataset, (1.0,), model=name)
    found = set(Run.objects.filter(OF_BASELINES).values_list("model", flat=True))
    assert found == {name for name in names if is_baseline(name)} == {"baseline/random", "baseline/"}
