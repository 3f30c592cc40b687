"""Upgrades from every release: filled through its API by its own code, migrated in place, every number compared.

``CODEFORGE_UPGRADE_RESULTS=100000`` fills that many results, and prints how long the upgrade takes.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.loopback.hosting import serve
from tests.loopback.replies import Asked
from tests.support import services
from tests.support.differences import lost
from tests.support.releases import RELEASES, install_release
from tests.support.stack import Code, installed
from tests.support.stacks import BOTH, SERVICES, Site, site

pytestmark = pytest.mark.slow

API = "/api/v1/benchmarks"
RESULTS = int(os.environ.get("CODEFORGE_UPGRADE_RESULTS", "300"))
SUMS = 100
MEANT = re.compile(r"^[^:]*(sentence|verdict|detectable_difference): ")
"""Fields whose words are other ones in this version, whose numbers have fields of their own; and the difference that
can be detected, which allows for the steps of the exact test now."""
ENDED = ("completed", "completed_with_errors", "failed", "cancelled")


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Code:
    return install_release(request.param, tmp_path_factory.mktemp(f"release-{request.param}"))


@pytest.mark.parametrize("kind", BOTH)
def test_an_upgrade_in_place_keeps_every_number(release: Code, kind: str, tmp_path: Path) -> None:
    with serve(script=answers) as endpoint, site(kind, served=endpoint.url, code=release) as place:
        fill(place)
        before = numbers(place)
        place.stack.stop()

        place.stack.code = Code()
        planned = place.stack.manage("migrate", "--dry-run")
        began = time.monotonic()
        place.stack.manage("migrate", "--verbosity", "0")
        print(f"{kind}: {planned}\nMigrated in {time.monotonic() - began:.1f} s, the start of the command included.")
        place.stack.start_web()
        place.stack.start_worker()  # computes again what a migration has marked
        settle(place)
        assert [each for each in lost(before, numbers(place)) if not MEANT.search(each)] == []
        place.stack.stop()

        place.stack.manage("backup", str(tmp_path / "later.zip"))
        place.stack.code = release
        with pytest.raises(RuntimeError, match=r"after the migration \S+, which this database does not have"):
            earlier_database(place, kind, tmp_path / "later.zip")


def answers(asked: Asked) -> str | None:
    """Of ``loop/good`` most sums are right, of ``loop/fair`` every second one; the judge answers by default."""
    found = re.search(r"What is (\d+) \+", asked.prompt)
    wrong_every = {"good": 7, "fair": 2}.get(asked.body["model"])
    if not found or not wrong_every:
        return None
    number = int(found[1])
    return str(2 * number + (number % wrong_every == 0))


def earlier_database(place: Site, kind: str, backup: Path) -> None:
    """Restore the backup into an empty database of the release."""
    with services.postgres_database() if kind == SERVICES else nullcontext() as database:
        extra = {"DATABASE_URL": database} if database else {}
        with installed(place.url, extra, code=place.stack.code) as stack:
            stack.manage("restore", str(backup))


def fill(place: Site) -> None:
    """Runs of every kind that the first release knows, with labels, through the API; all have ended then."""
    stack = place.stack
    many = max(SUMS, RESULTS // 100)
    stack.write_sums("sums", SUMS)
    stack.write_sums("many", many)
    stack.manage("datasets", "sync")
    stack.start_web()
    stack.start_worker()
    asked = {"dataset": "sums", "metrics": ["exact_match"], "concurrency": 32}
    repeated = {"dataset": "many", "model": "loop/good", "repeats": max(RESULTS // many, 1), "tags": ["big"]}
    start(place, "/runs", asked | repeated)
    model = start(place, "/runs", asked | {"model": "loop/good", "metrics": ["token_f1", "exact_match"], "seed": 3})
    judged = asked | {"metrics": ["correctness", "exact_match"], "judge_model": "loop/judge", "limit": 12}
    start(place, "/runs", judged | {"model": "loop/good"})
    start(place, "/runs", asked | {"model": "loop/good", "repeats": 3, "seed": 7, "temperature": 1, "limit": 10})
    fair = start(place, "/runs", asked | {"model": "loop/fair"})
    stack.post(f"{API}/canvas-sets", {"shapes": "3-6", "count": 12, "seed": 11, "name": "squares"})
    stack.wait_until(lambda: "squares" in slugs(place), "the canvases are there")
    start(place, "/runs", {"dataset": "squares", "model": "baseline/random", "metrics": ["task_score"], "seed": 5})
    experiment = {"name": "Two", "datasets": ["sums"], "models": ["loop/fair", "loop/good"], "limit": 20}
    stack.post(f"{API}/experiments", experiment | {"metrics": ["exact_match"]})
    settle(place)
    stack.post(f"{API}/runs/{model}/rescore", {"metrics": ["contains"]})
    stack.post(f"{API}/preferences", {"runs": [fair, model], "judge_model": "loop/judge", "tasks": 10})
    calibration = {"judge_model": "loop/judge", "canvas_set": "squares", "questions": 15}
    stack.post(f"{API}/calibrations", calibration)
    push(place)
    result = stack.get(f"{API}/runs/{model}/results")["results"][0]["id"]
    stack.post(f"{API}/results/{result}/labels", {"metric": "exact_match", "value": 1})
    settle(place)


def start(place: Site, path: str, request: dict[str, Any]) -> int:
    return int(place.stack.post(API + path, request)["id"])


def push(place: Site) -> None:
    opened = {"model": "openai/gpt-4o", "dataset_name": "Capitals", "metrics": ["accuracy"], "expected": 2}
    run = start(place, "/imports/runs", opened)
    results = [
        {
            "key": f"c{n}",
            "task_id": f"c{n}",
            "input": f"Capital of {n}?",
            "expected_output": "x",
            "answer": "x",
            "scores": {"accuracy": n},
        }
        for n in (0, 1)
    ]
    place.stack.post(f"{API}/imports/runs/{run}/results", {"results": results})
    place.stack.post(f"{API}/imports/runs/{run}/close", {"count": 2, "means": {"accuracy": 0.5}})


def slugs(place: Site) -> list[str]:
    return [each["slug"] for each in place.stack.get(f"{API}/datasets")["results"] if each["tasks"]]


def settle(place: Site) -> None:
    """Wait until every run has ended and has its numbers."""

    def ended() -> bool:
        lists = ("/runs", "/preferences", "/calibrations")
        return all(each["status"] in ENDED for path in lists for each in listed(place, path))

    place.stack.wait_until(ended, "all runs have ended", 60 + RESULTS / 200)


def listed(place: Site, path: str) -> Iterator[Any]:
    page: str | None = f"{API}{path}{'&' if '?' in path else '?'}page_size=500"
    while page:
        answer = place.stack.get(page)
        yield from answer["results"]
        page = answer["next"] and "/" + answer["next"].split("/", 3)[3]


def numbers(place: Site) -> dict[str, Any]:
    """What the API serves, but for leaderboards and analyses, whose runs are chosen by rules of the version."""
    read: dict[str, Any] = {}
    for path in ("/runs", "/datasets", "/experiments", "/preferences", "/calibrations", "/canvas-sets"):
        read[path] = list(listed(place, path))
    runs = [each["id"] for each in read["/runs"]]
    for run in runs:
        for part in ("", "/statistics"):
            read[f"/runs/{run}{part}"] = place.stack.get(f"{API}/runs/{run}{part}")
        read[f"/runs/{run}/results"] = list(listed(place, f"/runs/{run}/results"))
    for slug in slugs(place):
        read[f"/datasets/{slug}/tasks"] = list(listed(place, f"/datasets/{slug}/tasks"))
    for path in ("/experiments/1", f"/compare?runs={runs[-2]},{runs[-5]}"):
        read[path] = place.stack.get(API + path)
    read = json.loads(json.dumps(read).replace(place.stack.address, ""))  # its port is another after the upgrade
    return read
