"""A parameter that is added to the list of run parameters appears wherever parameters do."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from benchmarks.engine.execution.reply_cache import sent_parameters
from benchmarks.management.commands.benchmark import Command
from benchmarks.models import Run
from benchmarks.run_parameters import RUN_PARAMETERS, Decides, Group, Kind, RunParameter, settings_shown
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.runs.start import request_of, start_run
from benchmarks.services.schedules import save_schedule
from frontend.view_models import settings_of
from tests.support.factories import make_dataset

pytestmark = pytest.mark.django_db
RUNS = "/api/v1/benchmarks/runs"
REQUEST = {"dataset": "sums", "model": "baseline/reference", "metrics": ["exact_match"]}
TOY = RunParameter(
    "toy_penalty",
    "Toy penalty",
    Kind.NUMBER,
    Group.PROMPT,
    hint="Between 0 and 3",
    least=0,
    most=3,
    sent=True,
    decides=Decides.ANSWER,
)


@pytest.fixture(autouse=True)
def _toy(monkeypatch: pytest.MonkeyPatch) -> None:
    make_dataset(2, slug="sums")
    monkeypatch.setitem(RUN_PARAMETERS, TOY.name, TOY)


def test_a_new_parameter_is_in_the_api_and_stored_with_the_run(client: Client) -> None:
    answer = client.post(RUNS, json.dumps({**REQUEST, "toy_penalty": 1.5}), content_type="application/json")
    assert answer.status_code == 201, answer.content
    assert answer.json()["parameters"]["toy_penalty"] == 1.5
    run = Run.objects.get()
    assert request_of(run)["toy_penalty"] == 1.5
    assert ("Toy penalty", "1.5") in settings_of(run)
    assert "toy_penalty" in sent_parameters()
    refused = client.post(RUNS, json.dumps({**REQUEST, "toy_penalty": 9}), content_type="application/json")
    assert list(refused.json()) == ["toy_penalty"]


def test_a_new_parameter_is_in_the_schema_of_the_api() -> None:
    schema = SchemaGenerator().get_schema(request=None, public=True)
    field = schema["components"]["schemas"]["RunRequest"]["properties"]["toy_penalty"]
    assert (field["minimum"], field["maximum"], field["description"]) == (0, 3, "Between 0 and 3")


def test_a_new_parameter_is_on_the_form_with_its_hint_and_its_errors(client: Client) -> None:
    html = client.get("/runs/new/").content.decode()
    assert '<label for="id_toy_penalty">Toy penalty</label>' in html
    assert "Between 0 and 3" in html
    client.post("/runs/new/", {**REQUEST, "toy_penalty": "2"})
    run = Run.objects.get()
    assert run.parameters["toy_penalty"] == 2
    assert 'name="toy_penalty" value="2' in client.get(f"/runs/new/?like={run.pk}").content.decode()
    refused = client.post("/runs/new/", {**REQUEST, "toy_penalty": "much"})
    assert "toy_penalty" in refused.context["form"].errors


def test_a_new_parameter_is_an_option_of_the_command() -> None:
    output = StringIO()
    arguments = ["sums", "--model", "baseline/reference", "--metrics", "exact_match", "--toy-penalty", "0.5"]
    call_command(Command(), "run", *arguments, "--detach", stdout=output)
    assert Run.objects.get().parameters["toy_penalty"] == 0.5


def test_a_new_parameter_is_kept_by_a_schedule() -> None:
    schedule = save_schedule("nightly", "03:00", {**REQUEST, "toy_penalty": 3})
    assert schedule.request["toy_penalty"] == 3
    with pytest.raises(InvalidRequest, match="toy_penalty"):
        save_schedule("weekly", "03:00", {**REQUEST, "toy_penalty": 4})


def test_settings_show_every_parameter_that_applies_to_the_run() -> None:
    run = start_run({**REQUEST, "budget_usd": None, "max_tokens": 20})
    shown = dict(settings_shown(run))
    assert shown["Max output tokens"] == "20"
    assert shown["Metrics"] == "exact_match"
    assert (shown["Self-judged"], shown["Budget (USD)"], shown["Temperature"]) == ("No", "None", "Not set")
    assert "Representation" not in shown
    run.representation, run.task_classes, run.max_canvases = "full", ["count"], None
    shown = dict(settings_shown(run))
    assert (shown["Task classes"], shown["Max canvases"]) == ("count", "Existing canvases only")
