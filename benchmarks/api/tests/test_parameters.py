from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from tests.support.factories import make_dataset
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db
API = "/api/v1/benchmarks"


def test_unknown_query_parameters_are_refused_with_those_that_exist(client: APIClient) -> None:
    run = make_scored_run(make_dataset())
    refused = (
        ("/runs?modle=a", "modle", "model, name"),
        (f"/runs/{run.pk}?fields=id", "fields", "has none"),
        (f"/runs/{run.pk}/results/?outcom=wrong&page=1", "outcom", "outcome"),
        ("/datasets/sums/tasks?format=json", "format", "search"),
        ("/datasets?kind=yaml&slug=sums", "slug", "kind"),
        ("/leaderboard?dataset=sums", "dataset", "datasets"),
    )
    for address, name, advice in refused:
        response = client.get(f"{API}{address}")
        assert response.status_code == 400, address
        assert advice in response.json()[name][0], address
        assert list(response.json()) == [name], address
    for address in ("/runs?model=a&page_size=5", f"/runs/{run.pk}/", "/datasets/sums/tasks?search=sum", "/metrics"):
        assert client.get(f"{API}{address}").status_code == 200, address


def test_whoever_may_not_read_learns_nothing_of_the_parameters(client: APIClient, settings: Any) -> None:
    settings.DEV_MODE = settings.PUBLIC_READING = False
    assert client.get(f"{API}/runs?modle=a").status_code in (401, 403)
