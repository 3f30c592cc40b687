"""What programs read, and the numbers of six runs, do not change unnoticed: ``tests/snapshots`` has them as they were.

The runs are plain, judged, on canvases, repeated, imported and adaptive.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.models import Dataset, Run
from benchmarks.services.canvas_sets.control import generate_canvas_set
from benchmarks.services.imports import import_runs
from benchmarks.services.runs.start import start_run
from tests.loopback.replies import Asked, Reply
from tests.support.factories import MODEL, make_dataset, make_task
from tests.support.running import VERDICT, Endpoint
from tests.support.snapshots import check

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / "benchmarks" / "imports" / "tests" / "tool_logs"

pytestmark = pytest.mark.django_db(transaction=True, reset_sequences=True)


def replies(asked: Asked) -> Reply | str:
    """Right, wrong, half right, cut off, refused and empty answers; a judge that is content with most of them."""
    if asked.body["model"] == "judge":
        lenient = "Task 3" not in asked.prompt and "6" not in asked.prompt
        return VERDICT if lenient else '{"score": 4, "reason": "incomplete"}'
    number = int(asked.prompt.split("What is ")[1].split()[0])
    seed = asked.body.get("seed") or 0
    kinds: list[Reply | str] = [
        str(2 * number),
        f"It is {2 * number}.",
        str(2 * number + 1),
        Reply("It is", finish_reason="length"),
        Reply(None, refusal="I cannot help with that."),
        "",
    ]
    return kinds[(number + seed) % len(kinds)]


def sums(**fields: Any) -> Dataset:
    levels = ("easy", "medium", "hard")
    tasks = [make_task(number, difficulty=levels[number % 3], tags=(f"t{number % 2}",)) for number in range(1, 13)]
    return make_dataset(tasks, **fields)


def executed(**request: Any) -> Run:
    run = start_run({"concurrency": 1, **request})
    while work_on_run_once(run.pk):
        pass
    run.refresh_from_db()
    return run


def canvases(count: int = 6) -> str:
    canvas_set = generate_canvas_set({"shapes": "5-7", "count": count, "seed": 11})
    return Dataset.objects.get(canvas_set=canvas_set).slug


def plain() -> Run:
    return executed(dataset=sums().slug, model=MODEL, metrics=["exact_match", "token_f1", "levenshtein"])


def judged() -> Run:
    metrics = ["correctness", "exact_match"]
    return executed(dataset=sums().slug, model=MODEL, metrics=metrics, judge_model="loop/judge", judge_repeats=2)


def on_canvases() -> Run:
    return executed(dataset=canvases(), model="baseline/random", seed=5)


def repeated() -> Run:
    return executed(dataset=sums().slug, model=MODEL, metrics=["exact_match"], repeats=3, seed=7, temperature=1)


def imported() -> Run:
    return import_runs(LOGS / "inspect_unscored.eval")[0].run


def adaptive() -> Run:
    return executed(
        dataset=canvases(3),
        model="baseline/random",
        target_half_width=0.25,
        max_canvases=60,
        tasks=["existence", "coordinate"],
    )


RUNS: dict[str, Callable[[], Run]] = {
    "plain": plain,
    "judged": judged,
    "canvases": on_canvases,
    "repeats": repeated,
    "imported": imported,
    "adaptive": adaptive,
}


@pytest.fixture
def model(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    endpoint(replies)


def printed(*command: Any) -> Any:
    out = StringIO()
    with suppress(SystemExit):  # a run with errors has an exit code of its own
        call_command(*map(str, command), "--json", stdout=out, stderr=StringIO())
    return json.loads(out.getvalue())


def served(path: str) -> Any:
    response = Client().get(f"/api/v1/benchmarks{path}")
    assert response.status_code == 200, response.content
    return response.json()


@pytest.mark.parametrize("kind", RUNS)
@pytest.mark.usefixtures("model")
def test_the_numbers_of_a_run_and_what_programs_read_of_it_stay(kind: str) -> None:
    run = RUNS[kind]()
    check(f"runs/{kind}/summary", {"summary": run.summary, "breakdown": run.breakdown})
    check(f"runs/{kind}/show", printed("benchmark", "show", run.pk))
    check(f"runs/{kind}/run", served(f"/runs/{run.pk}"))
    check(f"runs/{kind}/results", served(f"/runs/{run.pk}/results"))
    check(f"runs/{kind}/statistics", served(f"/runs/{run.pk}/statistics"))


@pytest.mark.usefixtures("model")
def test_what_commands_and_the_api_list_stays() -> None:
    first = plain()
    second = executed(dataset="sums", model="baseline/majority", metrics=["exact_match"])
    executed(dataset=canvases(3), model="baseline/solver", tasks=["existence"])
    commands = {
        "list": ("benchmark", "list"),
        "compare": ("benchmark", "compare", first.pk, second.pk),
        "plan": ("benchmark", "plan", "sums", "--model", MODEL, "--metrics", "exact_match"),
        "verify": ("benchmark", "verify", first.pk),
        "edit": ("benchmark", "edit", first.pk, "--name", "A name"),
        "datasets": ("datasets", "list"),
        "presets": ("datasets", "presets"),
        "dataset": ("datasets", "export", "sums"),
        "canvases": ("canvases", "list"),
        "providers": ("providers", "list"),
        "reviews": ("review", "list"),
    }
    for name, command in commands.items():
        check(f"commands/{name}", printed(*command))
    addresses = {
        "runs": "/runs",
        "datasets": "/datasets",
        "dataset": "/datasets/sums",
        "leaderboard": "/leaderboard",
        "history": "/history",
        "metrics": "/metrics",
        "providers": "/providers",
        "compare": f"/compare?runs={first.pk},{second.pk}",
    }
    for name, path in addresses.items():
        check(f"api/{name}", served(path))


def test_no_body_in_json_has_further_fields() -> None:
    schema = SchemaGenerator().get_schema(request=None, public=True)
    operations = [operation for path in schema["paths"].values() for operation in path.values()]
    bodies = [each["requestBody"]["content"].get("application/json") for each in operations if "requestBody" in each]
    names = [body["schema"]["$ref"].rsplit("/", 1)[-1] for body in bodies if body and "$ref" in body["schema"]]
    assert len(names) > 20
    parts = schema["components"]["schemas"]
    assert [name for name in names if parts[name].get("additionalProperties") is not False] == []


def test_the_schema_of_the_api_stays() -> None:
    check("api/openapi", SchemaGenerator().get_schema(request=None, public=True))
