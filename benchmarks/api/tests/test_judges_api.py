"""Calibrations over the API: the same request as the form's and the command's."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.models import AuditEntry, Run
from tests.support.canvas_sets import make_canvas_set
from tests.support.factories import JUDGE
from tests.support.running import Endpoint

pytestmark = pytest.mark.django_db(transaction=True)
ADDRESS = "/api/v1/benchmarks/calibrations"


def post(client: Client, path: str = "", body: Any = None) -> HttpResponse:
    return client.post(ADDRESS + path, json.dumps(body), content_type="application/json")


@pytest.fixture
def asked(endpoint: Endpoint) -> dict[str, Any]:
    endpoint(lambda asked: '{"score": 10, "reason": "because"}')
    return {"judge_model": JUDGE, "canvas_set": make_canvas_set(shapes="5", count=4).slug, "questions": 12}


def test_a_calibration_is_requested_followed_and_read(client: Client, asked: dict[str, Any]) -> None:
    response = post(client, body=asked)
    made = Run.objects.get()
    assert response.status_code == 201
    assert response["Location"].endswith(f"{ADDRESS}/{made.pk}")
    assert response.json()["status"] == "queued"
    work_on_run_once(made.pk)
    found = client.get(f"{ADDRESS}/{made.pk}").json()
    assert (found["status"], found["done"]) == ("completed", response.json()["total"])
    assert found["numbers"]["false_accepts"]["mean"] == 1.0
    assert found["numbers"]["kappa"]["kappa"] == pytest.approx(0.0)
    assert found["cost_usd"] > 0
    assert (found["metric"], found["questions"], found["seed"], found["canvas_set"]) == (
        *("correctness", 12, 0),
        asked["canvas_set"],
    )
    assert client.get("/api/v1/benchmarks/runs").json()["results"] == []
    verdicts = client.get(f"/api/v1/benchmarks/runs/{made.pk}/results").json()
    assert verdicts["count"] == made.dataset_version.task_count * 2


def test_a_refusal_names_every_field(client: Client, asked: dict[str, Any]) -> None:
    response = post(client, body={**asked, "metric": "exact_match", "repeats": 0, "color": "red"})
    assert response.status_code == 400
    assert {"color"} <= set(response.json())
    response = post(client, body={**asked, "metric": "exact_match", "repeats": 0})
    assert set(response.json()) == {"metric", "repeats"}
    assert not Run.objects.exists()


def test_a_body_that_is_not_an_object_is_refused(client: Client) -> None:
    for body in ([], "text", 7, None):
        assert post(client, body=body).status_code == 400, body


def test_the_list_filters_and_leaves_the_numbers_out(client: Client, asked: dict[str, Any]) -> None:
    post(client, body=asked)
    first = Run.objects.get()
    work_on_run_once(first.pk)
    post(client, body=asked)
    found = client.get(ADDRESS, {"status": "completed", "judge_model": JUDGE}).json()["results"]
    assert [row["id"] for row in found] == [first.pk]
    assert "numbers" not in found[0]
    for filters, count in (
        ({"canvas_set": "none"}, 0),
        ({"canvas_set": asked["canvas_set"]}, 2),
        ({"metric": "correctness"}, 2),
        ({"metric": "none"}, 0),
    ):
        assert client.get(ADDRESS, filters).json()["count"] == count, filters
    assert client.get(ADDRESS, {"status": "nonsense"}).status_code == 400


def test_cancel_resume_and_delete_say_when_they_cannot(client: Client, asked: dict[str, Any]) -> None:
    post(client, body=asked)
    pk = Run.objects.get().pk
    assert client.delete(f"{ADDRESS}/{pk}").status_code == 409
    assert post(client, f"/{pk}/resume").status_code == 409
    assert post(client, f"/{pk}/cancel").json()["status"] == "cancelled"
    assert post(client, f"/{pk}/cancel").status_code == 409
    assert post(client, f"/{pk}/resume").json()["status"] == "queued"
    work_on_run_once(pk)
    assert client.delete(f"{ADDRESS}/{pk}").status_code == 204
    assert client.get(f"{ADDRESS}/{pk}").status_code == 404
    actions = list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))
    assert actions[-4:] == ["calibration.start", "run.cancel", "run.resume", "run.delete"]


def test_in_production_strangers_may_not_write(client: Client, asked: dict[str, Any], settings: Any) -> None:
    post(client, body=asked)
    settings.DEV_MODE, settings.PUBLIC_READING = False, True
    pk = Run.objects.get().pk
    assert client.get(f"{ADDRESS}/{pk}").status_code == 200
    for refused in (post(client, body=asked), post(client, f"/{pk}/cancel"), client.delete(f"{ADDRESS}/{pk}")):
        assert refused.status_code in (401, 403)
    assert Run.objects.get().status == "queued"
