"""The examples of ``docs/api.md`` are sent, and answered as the page says; it names paths that exist."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from drf_spectacular.generators import SchemaGenerator
from pages import ROOT, blocks, headings, page, section

from benchmarks.dataset_format.parsing import parse_dataset
from benchmarks.engine.execution import model_clients
from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.models import DatasetVersion, PushedRun, Run
from benchmarks.services.access import assign_group, create_token
from benchmarks.services.canvas_sets.control import generate_canvas_set
from benchmarks.services.datasets.versions import import_dataset
from benchmarks.services.pushes.receiving import add_results, open_push
from benchmarks.services.runs.start import start_run
from codeforge.config import load_config
from tasks_app.models import CanvasSet
from tests.loopback.hosting import serve
from tests.loopback.replies import Asked, Reply
from tests.support.factories import make_dataset
from tests.support.page_factories import make_scored_run

PAGE = page("docs/api.md")
EXACT = frozenset({"status", "model", "dataset", "slug", "judge_model", "wanted", "requests"})
"""Fields whose value the page gives as it is; of the others it shows the kind."""
ADDRESS = "http://localhost:8080"


@pytest.fixture
def installed(settings: Any, transactional_db: None) -> Iterator[None]:
    """The shipped configuration and one of its datasets; the provider ``openai`` is a server on loopback."""
    parsed = parse_dataset((ROOT / "datasets/basic-coding.yaml").read_bytes(), "basic-coding.yaml")
    assert parsed.spec
    import_dataset(parsed.spec, "basic-coding", DatasetVersion.Origin.FILE)
    with serve(answer) as server:
        settings.CODEFORGE = load_config(ROOT / "codeforge.yaml", {"OPENAI_BASE_URL": server.url})
        model_clients.forget()
        yield
    model_clients.forget()


def answer(asked: Asked) -> Reply | None:
    """The loopback endpoint's own verdict if JSON is wanted, otherwise some answer."""
    return None if asked.body.get("response_format") else Reply("pass")


def judged() -> Run:
    run = start_run({"dataset": "basic-coding", "model": "openai/gpt-4o", "metrics": ["correctness"]})
    work_on_run_once(run.pk)
    return run


def canvases() -> CanvasSet:
    return generate_canvas_set({"shapes": "3-12", "count": 10, "seed": 11})


def compared() -> None:
    sums = make_dataset(3)
    for pk in (12, 13, 14):
        make_scored_run(sums, (1.0, 0.0, 1.0), pk=pk, model=f"a/{pk}")


def opened() -> PushedRun:
    pushed = open_push({"model": "openai/gpt-4o", "dataset_name": "Capitals", "metrics": ["accuracy"]})
    return pushed


def received() -> PushedRun:
    pushed = opened()
    asked = ({"key": str(score), "input": f"Question {score}", "scores": {"accuracy": score}} for score in (0, 1))
    add_results(pushed.pk, {"results": [*asked]})
    return pushed


BEFORE: dict[str, Callable[[], Any]] = {
    "### Follow": judged,
    "### Results": judged,
    "### Send results": opened,
    "### Close": received,
    "### Calibrate a judge": canvases,
    "### Compare answers": compared,
}
"""Heading → what its examples are about."""

WITH_EXAMPLES = [heading for heading in headings(PAGE) if heading.startswith("### ")]


@pytest.mark.parametrize("heading", WITH_EXAMPLES)
def test_an_example_is_answered_as_the_page_says(heading: str, client: Client, installed: None) -> None:
    text = section(PAGE, heading)
    about = BEFORE[heading]() if heading in BEFORE else None
    calls = [block.text for block in blocks(text, "sh")]
    statuses = [int(code) for code in re.findall(r"Answers `(\d{3})`", text)]
    answers = [json.loads(block.text) for block in blocks(text, "json")] or [None]
    assert calls
    assert len(calls) == len(statuses) == len(answers)
    for call, status, told in zip(calls, statuses, answers, strict=True):
        response = send(client, call, about)
        assert response.status_code == status, response.content
        if status in (201, 202):
            assert response["Location"].startswith("http://")
        if told is not None:
            assert_like(told, response.json())


def test_a_token_lets_a_program_in_as_the_page_says(client: Client, installed: None, settings: Any) -> None:
    settings.DEV_MODE = settings.SECURE_SSL_REDIRECT = False
    account = User.objects.create_user("robot")
    assign_group(account, "runner")
    _, token = create_token(account, "nightly", ["read", "launch"])
    call = blocks(PAGE, "sh")[0].text.replace("cfb_…", token).replace("https://bench.example.com", ADDRESS)
    assert "Authorization: Bearer" in call
    assert send(client, call, None).status_code == 201
    assert send(client, call.replace(token, "cfb_guessed"), None).status_code == 401
    assert send(client, call.replace("Authorization", "X-Nothing"), None).status_code in (401, 403)


def send(client: Client, call: str, about: Any) -> Any:
    words = shlex.split(call.replace("\\\n", " "))
    assert words[0] == "curl"
    method = words[words.index("-X") + 1] if "-X" in words else "GET"
    body = words[words.index("-d") + 1] if "-d" in words else ""
    address = next(word for word in words if word.startswith(ADDRESS)).removeprefix(ADDRESS)
    if isinstance(about, PushedRun):
        address = address.replace("/imports/runs/1/", f"/imports/runs/{about.pk}/")
    if isinstance(about, Run):
        address = address.replace("/runs/12", f"/runs/{about.pk}")
    given = [word.split(": ") for flag, word in itertools.pairwise(words) if flag == "-H"]
    headers = {name: value for name, value in given if name != "Content-Type"}
    return client.generic(method, address, body, content_type="application/json", headers=headers)


def assert_like(told: Any, got: Any, place: str = "answer") -> None:
    """Every key that the page shows is there, and its value is of the kind shown; lists are judged by their first."""
    if isinstance(told, dict):
        assert isinstance(got, dict), place
        for key, value in told.items():
            if place.endswith("outcomes"):
                assert set(map(type, got.values())) == {int}, place
                continue
            assert key in got, f"{place} has no {key}"
            assert_like(value, got[key], f"{place}.{key}")
    elif isinstance(told, list):
        assert isinstance(got, list), place
        if told:
            assert got, f"{place} is empty"
            assert_like(told[0], got[0], f"{place}[0]")
    elif isinstance(told, float):
        assert isinstance(got, float | int), f"{place} is {got!r}"
    else:
        assert type(got) is type(told), f"{place} is {got!r}"
        assert place.rpartition(".")[2] not in EXACT or got == told, place


def test_every_path_that_the_page_names_is_in_the_schema() -> None:
    paths = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    patterns = [re.compile(re.sub(r"\{\w+\}", "[^/]+", path) + "$") for path in paths]
    named = re.findall(r"(/api/v1/benchmarks/[\w/-]+)", PAGE)
    named += [f"/api/v1/benchmarks{path}" for path in re.findall(r"`(?:GET|POST) (/[\w/{}-]+)`", PAGE)]
    assert len(named) > 10
    assert [path for path in named if not any(pattern.match(path) for pattern in patterns)] == []
