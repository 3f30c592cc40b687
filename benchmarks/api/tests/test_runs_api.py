"""``/api/v1/benchmarks/runs``: what it accepts, what it refuses and what it answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.models import Run
from benchmarks.presentation.sentences import HEADLINE
from tests.loopback.faults import FAULTS
from tests.loopback.server import LoopbackServer
from tests.loopback.vendors import refusing
from tests.support.factories import JUDGE, MODEL, make_dataset, make_run, make_task
from tests.support.running import VERDICT, Endpoint

RUNS = "/api/v1/benchmarks/runs"


@pytest.fixture
def configured(endpoint: Endpoint, db: None) -> LoopbackServer:
    server = endpoint(lambda asked: "4")
    make_dataset(3)
    return server


def post(client: Client, body: Any, path: str = RUNS) -> Any:
    return client.post(path, json.dumps(body), content_type="application/json")


def request(**fields: Any) -> dict[str, Any]:
    return {"dataset": "sums", "model": MODEL, "metrics": ["exact_match"], **fields}


def test_a_run_is_created_with_its_location(client: Client, configured: LoopbackServer) -> None:
    response = post(client, request())
    assert response.status_code == 201, response.content
    run = response.json()
    assert response["Location"] == f"http://testserver{RUNS}/{run['id']}"
    assert run["dataset"] == "sums"
    assert run["dataset_version"] == 1
    assert run["status"] == "queued"
    assert run["progress"] == {"total": 0, "done": 0, "errors": 0, "judging": False}
    assert run["summary"] == {"exact_match": dict.fromkeys(HEADLINE) | {"n": 0}}
    assert client.get(response["Location"]).json()["id"] == run["id"]


def test_extra_parameters_are_stored_and_shown(client: Client, configured: LoopbackServer) -> None:
    extra = {"reasoning_effort": "low", "stop": ["END"], "max_completion_tokens": 900}
    answer = post(client, request(extra=extra))
    assert answer.status_code == 201
    assert answer.json()["parameters"]["extra"] == extra
    assert (answer.json()["adjustments"], answer.json()["judge_trial"]) == ({}, None)


def test_a_trailing_slash_makes_no_difference(client: Client, configured: LoopbackServer) -> None:
    assert post(client, request(), RUNS + "/").status_code == 201


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        ({"dataset": "nothing"}, "dataset", "Choose one of: sums"),
        ({"dataset": 7}, "dataset", "valid string"),
        ({"model": "gpt-4o"}, "model", "provider/model"),
        ({"model": "nowhere/gpt-4o"}, "model", "Configured providers: baseline, loop, openai"),
        ({"model": "baseline/genius"}, "model", "reference"),
        ({"metrics": []}, "metrics", "Select at least one metric."),
        ({"metrics": ["exact"]}, "metrics", "Metric exact does not exist"),
        ({"metrics": ["contains", "contains"]}, "metrics", "more than once: contains"),
        ({"metrics": "contains"}, "metrics", "list"),
        ({"metrics": [["contains"]]}, "metrics", "valid string"),
        ({"metrics": ["faithfulness"]}, "metrics", "no task has context"),
        ({"speed": 9}, "speed", "Unknown field"),
        ({"repeats": 0}, "repeats", "greater than or equal to 1"),
        ({"repeats": "many"}, "repeats", "integer"),
        ({"temperature": 3}, "temperature", "2"),
        ({"use_cache": "perhaps"}, "use_cache", "boolean"),
        ({"judge_model": "baseline/reference", "metrics": ["correctness"]}, "judge_model", "cannot be a judge"),
        ({"judge_model": MODEL, "metrics": ["correctness"]}, "judge_model", "allow_self_judging"),
        ({"budget_usd": 1.0}, "budget_usd", "max_tokens"),
        ({"representation": "full"}, "representation", "YAML dataset"),
        ({"model": "loop/" + "m" * 300}, "model", "200"),
        ({"system_prompt": "a\x00b"}, "system_prompt", "Null"),
        ({"system_prompt": "\ud800"}, "system_prompt", "urrogate"),
        ({"extra": {"n": 2}}, "extra", "Set the repeats of the run"),
        ({"extra": ["top_k"]}, "extra", "Send an object"),
        ({"extra": {"stop": "a\x00b"}}, "extra", "not JSON"),
        ({"extra": {"max_completion_tokens": 5}, "max_tokens": 5}, "extra", "another name for max_tokens"),
        ({"prompt_template": "Answer: {question}"}, "prompt_template", "“{question}” is not a placeholder"),
    ],
)
def test_a_bad_field_is_named_with_the_valid_choices(
    client: Client, configured: LoopbackServer, change: dict[str, Any], field: str, says: str
) -> None:
    response = post(client, request(**change))
    assert response.status_code == 400
    assert says in " ".join(response.json()[field])
    assert not Run.objects.exists()


@pytest.mark.parametrize("number", ["1" + "0" * 30, "-1", "1e999", "NaN", '"NaN"', '"inf"', '"1e999"', "[1]", "true"])
@pytest.mark.parametrize(
    "field",
    [
        *("limit", "repeats", "concurrency", "seed", "max_tokens", "max_tool_steps", "max_canvases"),
        *("budget_usd", "temperature", "top_p", "target_half_width"),
    ],
)
def test_no_number_is_too_large_for_the_database(
    client: Client, configured: LoopbackServer, field: str, number: str
) -> None:
    body = f'{{"dataset": "sums", "model": "{MODEL}", "metrics": ["exact_match"], "{field}": {number}}}'
    for address in (RUNS, f"{RUNS}/plan"):
        answer = client.post(address, body, content_type="application/json")
        assert answer.status_code == 400, answer.content
        assert list(answer.json()) in ([field], ["detail"])


def test_several_mistakes_are_told_at_once(client: Client, configured: LoopbackServer) -> None:
    answer = post(client, {"dataset": "nothing", "model": "x", "metrics": ["exact"], "speed": 9}).json()
    assert set(answer) == {"dataset", "model", "metrics", "speed"}


@pytest.mark.parametrize("body", ["[]", '"text"', "7", "null", "{", "", '{"dataset": "sums", "dataset"'])
def test_a_body_that_is_no_object_is_a_400(client: Client, configured: LoopbackServer, body: str) -> None:
    assert client.post(RUNS, body, content_type="application/json").status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"a": ' * 100_000,
        b'{"dataset": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"limit": ' + b"9" * 5_000 + b"}",
        b'{"temperature": 1e999}',
        b'{"dataset": "\\ud800"}',
        b'{"system_prompt": "\\u0000"}',
        b"\xff\xfe",
        b"NaN",
    ],
    ids=["deep", "deep objects", "deep inside", "long number", "infinite", "half a sign", "NUL", "no UTF-8", "NaN"],
)
@pytest.mark.parametrize("address", [RUNS, f"{RUNS}/plan", "/api/v1/benchmarks/calibrations"])
def test_a_hostile_body_is_a_400(client: Client, configured: LoopbackServer, address: str, body: bytes) -> None:
    assert client.post(address, body, content_type="application/json").status_code == 400


def test_a_judged_metric_without_a_judge_says_what_to_set(
    client: Client, configured: LoopbackServer, settings: Any
) -> None:
    config = settings.CODEFORGE
    settings.CODEFORGE = config.model_copy(update={"judge": config.judge.model_copy(update={"model": None})})
    answer = post(client, request(metrics=["correctness"])).json()
    assert "judge.model" in answer["judge_model"][0]
    assert post(client, request(metrics=["correctness"], judge_model=JUDGE)).status_code == 201


@pytest.mark.django_db(transaction=True)
def test_results_carry_answers_scores_and_reasons(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "It is 2" if "1 + 1" in asked.prompt else None)
    dataset = make_dataset([make_task(1), make_task(2, input="[[fault:bad_request_400]]")])
    run = make_run(dataset, metrics=["contains", "exact_match"])
    work_on_run_once(run.pk)
    answer = client.get(f"{RUNS}/{run.pk}/results").json()
    assert answer["count"] == 2
    good, failed = answer["results"]
    assert good["actual_output"] == "It is 2"
    assert good["scores"]["contains"] == 1.0
    assert good["expected_output"] == "2"
    assert failed["outcome"] == "provider_error"
    assert failed["scores"] == {}
    assert failed["error_message"]
    only = client.get(f"{RUNS}/{run.pk}/results", {"outcome": "provider_error"}).json()
    assert [result["task_id"] for result in only["results"]] == ["task-2"]


@pytest.mark.django_db(transaction=True)
def test_results_say_what_the_model_and_the_judge_went_without(client: Client, endpoint: Endpoint) -> None:
    endpoint(refusing(lambda asked: VERDICT if "You judge" in asked.prompt else "2"))
    request = {"metrics": ["correctness"], "judge_model": "loop/o3", "model": "loop/gpt-5", "temperature": 0.5}
    run = make_run(make_dataset(1), **request)
    work_on_run_once(run.pk)
    (result,) = client.get(f"{RUNS}/{run.pk}/results").json()["results"]
    assert [note.split(",")[0] for note in result["notes"]] == ["temperature was not sent"]
    assert [note.split(",")[0] for note in result["judge_notes"]["correctness"]] == ["temperature was not sent"]


def test_lists_are_filtered_ordered_and_paged(client: Client, configured: LoopbackServer) -> None:
    for _ in range(3):
        post(client, request())
    post(client, request(model="baseline/reference"))
    page = client.get(RUNS, {"page_size": 2, "ordering": "id"}).json()
    assert page["count"] == 4
    assert [run["model"] for run in page["results"]] == [MODEL, MODEL]
    assert client.get(RUNS, {"model": "baseline/reference"}).json()["count"] == 1
    assert client.get(RUNS, {"status": "nonsense"}).status_code == 400
    assert client.get(RUNS, {"page": 99}).status_code == 404


def test_a_cancelled_run_can_be_resumed_and_an_ended_one_not_cancelled(
    client: Client, configured: LoopbackServer
) -> None:
    run = post(client, request()).json()
    assert client.post(f"{RUNS}/{run['id']}/cancel").json()["status"] == "cancelled"
    refused = client.post(f"{RUNS}/{run['id']}/cancel")
    assert refused.status_code == 409
    assert "can be canceled" in refused.json()["detail"]
    assert client.post(f"{RUNS}/{run['id']}/resume").status_code == 200
    assert client.get(f"{RUNS}/{run['id']}").json()["status"] == "queued"


@pytest.mark.django_db(transaction=True)
def test_errors_are_retried_budgets_raised_and_ended_runs_deleted(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: FAULTS["bad_request_400"])
    failed = make_run(make_dataset(3))
    work_on_run_once(failed.pk)
    limited = make_run(failed.dataset, budget_usd=1, max_tokens=100)
    assert client.post(f"{RUNS}/{limited.pk}/retry-failed").status_code == 409
    assert client.delete(f"{RUNS}/{limited.pk}").status_code == 409
    assert post(client, {"budget_usd": 5}, f"{RUNS}/{limited.pk}/budget").json()["budget_usd"] == 5
    assert post(client, {"budget_usd": 4}, f"{RUNS}/{limited.pk}/budget").status_code == 409
    assert post(client, {"include": True}, f"{RUNS}/{limited.pk}/doubtful-references").status_code == 409
    assert client.post(f"{RUNS}/{failed.pk}/retry-failed").json() == {"results": 3}
    client.post(f"{RUNS}/{failed.pk}/cancel")
    assert client.delete(f"{RUNS}/{failed.pk}").status_code == 204


def test_a_plan_says_what_a_run_would_take(client: Client, configured: LoopbackServer) -> None:
    plan = post(client, request(repeats=2, max_tokens=10), f"{RUNS}/plan").json()
    assert plan["requests"] == 6
    assert plan["judge_requests"] == 0
    assert 0 < plan["cost_low"] <= plan["cost_high"]
    assert not Run.objects.exists()


@pytest.mark.parametrize("run_id", ["0", "999999999999999999", "99999999999999999999999", "x"])
def test_an_unknown_run_is_a_404(client: Client, configured: LoopbackServer, run_id: str) -> None:
    assert client.get(f"{RUNS}/{run_id}").status_code == 404
    assert client.get(f"{RUNS}/{run_id}/results").status_code == 404


def test_outside_dev_mode_launching_is_refused_with_the_reason(
    client: Client, configured: LoopbackServer, settings: Any, django_user_model: Any
) -> None:
    settings.DEV_MODE = False
    settings.SECURE_SSL_REDIRECT = False
    refused = post(client, request())
    assert refused.status_code == 403
    assert "launch runs" in refused.json()["detail"]
    client.force_login(django_user_model.objects.create_superuser("root", password="x"))
    assert post(client, request()).status_code == 201


def test_datasets_and_their_tasks_are_listed(client: Client, configured: LoopbackServer) -> None:
    listed = client.get("/api/v1/benchmarks/datasets").json()["results"]
    assert [(dataset["slug"], dataset["tasks"]) for dataset in listed] == [("sums", 3)]
    assert client.get("/api/v1/benchmarks/datasets/sums").json()["versions"][0]["number"] == 1
    tasks = client.get("/api/v1/benchmarks/datasets/sums/tasks").json()["results"]
    assert [task["id"] for task in tasks] == ["task-1", "task-2", "task-3"]


def test_the_schema_and_its_page_need_no_outside_host(client: Client, db: None) -> None:
    schema = client.get("/api/schema", headers={"accept": "application/json"})
    assert schema.status_code == 200
    assert "/api/v1/benchmarks/runs" in schema.json()["paths"]
    docs = client.get("/api/docs")
    assert docs.status_code == 200
    assert b"https://" not in docs.content


def test_an_answer_as_long_as_the_context_leaves_no_room_for_a_prompt(
    client: Client, configured: LoopbackServer, settings: Any
) -> None:
    config = settings.CODEFORGE
    known = config.models[MODEL].model_copy(update={"context_length": 4096})
    settings.CODEFORGE = config.model_copy(update={"models": {**config.models, MODEL: known}})
    assert "4,096" in post(client, request(max_tokens=4096)).json()["max_tokens"][0]
    assert post(client, request(max_tokens=4000)).status_code == 201
