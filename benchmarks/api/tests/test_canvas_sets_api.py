"""``/api/v1/benchmarks/canvas-sets``: sets, their canvases with all questions, and requests for more."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from benchmarks import jobs
from benchmarks.engine.canvas_sets.generation import audit_set
from benchmarks.services.runs.start import start_run
from tasks_app.loader import build_canvas
from tasks_app.models import CanvasSet
from tests.support.canvas_sets import make_canvas_set

SETS = "/api/v1/benchmarks/canvas-sets"
pytestmark = pytest.mark.django_db


def post(client: Client, body: Any) -> Any:
    return client.post(SETS, json.dumps(body), content_type="application/json")


def test_sets_are_listed_and_filtered(client: Client) -> None:
    make_canvas_set("7", 2)
    make_canvas_set("3-5", 6, seed=12)
    listed = client.get(SETS).json()["results"]
    assert [(it["slug"], it["count"], it["tasks"]) for it in listed] == [
        ("3-to-5-shapes-seed-12", 6, 30),
        ("7-shapes-seed-11", 2, 12),
    ]
    assert "audit" not in listed[0]
    assert client.get(SETS, {"seed": 11}).json()["count"] == 1
    assert client.get(SETS, {"origin": "imported"}).json()["count"] == 0
    assert client.get(SETS, {"origin": "stolen"}).status_code == 400


def test_a_set_comes_with_its_audit(client: Client) -> None:
    canvas_set = make_canvas_set("7", 2)
    assert client.get(f"{SETS}/{canvas_set.slug}").json()["audit"] == {}
    audit_set(canvas_set.pk)
    answer = client.get(f"{SETS}/{canvas_set.slug}").json()
    assert answer["audit"]["tasks"]["count"]["agrees"] == 2
    assert (answer["audited"], answer["wanted"], answer["task_classes"][0]) == (2, 2, "existence")


def test_a_canvas_has_its_shapes_descriptions_and_questions(client: Client) -> None:
    canvas_set = make_canvas_set("7", 2)
    document = build_canvas(7, 11, 1, 2)
    canvas = client.get(f"{SETS}/{canvas_set.slug}/canvases/1").json()
    file = json.loads(document.to_json())
    assert (canvas["id"], canvas["index"], canvas["n_shapes"], canvas["number"]) == ("canvas_7_1", 1, 7, 1)
    assert canvas["shapes"] == file["canvas"]
    assert canvas["descriptions"] == file["descriptions"]
    asked = {it["task"]: [[it["question"], it["answer"]], *it["examples"]] for it in canvas["questions"]}
    assert asked == {
        name: [[text, str(answer) if place == 0 else answer] for place, (text, answer) in enumerate(questions)]
        for name, questions in file["questions"].items()
    }


def test_canvases_are_paged_in_order_and_filtered_by_shapes(client: Client) -> None:
    canvas_set = make_canvas_set("3-5", 9)
    page = client.get(f"{SETS}/{canvas_set.slug}/canvases", {"page_size": 4}).json()
    assert page["count"] == 9
    assert [canvas["index"] for canvas in page["results"]] == [0, 1, 2, 3]
    some = client.get(f"{SETS}/{canvas_set.slug}/canvases", {"n_shapes": 4}).json()
    assert [canvas["index"] for canvas in some["results"]] == [1, 4, 7]


def test_a_list_of_canvases_needs_no_query_for_each(client: Client) -> None:
    canvas_set = make_canvas_set("4", 20)
    counted = []
    for size in (10, 20):
        with CaptureQueriesContext(connection) as queries:
            client.get(f"{SETS}/{canvas_set.slug}/canvases", {"page_size": size})
        counted.append(len(queries))
    assert counted[0] == counted[1]


@pytest.mark.parametrize("path", ["nope", "nope/canvases", "nope/canvases/0", "4-shapes-seed-11/canvases/9"])
def test_a_missing_set_or_canvas_is_a_404(client: Client, path: str) -> None:
    make_canvas_set("4", 1)
    assert client.get(f"{SETS}/{path}").status_code == 404


@pytest.mark.django_db(transaction=True)
def test_a_request_for_a_set_is_accepted_and_a_job_generates_it(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs.generate_canvases, "delay", jobs.generate_canvases)
    response = post(client, {"shapes": "3-4", "count": 6, "seed": 9, "name": "Small ones"})
    assert response.status_code == 202, response.content
    assert response.json()["slug"] == "small-ones"
    assert response["Location"] == f"http://testserver{SETS}/small-ones"
    generated = client.get(response["Location"]).json()
    assert (generated["count"], generated["wanted"], generated["audited"]) == (6, 6, 6)


def test_the_errors_of_an_invalid_request_name_its_fields(client: Client) -> None:
    response = post(client, {"shapes": 25, "count": 0, "colour": "red"})
    assert response.status_code == 400
    assert set(response.json()) == {"shapes", "count", "colour"}
    assert not CanvasSet.objects.exists()


@pytest.mark.parametrize("body", ["[]", '"text"', "null", "{", ""])
def test_a_body_that_is_no_object_is_a_400(client: Client, body: str) -> None:
    assert client.post(SETS, body, content_type="application/json").status_code == 400


def test_a_set_is_deleted_unless_runs_have_used_it(client: Client) -> None:
    canvas_set = make_canvas_set("4", 1)
    run = start_run({"dataset": canvas_set.slug, "model": "baseline/solver"})
    refused = client.delete(f"{SETS}/{canvas_set.slug}")
    assert (refused.status_code, "1 run" in refused.json()["detail"]) == (409, True)
    run.delete()
    assert client.delete(f"{SETS}/{canvas_set.slug}").status_code == 204
    assert not CanvasSet.objects.exists()


def test_outside_dev_mode_generating_needs_permission(client: Client, settings: Any, django_user_model: Any) -> None:
    settings.DEV_MODE = False
    settings.SECURE_SSL_REDIRECT = False
    assert post(client, {"shapes": 4, "count": 1}).status_code == 403
    client.force_login(django_user_model.objects.create_superuser("root", password="x"))
    assert post(client, {"shapes": 4, "count": 1}).status_code == 202


def test_the_schema_knows_the_endpoints(client: Client) -> None:
    paths = client.get("/api/schema", headers={"accept": "application/json"}).json()["paths"]
    assert set(paths[SETS]) >= {"get", "post"}
    assert f"{SETS}/{{slug}}/canvases" in paths
    assert f"{SETS}/{{slug}}/canvases/{{index}}" in paths
