"""Programs get errors in JSON, also those that no view answers; people get pages."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from benchmarks.api.views import MetricList

pytestmark = pytest.mark.django_db
METRICS = "/api/v1/benchmarks/metrics"


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def get(*_: Any, **__: Any) -> None:
        raise LookupError("of the test")

    monkeypatch.setattr(MetricList, "get", get)


def test_an_unexpected_error_of_the_api_is_json_without_its_message(broken: None) -> None:
    response = Client(raise_request_exception=False).get(METRICS)
    assert response.status_code == 500
    assert response["Content-Type"] == "application/json"
    assert "X-Request-ID" in response.json()["detail"]
    assert response["X-Request-ID"]
    assert b"of the test" not in response.content


@pytest.mark.parametrize("address", ["/api/nothing", "/api/v1/benchmarks/nothing/1", "/api/v1/benchmarks/runs/9999"])
def test_an_unknown_address_of_the_api_is_json(client: Client, address: str) -> None:
    response = client.get(address)
    assert (response.status_code, response["Content-Type"]) == (404, "application/json")
    assert response.json()["detail"]


def test_a_foreign_host_name_is_json_under_the_api_and_a_page_elsewhere(client: Client) -> None:
    response = client.get(METRICS, headers={"host": "evil.example"})
    assert (response.status_code, response["Content-Type"]) == (400, "application/json")
    assert "host name" in response.json()["detail"]
    assert client.get("/", headers={"host": "evil.example"})["Content-Type"].startswith("text/html")


def test_a_session_without_a_csrf_token_is_json(admin_user: Any, settings: Any) -> None:
    settings.DEV_MODE = False
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)
    response = client.post("/api/v1/benchmarks/runs", {}, "application/json")
    assert (response.status_code, response["Content-Type"]) == (403, "application/json")
    assert "CSRF" in response.json()["detail"]
    page = client.post("/logout/")
    assert (page.status_code, page["Content-Type"].partition(";")[0]) == (403, "text/html")
