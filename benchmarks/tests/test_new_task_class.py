"""A task class added as its README says appears everywhere by itself: in sets, runs, the API and the pages.

In a copy of the project, because adding one changes its files.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tasks_app.tasks.tests.test_readme import follow_readme

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
COPIED = ("codeforge", "frontend", "benchmarks", "datasets", "manage.py", "codeforge.yaml")
RUNS = "/api/v1/benchmarks/runs"

SCRIPT = """
import json
import django
django.setup()
from django.core.management import call_command
from django.test import Client
from benchmarks.engine.execution.dispatch import work_on_run_once
call_command("migrate", verbosity=0)
call_command("makemigrations", check=True, dry_run=True, verbosity=0)
call_command("canvases", "generate", "--shapes", "8", "--count", "40", "--seed", "11", "--name", "mine")
client = Client(HTTP_HOST="localhost")
def get(path):
    response = client.get(path)
    assert response.status_code == 200, (path, response.status_code)
    return response
found = {"set": get("/api/v1/benchmarks/canvas-sets/mine").json(), "runs": []}
found["tasks"] = get("/api/v1/benchmarks/datasets/mine/tasks?group=new&page_size=500").json()["results"]
found["launch"] = get("/runs/new/?dataset=mine").content.decode()
found["audit_page"] = get("/canvases/mine/audit/").content.decode()
for model in ("baseline/reference", "baseline/majority"):
    body = {"dataset": "mine", "model": model, "tasks": ["new", "count"], "representation": "coordinates"}
    created = client.post(RUNS, json.dumps(body), content_type="application/json")
    assert created.status_code == 201, created.content
    run = created.json()["id"]
    work_on_run_once(run)
    found["runs"].append({
        "run": get(f"{RUNS}/{run}").json(),
        "results": get(f"{RUNS}/{run}/results?group=new&page_size=500").json()["results"],
        "page": get(f"/runs/{run}/").content.decode(),
    })
with open("found.json", "w") as file:
    json.dump(found, file)
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a fresh installation with the new class shows."""
    project = tmp_path_factory.mktemp("project")
    follow_readme(project)
    left_out = shutil.ignore_patterns("tests", "benches", "__pycache__")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, project / name, ignore=left_out)
        else:
            shutil.copy(ROOT / name, project / name)
    environment = {
        "PATH": os.environ["PATH"],
        "APP_ENV": "development",
        "DJANGO_SETTINGS_MODULE": "codeforge.settings",
        "CODEFORGE_ENV_FILE": os.devnull,
        "CODEFORGE_STATE_DIR": str(project / "state"),
        "PYTHONPATH": str(project),
    }
    command = [sys.executable, "-c", f"RUNS = {RUNS!r}\n{SCRIPT}"]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    answer: dict[str, Any] = json.loads((project / "found.json").read_text())
    return answer


def expected(found: dict[str, Any]) -> list[str]:
    return [task["expected_output"] for task in found["tasks"]]


def numbers_beside(page: str, name: str) -> list[float]:
    """The numbers in the first table row that a page has under a name, in any capitalisation."""
    for row in re.findall(r"<tr[ >].*?</tr>", page, re.DOTALL):
        first, *cells = re.findall(r"<t[hd][ >].*?</t[hd]>", row, re.DOTALL)
        if re.sub(r"<[^>]+>", "", first).strip().lower() == name:
            text = re.sub(r"<[^>]+>", " ", " ".join(cells))
            return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]
    raise AssertionError(f"no row {name}")


def test_a_generated_set_asks_it_and_counts_where_it_cannot(found: dict[str, Any]) -> None:
    assert found["set"]["task_classes"][-1] == "new"
    assert len(found["tasks"]) + found["set"]["not_applicable"]["new"] == 40
    assert len(found["tasks"]) > 20
    assert all(task["input"].startswith("Which color has the highest ") for task in found["tasks"])
    audit = found["set"]["audit"]["tasks"]["new"]
    assert (audit["asked"], audit["unchecked"]) == (len(found["tasks"]), len(found["tasks"]))


def test_the_launch_form_offers_it(found: dict[str, Any]) -> None:
    assert re.search(r'name="tasks"[^>]*value="new"', found["launch"])


def test_its_score_is_in_the_api(found: dict[str, Any]) -> None:
    answers = expected(found)
    majority = max(answers.count(answer) for answer in answers)
    perfect, guessing = ([result["scores"]["task_score"] for result in run["results"]] for run in found["runs"])
    assert perfect == [1.0] * len(answers)
    assert sum(guessing) == majority
    assert all(run["run"]["status"] == "completed" for run in found["runs"])


def test_its_score_is_on_the_page_of_the_run(found: dict[str, Any]) -> None:
    answers = expected(found)
    share = max(answers.count(answer) for answer in answers) / len(answers)
    perfect, guessing = (
        numbers_beside(run["page"].partition("above the best guess</h3>")[2], "new") for run in found["runs"]
    )
    assert perfect[1] == 1
    assert guessing[1] == pytest.approx(share, abs=0.0005)
    assert perfect[-1] == guessing[-1] == len(answers)


def test_it_is_on_the_page_of_the_audit(found: dict[str, Any]) -> None:
    assert numbers_beside(found["audit_page"], "new")[0] == len(found["tasks"])
