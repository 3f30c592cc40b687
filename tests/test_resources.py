"""What a command prints with ``--json`` is what the API returns, but for keys that the command names beside it."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.models import Run
from benchmarks.services.canvas_sets.control import generate_canvas_set
from benchmarks.services.experiments.start import start_experiment
from benchmarks.services.gates import gate
from benchmarks.services.judges import start_calibration
from benchmarks.services.labels import label_result
from benchmarks.services.preferences import start_preference
from benchmarks.services.reviews.queues import create_review
from benchmarks.services.runs.start import start_run
from tests.loopback.replies import Asked
from tests.support.factories import JUDGE, MODEL, make_dataset
from tests.support.running import VERDICT, Endpoint

REQUEST = {"dataset": "sums", "model": MODEL, "metrics": ["exact_match"]}
LEVENSHTEIN = {"metrics": ["levenshtein"]}
PREFERENCE = {"judge_model": JUDGE, "runs": ["{run}", "{other}"]}
OPTIONS = ("sums", "--model", MODEL, "--metrics", "exact_match")

pytestmark = pytest.mark.django_db(transaction=True)


@dataclass(frozen=True)
class Pair:
    """A command and the address with the same JSON. ``beside`` are keys of the command only; a command prints the
    ``results`` of a page."""

    command: str
    address: str
    beside: tuple[str, ...] = ()
    body: dict[str, Any] | None = None
    in_list: bool = False
    """The command prints a list with the one."""


PAIRS = (
    Pair("benchmark list", "/runs"),
    Pair("benchmark show {run}", "/runs/{run}", ("statistics", "gates", "comparisons")),
    Pair("benchmark edit {run} --pin", "/runs/{run}"),
    Pair("benchmark compare {run} {other}", "/compare?runs={run},{other}"),
    Pair("benchmark plan {options}", "/runs/plan", body=REQUEST),
    Pair("benchmark plan {options} --to-see 5", "/plan", body={**REQUEST, "to_see": 5}),
    Pair("benchmark rescore {run} --plan --metrics levenshtein", "/runs/{run}/rescore/plan", body=LEVENSHTEIN),
    Pair("benchmark series", "/gates"),
    Pair("benchmark series release", "/gates/release"),
    Pair("benchmark experiment list", "/experiments"),
    Pair("benchmark experiment show {experiment}", "/experiments/{experiment}"),
    Pair("datasets list", "/datasets"),
    Pair("datasets show sums", "/datasets/sums"),
    Pair("canvases list", "/canvas-sets"),
    Pair("canvases show {canvas_set}", "/canvas-sets/{canvas_set}"),
    Pair("canvases audit {canvas_set}", "/canvas-sets/{canvas_set}"),
    Pair("providers list", "/providers"),
    Pair("providers show loop", "/providers/loop"),
    Pair("providers test loop/model", "/providers/loop", ("test",)),
    Pair("providers check loop", "/providers/loop", in_list=True),
    Pair("providers check", "/providers"),
    Pair("review list", "/reviews"),
    Pair("review show {review}", "/reviews/{review}", ("alpha",)),
    Pair("review labels {result}", "/results/{result}/labels"),
    Pair("judge list", "/calibrations"),
    Pair("judge show {calibration}", "/calibrations/{calibration}"),
    Pair("preference compare {run} {other} --judge loop/judge --plan", "/preferences/plan", body=PREFERENCE),
    Pair("preference list", "/preferences"),
    Pair("preference show {preference}", "/preferences/{preference}"),
)


def replies(asked: Asked) -> str:
    if asked.body["model"] != "judge":
        return "2"
    return '{"verdict": "A", "reason": "shorter"}' if "ANSWER" in asked.prompt else VERDICT


def worked(run: Run) -> int:
    while work_on_run_once(run.pk):
        pass
    return run.pk


@pytest.fixture
def names(endpoint: Endpoint, settings: Any) -> Callable[[str], str]:
    """One of each resource; fills their ids into a command or an address."""
    settings.CSRF_TRUSTED_ORIGINS = ["http://testserver"]
    endpoint(replies)
    make_dataset(3)
    first, other = (start_run({**REQUEST, "concurrency": 1}) for _ in range(2))
    runs = [worked(first), worked(other)]
    gate(Run.objects.get(pk=first.pk), {"against": other.pk, "series": "release"})
    experiment = start_experiment({"name": "Both", "datasets": ["sums"], "models": [MODEL], "metrics": ["exact_match"]})
    list(map(worked, experiment.runs.all()))
    canvas_set = generate_canvas_set({"shapes": "5", "count": 4, "seed": 11})
    calibration = start_calibration({"judge_model": JUDGE, "canvas_set": canvas_set.slug, "questions": 12})
    preference = start_preference({"judge_model": JUDGE, "runs": runs})
    request = {"name": "Sums", "metric": "exact_match", "size": 2, "overlap": 0, "blind": False}
    review = create_review({**request, "runs": runs[:1]})
    result = first.results.order_by("pk")[0]
    for value in (0, 1):
        label_result(result, {"metric": "exact_match", "value": value})
    ids = {
        **{"run": runs[0], "other": runs[1], "experiment": experiment.pk, "canvas_set": canvas_set.slug},
        **{"calibration": worked(calibration), "preference": worked(preference), "review": review.pk},
        **{"result": result.pk, "options": " ".join(OPTIONS)},
    }
    return lambda text: text.format(**ids)


def printed(command: str) -> Any:
    out = StringIO()
    with suppress(SystemExit):
        call_command(*command.split(), "--json", stdout=out, stderr=StringIO())
    return json.loads(out.getvalue())


def served(client: Client, pair: Pair, names: Callable[[str], str]) -> Any:
    path = f"/api/v1/benchmarks{names(pair.address)}"
    if pair.body is None:
        response = client.get(path)
    else:
        body = pair.body | {"runs": list(map(names, pair.body.get("runs", [])))} if "runs" in pair.body else pair.body
        response = client.post(path, json.dumps(body), content_type="application/json")
    assert response.status_code == 200, response.content
    found = response.json()
    return found["results"] if isinstance(found, dict) and "results" in found else found


def test_a_command_prints_what_the_api_returns(names: Callable[[str], str], client: Client) -> None:
    for pair in PAIRS:
        told, found = printed(names(pair.command)), served(client, pair, names)
        told = told[0] if pair.in_list else told
        for key in pair.beside:
            assert key not in found, f"{pair.command}: {key} is in the API, too"
            del told[key]
        assert told == found, pair.command
