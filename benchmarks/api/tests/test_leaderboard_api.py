"""The API of scores over time."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.support.factories import make_dataset
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/benchmarks/history"


def test_scores_over_time_come_by_dataset_and_by_model(client: Client) -> None:
    sums, other = make_dataset(4), make_dataset(4, slug="other")
    first, second = (make_scored_run(sums, values, model="a/one") for values in ([1.0] * 4, [1.0, 1.0, 0.0, 0.0]))
    for dataset in (other, other, sums, sums):
        make_scored_run(dataset, [0.0] * 4, model="a/two")
    (history,) = client.get(f"{ADDRESS}?dataset=sums&model=a/one").json()
    assert (history["dataset"], history["model"], history["metric"]) == ("sums", "a/one", "exact_match")
    assert [(point["run"], point["mean"], point["n"]) for point in history["points"]] == [
        (first.pk, 1.0, 4),
        (second.pk, 0.5, 4),
    ]
    assert history["points"][1]["low"] < 0.5 < history["points"][1]["high"]
    assert [each["dataset"] for each in client.get(f"{ADDRESS}?model=a/two").json()] == ["sums", "other"]
    assert len(client.get(ADDRESS).json()) == 3
    assert client.get(f"{ADDRESS}?dataset=nowhere").json() == []
    assert client.get(f"{ADDRESS}?run=1").status_code == 400
