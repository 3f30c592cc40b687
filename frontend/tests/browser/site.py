"""Whole installations to look at: an empty one, and one that holds every state a page can show.

Everything in the seeded one came about as it does for a user: files in the datasets directory, runs asked for over the
API, real workers, a model endpoint on loopback. Nothing is written into its database by hand.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from benchmarks.dataset_format import DatasetSpec, TaskSpec, dump_dataset
from frontend.tests.browser.scripted import HOSTILE, ScriptedModels
from tests.loopback.hosting import serve
from tests.loopback.server import LoopbackServer
from tests.support.stack import ROOT, Stack, installed

ADMIN, READER, PASSWORD = "ada", "grace", "a long walk by the river"
API = "/api/v1/benchmarks"
CANVASES = 64
LIVE = ("queued", "preparing", "running")

# A hanging request may hang until the site is taken down; then one attempt was enough.
CONFIG = """
benchmark: {{judge_model: scripted/judge, datasets_dir: "{state}/datasets"}}
providers:
  scripted: {{base_url: "{url}", timeouts: {{first_byte: 900.0, whole: 900.0}}, retries: {{max_attempts: 1}}}}
models:
  scripted/large: {{input_per_million: 2.5, output_per_million: 10.0}}
  scripted/medium: {{input_per_million: 0.4, output_per_million: 1.6}}
  scripted/small: {{input_per_million: 0.05, output_per_million: 0.2}}
  scripted/judge: {{input_per_million: 1.0, output_per_million: 4.0}}
webhooks:
  nowhere: {{url: "{url}/nowhere", secret_env: SITE_WEBHOOK_SIGNING, events: [run.failed, score.dropped]}}
"""
# Keys that the API does not tell, because nobody but the pages needs them.
LOOK_UP = """
import json
from benchmarks.models import Dataset, DatasetFile, WebhookDelivery
datasets = Dataset.objects.exclude(current_version=None)
print(json.dumps({
    "datasets": {dataset.slug: dataset.pk for dataset in datasets},
    "tasks": {dataset.slug: dataset.current_version.tasks.earliest("position").pk for dataset in datasets},
    "files": {file.path: file.pk for file in DatasetFile.objects.all()},
    "deliveries": [str(delivery.pk) for delivery in WebhookDelivery.objects.all()],
}))
"""
EXACT = ("--metrics", "exact_match")
READING_ACCOUNT = f"""
from django.contrib.auth.models import User
User.objects.create_user({READER!r}, password={PASSWORD!r})
"""
SCHEDULE = """
from benchmarks.services.schedules import save_schedule
asked = {"dataset": "reasoning", "model": "scripted/drifting", "metrics": ["exact_match", "contains"]}
save_schedule("Every night", "03:00", asked)
"""
TURN = """
from benchmarks.models import Schedule
from benchmarks.services.schedules import start_due
print(*(run.pk for run in start_due(Schedule.objects.get().next_run_at)))
"""
NOTICES = "from benchmarks.models import ScoreNotice; print(ScoreNotice.objects.count())"
BROKEN = """name: Broken
description: A file with mistakes
tasks:
  - id: 1
    name: A number for an id
    input: What is wrong here?
    expected_output: The id
    difficulty: hrad
"""


@dataclass
class Site:
    """A running installation, the endpoint its models are at, and the ids of what was seeded, by short names."""

    stack: Stack
    models: LoopbackServer
    runs: dict[str, int] = field(default_factory=dict)
    canvas_set: str = ""
    datasets: dict[str, int] = field(default_factory=dict)
    tasks: dict[str, int] = field(default_factory=dict)
    """The first task of each dataset's current version."""
    files: dict[str, int] = field(default_factory=dict)
    deliveries: list[str] = field(default_factory=list)

    def url(self, path: str) -> str:
        return self.stack.address + path

    def api(self, path: str) -> Any:
        return self.stack.get(API + path)

    def ask(self, name: str, dataset: str, model: str, metrics: list[str], **more: Any) -> int:
        """Start a run and remember it as ``name``."""
        request = {"dataset": dataset, "model": model, "metrics": metrics, **more}
        self.runs[name] = self.stack.post(f"{API}/runs", request)["id"]
        return self.runs[name]

    def wait_for_runs(self) -> None:
        self.stack.wait_until(lambda: not self._live(), "every run but the stuck one has ended", seconds=180)

    def first_result(self, name: str, query: str = "") -> int:
        """The id of a run's first result, of those that ``query`` filters, such as ``?outcome=wrong``."""
        return int(self.api(f"/runs/{self.runs[name]}/results{query}")["results"][0]["id"])

    def result_path(self, name: str, query: str = "") -> str:
        return f"/runs/{self.runs[name]}/results/{self.first_result(name, query)}/"

    def _live(self) -> set[int]:
        found = self.api("/runs?page_size=100")["results"]
        return {run["id"] for run in found if run["status"] in LIVE} - {self.runs.get("stuck", 0)}


@contextmanager
def empty_site() -> Iterator[Site]:
    """A first visitor's installation: one dataset, no run."""
    with _started() as site:
        shutil.copy(ROOT / "datasets" / "basic-coding.yaml", site.stack.state / "datasets")
        site.stack.manage("datasets", "sync")
        yield site


@contextmanager
def closed_site() -> Iterator[Site]:
    """A production installation, which strangers cannot read: one run, an administrator and somebody who may read."""
    closed = {
        "APP_ENV": "production",
        "SECRET_KEY": "of-this-test-alone-" * 4,
        "ALLOWED_HOSTS": "127.0.0.1",
        # There is no HTTPS on loopback.
        "SECURE_COOKIES": "0",
        "SECURE_SSL_REDIRECT": "0",
        "SECURE_HSTS_SECONDS": "0",
        "DJANGO_SUPERUSER_PASSWORD": PASSWORD,
    }
    with installed("http://127.0.0.1:1", closed) as stack:
        stack.environment["STATIC_ROOT"] = str(stack.state / "static")
        stack.manage("collectstatic", "--noinput", "--verbosity", "0")
        shutil.copy(ROOT / "datasets" / "basic-coding.yaml", stack.state / "datasets")
        stack.manage("datasets", "sync")
        stack.manage("createsuperuser", "--noinput", "--username", ADMIN, "--email", "")
        stack.manage("shell", "--no-imports", "-c", READING_ACCOUNT)
        told = stack.manage("benchmark", "run", "basic-coding", "--model", "baseline/random", *EXACT, "--json")
        stack.start_web()
        yield Site(stack, None, runs={"random": json.loads(told)["id"]})


@contextmanager
def seeded_site() -> Iterator[Site]:
    """An installation with datasets, canvases, and runs that completed, failed, paused and hang."""
    with _started() as site:
        _write_datasets(site.stack)
        site.stack.environment["DJANGO_SUPERUSER_PASSWORD"] = PASSWORD
        site.stack.manage("createsuperuser", "--noinput", "--username", ADMIN, "--email", "")
        _draw_canvases(site)
        _ask_for_runs(site)
        _look_up(site)
        yield site
        # Or the worker would wait for the requests that hang.
        site.stack.post(f"{API}/runs/{site.runs['stuck']}/cancel", {})


@contextmanager
def _started() -> Iterator[Site]:
    scripted = ScriptedModels((ROOT / "datasets").glob("*.yaml"))
    with serve(scripted) as models, installed(models.url) as stack:
        (stack.state / "codeforge.yaml").write_text(CONFIG.format(url=models.url, state=stack.state))
        stack.start_web()
        stack.start_worker()
        try:
            yield Site(stack, models)
        finally:
            models.drop_connections()


def _write_datasets(stack: Stack) -> None:
    folder = stack.state / "datasets"
    (folder / "capitals.yaml").write_text(dump_dataset(_capitals("Easter Island", "hard")))
    stack.manage("datasets", "sync")
    (folder / "capitals.yaml").write_text(dump_dataset(_capitals("Bhutan", "medium")))
    for name in ("basic-coding", "reasoning", "tool-use-basic", "rag-faithfulness", "structured-output"):
        shutil.copy(ROOT / "datasets" / f"{name}.yaml", folder)
    (folder / "broken.yaml").write_text(BROKEN)
    # JSON is YAML, and its escapes carry the characters that no YAML file may hold as they are.
    (folder / "hostile.yaml").write_text(json.dumps(_hostile()))
    try:
        stack.manage("datasets", "sync")
    except RuntimeError as told:  # the exit code says that one file is broken, which it is
        if "broken.yaml" not in str(told):
            raise


def _capitals(country: str, difficulty: str) -> DatasetSpec:
    """A dataset whose two versions differ in every way two versions can."""
    asked = {"France": "Paris", "Japan": "Tokyo", country: "Thimphu"}
    tasks = tuple(
        TaskSpec(
            id=name.lower().replace(" ", "-"),
            name=f"The capital of {name}",
            input=f"What is the capital of {name}? Answer with the name alone.",
            expected_output=capital,
        )
        for name, capital in asked.items()
    )
    changing = TaskSpec(
        id="peru",
        name="The capital of Peru",
        input=f"What is the capital of Peru?\nThink of {country} first.",
        expected_output="Lima" if difficulty == "medium" else "Lima, of course",
        difficulty=difficulty,
        pattern="^Lima" if difficulty == "medium" else "Lima",
        choices=("Lima", "Cusco") if difficulty == "medium" else (),
    )
    return DatasetSpec(name="Capitals", description="Countries and their capitals.", tasks=(*tasks, changing))


def _hostile() -> dict[str, Any]:
    task = {"name": HOSTILE[:150], "input": HOSTILE, "expected_output": HOSTILE, "context": [HOSTILE]}
    tasks = [
        {"id": "plain", **task},
        {"id": "long", **task, "input": f"{HOSTILE} Answer in one long line."},
    ]
    return {"name": HOSTILE[:150], "description": HOSTILE, "tasks": tasks}


def _draw_canvases(site: Site) -> None:
    made = site.stack.post(f"{API}/canvas-sets", {"shapes": "3-8", "count": CANVASES, "seed": 11})
    site.canvas_set = made["slug"]

    def drawn() -> bool:
        found = site.api(f"/canvas-sets/{site.canvas_set}")
        return bool(found["count"] == CANVASES and found["audit"])

    site.stack.wait_until(drawn, "the canvases are drawn")


def _look_up(site: Site) -> None:
    keys = json.loads(site.stack.manage("shell", "--no-imports", "-c", LOOK_UP))
    site.datasets, site.tasks, site.files = keys["datasets"], keys["tasks"], keys["files"]
    site.deliveries = keys["deliveries"]


def _ask_for_runs(site: Site) -> None:
    _ask_for_trouble(site)
    for model, delay_ms in (("large", 60.0), ("medium", 25.0), ("small", 5.0)):
        site.models.delay_ms = delay_ms
        name = f"scripted/{model}"
        site.ask(f"coding {model}", "basic-coding", name, ["exact_match", "contains", "levenshtein"])
        site.ask(f"reasoning {model}", "reasoning", name, ["exact_match", "contains", "rouge_l"], repeats=2)
        site.ask(f"canvases {model}", site.canvas_set, name, ["task_score"])
        site.wait_for_runs()
    site.models.delay_ms = 0.0
    site.ask("few-shot", site.canvas_set, "scripted/medium", ["task_score"], few_shot=True)
    site.ask("coordinates", site.canvas_set, "scripted/medium", ["task_score"], representation="coordinates")
    site.ask("random", site.canvas_set, "baseline/random", ["task_score"])
    site.ask("tools", "tool-use-basic", "scripted/medium", ["tool_calls", "exact_match"])
    judged = ["correctness", "exact_match", "contains"]
    site.ask("judged", "reasoning", "scripted/medium", judged, limit=8, judge_model="scripted/judge")
    site.wait_for_runs()
    calibrate = ("judge", "calibrate", "--judge", "scripted/judge", "--canvas-set", site.canvas_set)
    calibration = site.stack.manage(*calibrate, "--questions", "12", "--repeats", "2", "--json")
    site.runs["calibration"] = json.loads(calibration)["id"]
    _let_two_nights_pass(site)
    site.ask("stuck", site.canvas_set, "scripted/stuck", ["task_score"])


def _ask_for_trouble(site: Site) -> None:
    site.ask("failed", "basic-coding", "scripted/wrong-key", ["exact_match"])
    site.ask("paused", "reasoning", "scripted/large", ["exact_match"], budget_usd=0.006, max_tokens=64)
    site.ask("errors", "structured-output", "scripted/flaky", ["json_match"])
    site.ask("hostile", "hostile", "scripted/hostile", ["exact_match", "contains"])


def _let_two_nights_pass(site: Site) -> None:
    """A schedule whose model knows the answers in the first night alone."""

    def shell(code: str) -> str:
        return site.stack.manage("shell", "--no-imports", "-c", code).strip()

    shell(SCHEDULE)
    for name in ("first night", "second night"):
        site.runs[name] = int(shell(TURN))
        site.wait_for_runs()
    site.stack.wait_until(lambda: shell(NOTICES) == "2", "the drop is noticed")
