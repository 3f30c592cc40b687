"""The API of experiments."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from benchmarks.models import Experiment
from tests.support.factories import JUDGE, MODEL, make_dataset
from tests.support.running import Endpoint, worked

pytestmark = pytest.mark.django_db(transaction=True)

PATH = "/api/v1/benchmarks/experiments"


def post(client: Client, path: str = "", **data: Any) -> Any:
    return client.post(f"{PATH}{path}", data, content_type="application/json")


def request(**fields: Any) -> dict[str, Any]:
    given = {"name": "Prompts", "datasets": ["sums"], "models": [MODEL, JUDGE], "metrics": ["exact_match"]}
    return {**given, **fields}


def test_an_experiment_is_started_followed_and_read_as_one(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2" if asked.body["model"] == "model" else "no")
    make_dataset(8)
    response = post(client, **request(max_tokens=9, budget_usd=1))
    assert response.status_code == 201
    started = response.json()
    assert response.headers["Location"].endswith(f"/experiments/{started['id']}")
    assert (len(started["runs"]), started["status"]) == (2, "queued")
    assert (started["estimate"]["requests"], started["estimate"]["candidates"]) == (16, 2)
    for run in Experiment.objects.get().runs.all():
        worked(run)
    found = client.get(f"{PATH}/{started['id']}").json()
    assert found["status"] == "completed"
    assert found["progress"] == {"total": 16, "done": 16, "errors": 0, "judging": False}
    assert 0 < found["cost_usd"] < 1
    assert "model scores highest before judge" in found["verdict"]
    best = found["matrix"][0]
    assert (best["model"], best["dataset"], best["n"], best["total"], best["coverage"]) == (MODEL, "sums", 8, 8, 1.0)
    assert (best["mean"], best["rank"], best["group"]) == (0.125, [1, 2], "A")
    assert best["low"] < best["mean"] < best["high"]
    assert [row["id"] for row in client.get(PATH).json()["results"]] == [started["id"]]


def test_tasks_come_with_the_answers_of_every_run(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2" if asked.body["model"] == "model" else "no")
    make_dataset(3)
    pk = post(client, **request()).json()["id"]
    for run in Experiment.objects.get().runs.all():
        worked(run)
    page = client.get(f"{PATH}/{pk}/tasks").json()
    assert (page["dataset"], page["count"], page["pages"], page["disagree"], page["all_wrong"]) == ("sums", 3, 1, 1, 2)
    assert client.get(f"{PATH}/{pk}/tasks?text=task+2").json()["count"] == 1
    assert client.get(f"{PATH}/{pk}/tasks?group=nowhere").json()["count"] == 0
    first = page["results"][0]
    assert (first["name"], first["expected_output"], first["right"]) == ("Task 1", "2", 1)
    assert [(each["model"], each["outcome"], each["score"], each["answer"]) for each in first["answers"]] == [
        (MODEL, "correct", 1.0, "2"),
        (JUDGE, "wrong", 0.0, "no"),
    ]
    assert len(client.get(f"{PATH}/{pk}/tasks?show=disagree").json()["results"]) == 1
    one = client.get(f"{PATH}/{pk}/tasks?runs={first['answers'][1]['run']}").json()
    assert [len(task["answers"]) for task in one["results"]] == [1, 1, 1]
    for query in ("show=nothing", "page=0", "run=x", "speed=1", "dataset=none", "metric=none"):
        assert client.get(f"{PATH}/{pk}/tasks?{query}").status_code == 400, query


def test_a_metric_or_a_dataset_that_no_run_has_is_refused(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    make_dataset(2)
    pk = post(client, **request()).json()["id"]
    exported = f"{PATH.removesuffix('/experiments')}/matrix/csv?experiment={pk}&"
    for address in (f"{PATH}/{pk}?", exported):
        refused = client.get(f"{address}metric=none&dataset=nowhere")
        assert refused.status_code == 400, address
        assert refused.json() == {
            "metric": ["No run here has the metric none. Choose from: exact_match."],
            "dataset": ["No run here has the dataset nowhere. Choose from: sums."],
        }
        assert client.get(f"{address}metric=exact_match&dataset=sums").status_code == 200
    page = client.get(f"/experiments/{pk}/?metric=none").content.decode()
    assert "No run here has the metric none. Choose from: exact_match. All are shown." in page


def test_the_labels_change_and_nothing_else(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    make_dataset(2)
    pk = post(client, **request(tags=["a"])).json()["id"]

    def patch(**data: Any) -> Any:
        return client.patch(f"{PATH}/{pk}", data, content_type="application/json")

    changed = patch(name="Autumn", tags=["b"]).json()
    assert (changed["name"], changed["description"], changed["tags"]) == ("Autumn", "", ["b"])
    assert patch(description="Two models").json()["name"] == "Autumn"
    refused = patch(name="", budget_usd=1)
    assert (refused.status_code, sorted(refused.json())) == (400, ["budget_usd", "name"])


def test_the_estimate_starts_nothing(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    make_dataset(100)
    plan = post(client, "/plan", **request()).json()
    assert (plan["runs"], plan["requests"]) == (2, 200)
    assert 0 < plan["detectable"]["sums"] < 1
    assert not Experiment.objects.exists()


def test_a_mistake_is_named_at_its_place(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    make_dataset(2)
    response = post(client, **request(models=[MODEL, "loop"], variants=[{"name": "a", "prompt_template": "x"}]))
    assert response.status_code == 400
    assert "models[1]" in response.json()["models"][0]
    assert "variants[0].prompt_template: The template needs {input}" in response.json()["variants"][0]


def test_all_runs_are_paused_resumed_canceled_and_extended(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    make_dataset(2)
    pk = post(client, **request(models=[MODEL], budget_usd=1, max_tokens=9)).json()["id"]
    assert post(client, f"/{pk}/pause").json() == {"runs": 1}
    assert client.get(f"{PATH}/{pk}").json()["status"] == "paused"
    assert post(client, f"/{pk}/pause").status_code == 409
    assert post(client, f"/{pk}/budget", budget_usd=0.5).status_code == 409
    assert post(client, f"/{pk}/budget", budget_usd=2).json()["budget_usd"] == 2
    assert post(client, f"/{pk}/models", model=JUDGE).json() == {"runs": 1}
    assert post(client, f"/{pk}/models", model=JUDGE).status_code == 400
    assert client.delete(f"{PATH}/{pk}").status_code == 409
    assert post(client, f"/{pk}/cancel").json() == {"runs": 2}
    assert post(client, f"/{pk}/resume").json() == {"runs": 2}
    assert post(client, f"/{pk}/retry-failed").status_code == 409
    assert post(client, f"/{pk}/cancel").json() == {"runs": 2}
    assert client.delete(f"{PATH}/{pk}").status_code == 204
    assert client.get(f"{PATH}/{pk}").status_code == 404


def test_the_list_needs_no_more_queries_for_more_experiments(
    client: Client, endpoint: Endpoint, django_assert_max_num_queries: Any
) -> None:
    endpoint(lambda asked: "2")
    make_dataset(2)
    for n in range(5):
        post(client, **request(name=f"Experiment {n}"))
    with django_assert_max_num_queries(5):
        assert len(client.get(PATH).json()["results"]) == 5
