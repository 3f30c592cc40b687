"""An experiment from the form to its matrix, with real processes and a worker that is killed in the middle."""

from __future__ import annotations

import hashlib
import http.cookiejar
import json
import re
import urllib.parse
import urllib.request
from itertools import combinations
from typing import Any

import pytest

from benchmarks.statistics.intervals import mean_interval
from benchmarks.statistics.paired import compare, holm
from tests.loopback.hosting import serve
from tests.loopback.replies import Asked
from tests.support.stacks import BOTH, Site, kill, site

pytestmark = pytest.mark.slow
SKILLS = {"huge": 95, "large": 85, "medium": 60, "small": 30, "tiny": 25}
VARIANTS = {"plain": "{input}", "stepwise": "{input} Think step by step.", "short": "{input} Be short."}
DATASETS = {"sums": 40, "more": 30}
ROWS = """
import json
from benchmarks.models import Result
fields = ("run__model", "run__variant", "run__dataset__slug", "task__task_id", "value")
print(json.dumps(list(Result.objects.order_by("run", "position").values_list(*fields))))
"""


def answer(asked: Asked) -> str:
    """The sum, as often as the skill of the model says; thinking helps, being short does not."""
    model, number = asked.body["model"], int(re.findall(r"What is (\d+)", asked.prompt)[0])
    skill = SKILLS[model] + (10 if "Think" in asked.prompt else -10 if "short" in asked.prompt else 0)
    drawn = int(hashlib.sha256(f"{model} {asked.prompt}".encode()).hexdigest(), 16) % 100
    return str(2 * number if drawn < skill else number)


def launch(address: str) -> int:
    """Fill in the form as a browser does, and return the number of the experiment."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
    page = opener.open(f"{address}/runs/new/").read().decode()
    [token] = set(re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page.partition("new/plan/")[2]))
    fields = [
        *(("csrfmiddlewaretoken", token), ("name", "Killed"), ("metrics", "exact_match"), ("concurrency", "4")),
        *(("model", f"loop/{model}") for model in SKILLS),
        *(("dataset", slug) for slug in DATASETS),
    ]
    for place, (name, template) in enumerate(VARIANTS.items()):
        fields += [(f"variant-{place}-name", name), (f"variant-{place}-prompt_template", template)]
    started = opener.open(f"{address}/runs/new/", urllib.parse.urlencode(fields).encode())
    return int(re.findall(r"/experiments/(\d+)/$", started.url)[0])


def experiment_of(here: Site, pk: int, dataset: str = "") -> dict[str, Any]:
    return here.stack.get(f"/api/v1/benchmarks/experiments/{pk}?dataset={dataset}")


@pytest.mark.parametrize("kind", BOTH)
def test_five_models_three_variants_and_two_datasets_survive_a_killed_worker(kind: str) -> None:
    total = sum(DATASETS.values()) * len(SKILLS) * len(VARIANTS)
    with serve(answer, delay_ms=20.0) as server, site(kind, served=server.url) as here:
        for slug, tasks in DATASETS.items():
            here.stack.write_sums(slug, tasks)
        here.stack.manage("datasets", "sync")
        here.stack.start_web()
        worker = here.stack.start_worker()
        pk = launch(here.stack.address)
        here.stack.wait_until(lambda: experiment_of(here, pk)["progress"]["done"] >= total // 3, "a third is done", 120)
        kill(worker)
        assert experiment_of(here, pk)["progress"]["done"] < total
        server.delay_ms = 0.0
        here.stack.start_worker()
        here.stack.wait_until(lambda: experiment_of(here, pk)["status"] == "completed", "all runs have ended", 180)
        found, alone = experiment_of(here, pk), experiment_of(here, pk, "sums")
        rows = json.loads(here.stack.manage("shell", "--no-imports", "-c", ROWS))
    assert found["progress"] == {"total": total, "done": total, "errors": 0, "judging": False}
    assert len(found["matrix"]) == len(rows) // 35 == 30
    scores: dict[tuple[str, str, str], dict[str, float]] = {}
    for model, variant, dataset, task, value in rows:
        assert task not in scores.setdefault((model, variant, dataset), {}), "a task is stored once"
        scores[model, variant, dataset][task] = value
    for cell in found["matrix"]:
        own = scores[cell["model"], cell["variant"], cell["dataset"]]
        interval = mean_interval(list(own.values()))
        assert cell["n"] == cell["total"] == len(own) == DATASETS[cell["dataset"]]
        for name in ("mean", "low", "high"):
            assert cell[name] == pytest.approx(getattr(interval, name), abs=1e-4)
        asked = VARIANTS[cell["variant"]]
        right = [
            answer(Asked(asked.format(input=f"What is {n} + {n}?"), {"model": cell["model"].partition("/")[2]}, 1))
            for n in range(1, len(own) + 1)
        ]
        assert sum(own.values()) == sum(text == str(2 * n) for n, text in enumerate(right, 1)), "what the script says"
    check_groups(alone["matrix"], scores)


def check_groups(matrix: list[dict[str, Any]], scores: dict[tuple[str, str, str], dict[str, float]]) -> None:
    """Candidates share a letter exactly if Holm's test of all pairs does not separate them; ranks follow from that."""
    of_cell = [scores[cell["model"], cell["variant"], "sums"] for cell in matrix]
    pairs = list(combinations(range(len(matrix)), 2))
    p_values = [compare(of_cell[a], of_cell[b]).p_value for a, b in pairs]
    separated = dict(zip(pairs, [p <= 0.05 for p in holm([p or 0.0 for p in p_values])], strict=True))
    assert 0 < sum(separated.values()) < len(pairs)
    better = [0] * len(matrix)
    for (a, b), is_separated in separated.items():
        letters = [set(matrix[place]["group"].split()) for place in (a, b)]
        assert bool(letters[0] & letters[1]) == (not is_separated)
        if is_separated:
            better[b if matrix[a]["mean"] > matrix[b]["mean"] else a] += 1
    assert [cell["rank"][0] for cell in matrix] == [1 + count for count in better]
