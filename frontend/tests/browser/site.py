"""Installations to test in a browser: an empty one, one with every state that a page can show, one that needs a login.

Everything in them is made as users make it: files in the datasets directory, runs started over the API, real workers,
a model endpoint on loopback. No row is written by hand.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from benchmarks.dataset_format.dumping import dump_dataset
from benchmarks.dataset_format.spec import DatasetSpec, TaskSpec
from frontend.tests.browser.scripted_models import HOSTILE, ScriptedModels
from tests.loopback.hosting import serve
from tests.loopback.replies import Script
from tests.loopback.server import LoopbackServer
from tests.support.oidc_provider import CLIENT, SECRET, OidcProvider
from tests.support.stack import ROOT, Stack, installed

ADMIN, READER, PASSWORD = "ada", "grace", "a long walk by the river"
API = "/api/v1/benchmarks"
CANVASES = 64
COPIED = ("reasoning", "tool-use-basic", "rag-faithfulness", "structured-output")
"""The shipped datasets of the seeded site, beside that of a first visitor."""
LIVE = ("queued", "preparing", "running")

# A hanging request hangs until the site is stopped; one attempt is enough.
CONFIG = """
benchmark: {{datasets_dir: "{state}/datasets"}}
judge: {{model: scripted/judge}}
providers:
  scripted: {{base_url: "{url}", timeouts: {{first_byte: 3600.0, whole: 3600.0}}, retries: {{max_attempts: 1}}}}
models:
  scripted/large: {{input_per_million: 2.5, output_per_million: 10.0}}
  scripted/medium: {{input_per_million: 0.4, output_per_million: 1.6}}
  scripted/small: {{input_per_million: 0.05, output_per_million: 0.2}}
  scripted/judge: {{input_per_million: 1.0, output_per_million: 4.0}}
webhooks:
  nowhere: {{url: "{url}/nowhere", secret_env: SITE_WEBHOOK_SIGNING, events: [run.failed, score.dropped]}}
"""
# Runs in one process, because every start of Django takes longer than what it does here.
PREPARE = f"""
import contextlib, os
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from benchmarks.services.schedules import save_schedule

User.objects.create_superuser({ADMIN!r}, password={PASSWORD!r})
os.chdir({{folder!r}})
for version in ("first", "second"):
    os.replace("capitals." + version, "capitals.yaml")
    with contextlib.suppress(CommandError, SystemExit):  # reports the file that has errors
        call_command("datasets", "sync")
request = {{{{"dataset": "reasoning", "model": "scripted/drifting", "metrics": ["exact_match", "contains"]}}}}
save_schedule("Every night", "03:00", request)
"""
# People have labeled all answers of a judged run in a random review, which is closed; another one has just begun.
LABELED = """
from benchmarks.models import Label, ReviewItem, ReviewQueue, Run
from benchmarks.services.reviews.queues import close_review, create_review

run = Run.objects.get(pk={run})
source = {{"runs": [run.pk], "filters": {{}}, "answers": 8}}
given = {{"source": source, "sampling": {{"method": "random", "size": 8, "seed": 1}}, "overlap": 8}}
queue = ReviewQueue.objects.create(name="Spring review", metric="correctness", **given)
for position, result in enumerate(run.results.all()):
    done = {{name: ["labeled", 0.0] for name in ("ada", "grace")}}
    ReviewItem.objects.create(queue=queue, result=result, position=position, wanted=2, reviewers=done)
    for name in ("ada", "grace"):
        value = float(result.pk % 2)
        Label.objects.create(result=result, metric="correctness", value=value, queue=queue, author_name=name)
close_review(queue)
create_review({{"name": "Summer review", "metric": "correctness", "runs": [{other}], "size": 12, "overlap": 4}})
"""
# Two scheduled runs of a model that knows the answers the first time only; then keys that the API does not have.
TWO_NIGHTS = """
import json, time
from benchmarks.models import Dataset, DatasetFile, Run, Schedule, ScoreDrop, WebhookDelivery
from benchmarks.services.schedules import next_times, start_due

def wait_until(done):
    deadline = time.monotonic() + 120
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.1)

nights = []
for night in range(2):
    [run] = start_due(Schedule.objects.get().next_run_at)
    nights.append(run.pk)
    wait_until(lambda: Run.objects.get(pk=run.pk).status == "completed")
wait_until(lambda: ScoreDrop.objects.count() == 2)
Schedule.objects.update(next_run_at=next_times("03:00", 1)[0])
datasets = Dataset.objects.exclude(current_version=None)
print(json.dumps({
    "nights": nights,
    "datasets": {dataset.slug: dataset.pk for dataset in datasets},
    "tasks": {dataset.slug: dataset.current_version.tasks.earliest("position").pk for dataset in datasets},
    "files": {file.path: file.pk for file in DatasetFile.objects.all()},
    "deliveries": [str(delivery.pk) for delivery in WebhookDelivery.objects.all()],
}))
"""
CLOSED = f"""
from django.contrib.auth.models import User
from django.core.management import call_command

call_command("collectstatic", "--noinput", "--verbosity", "0")
call_command("datasets", "sync")
User.objects.create_superuser({ADMIN!r}, password={PASSWORD!r})
User.objects.create_user({READER!r}, password={PASSWORD!r})
call_command("benchmark", "run", "basic-coding", "--model", "baseline/random", "--metrics", "exact_match")
"""
CLOSED_ENVIRONMENT = {
    "APP_ENV": "production",
    "SECRET_KEY": "of-this-test-alone-" * 4,
    "ALLOWED_HOSTS": "127.0.0.1",
    # There is no HTTPS on loopback.
    "SECURE_COOKIES": "0",
    "SECURE_SSL_REDIRECT": "0",
    "SECURE_HSTS_SECONDS": "0",
}
BROKEN = """name: Broken
description: A file with errors
tasks:
  - id: 1
    name: A number for an id
    input: What is wrong here?
    expected_output: The id
    difficulty: hrad
"""


@dataclass
class Site:
    """A running installation, the endpoint of its models, and the ids of its objects by short names."""

    stack: Stack
    models: LoopbackServer
    runs: dict[str, int] = field(default_factory=dict)
    canvas_set: str = ""
    experiment: int = 0
    datasets: dict[str, int] = field(default_factory=dict)
    tasks: dict[str, int] = field(default_factory=dict)
    """The first task of each dataset's current version."""
    files: dict[str, int] = field(default_factory=dict)
    deliveries: list[str] = field(default_factory=list)

    def url(self, path: str) -> str:
        return self.stack.address + path

    def api(self, path: str) -> Any:
        return self.stack.get(API + path)

    def shell(self, code: str) -> str:
        """Run code in a process of the installation; return what it printed."""
        return self.stack.manage("shell", "--no-imports", "-c", code)

    def start(self, name: str, dataset: str, model: str, metrics: list[str], **more: Any) -> int:
        """Start a run and remember it as ``name``."""
        request = {"dataset": dataset, "model": model, "metrics": metrics, **more}
        self.runs[name] = self.stack.post(f"{API}/runs", request)["id"]
        return self.runs[name]

    def wait_for_runs(self) -> None:
        self.stack.wait_until(lambda: not self._live(), "every run except the stuck one has ended", seconds=180)

    def first_result(self, name: str, query: str = "") -> int:
        """The id of the first result of a run that matches ``query``, such as ``?outcome=wrong``."""
        return int(self.api(f"/runs/{self.runs[name]}/results{query}")["results"][0]["id"])

    def result_path(self, name: str, query: str = "") -> str:
        return f"/runs/{self.runs[name]}/results/{self.first_result(name, query)}/"

    def _live(self) -> set[int]:
        runs = self.api("/runs?page_size=100")["results"]
        return {run["id"] for run in runs if run["status"] in LIVE} - {self.runs.get("stuck", 0)}

    def calibrated(self) -> bool:
        return self.api(f"/calibrations/{self.runs['calibration']}")["status"] == "completed"


@contextmanager
def fresh_site(script: Script | None = None) -> Iterator[Site]:
    """The installation of a first visitor: web server and worker, one dataset, no run; its models follow ``script``."""
    script = script or ScriptedModels(ROOT / "datasets" / f"{name}.yaml" for name in ("basic-coding", *COPIED))
    with serve(script) as models, installed(models.url) as stack:
        (stack.state / "codeforge.yaml").write_text(CONFIG.format(url=models.url, state=stack.state))
        shutil.copy(ROOT / "datasets" / "basic-coding.yaml", stack.state / "datasets")
        stack.environment["DJANGO_SETTINGS_MODULE"] = "frontend.tests.browser.served_settings"
        stack.environment["STATIC_ROOT"] = str(stack.state / "static")
        stack.manage("collectstatic", "--noinput", "--verbosity", "0")
        stack.manage("datasets", "sync")
        stack.start_web()
        stack.start_worker()
        site = Site(stack, models)
        try:
            yield site
            if "stuck" in site.runs:
                # Otherwise the worker would wait for the requests that hang.
                stack.post(f"{API}/runs/{site.runs['stuck']}/cancel", {})
        finally:
            models.drop_connections()


def seed(site: Site) -> None:
    """Add datasets, canvases, and runs that completed, failed, paused and hang."""
    _write_datasets(site.stack)
    site.shell(PREPARE.format(folder=str(site.stack.state / "datasets")))
    _generate_canvases(site)
    _start_runs(site)


@contextmanager
def closed_site(provider: OidcProvider) -> Iterator[Site]:
    """A production installation that requires a login, also by ``provider``: one run, an administrator, a reader."""
    sign_on = {
        "OIDC_ISSUER": provider.issuer,
        "OIDC_CLIENT_ID": CLIENT,
        "OIDC_CLIENT_SECRET": SECRET,
        "OIDC_NAME": "Example SSO",
        "OIDC_ROLES": "bench=runner",
    }
    with installed("http://127.0.0.1:1", CLOSED_ENVIRONMENT | sign_on) as stack:
        stack.environment["STATIC_ROOT"] = str(stack.state / "static")
        shutil.copy(ROOT / "datasets" / "basic-coding.yaml", stack.state / "datasets")
        site = Site(stack, None, runs={"random": 1})
        site.shell(CLOSED)
        stack.start_web()
        yield site


def _write_datasets(stack: Stack) -> None:
    folder = stack.state / "datasets"
    (folder / "capitals.first").write_text(dump_dataset(_capitals("Easter Island", "hard")))
    (folder / "capitals.second").write_text(dump_dataset(_capitals("Bhutan", "medium")))
    for name in COPIED:
        shutil.copy(ROOT / "datasets" / f"{name}.yaml", folder)
    (folder / "broken.yaml").write_text(BROKEN)
    # JSON is YAML, and its escapes can express the characters that YAML files must not contain literally.
    (folder / "hostile.yaml").write_text(json.dumps(_hostile()))


def _capitals(country: str, difficulty: str) -> DatasetSpec:
    """A dataset whose two versions differ in every way that two versions can."""
    capitals = {"France": "Paris", "Japan": "Tokyo", country: "Thimphu"}
    tasks = tuple(
        TaskSpec(
            id=name.lower().replace(" ", "-"),
            name=f"The capital of {name}",
            input=f"What is the capital of {name}? Answer with the name alone.",
            expected_output=capital,
        )
        for name, capital in capitals.items()
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


def _generate_canvases(site: Site) -> None:
    site.canvas_set = site.stack.post(f"{API}/canvas-sets", {"shapes": "3-8", "count": CANVASES, "seed": 11})["slug"]

    def complete() -> bool:
        canvas_set = site.api(f"/canvas-sets/{site.canvas_set}")
        return bool(canvas_set["count"] == CANVASES and canvas_set["audit"])

    site.stack.wait_until(complete, "the canvases are generated and audited")


def _start_runs(site: Site) -> None:
    site.start("failed", "basic-coding", "scripted/wrong-key", ["exact_match"])
    site.start("paused", "reasoning", "scripted/large", ["exact_match"], budget_usd=0.006, max_tokens=64)
    site.start("errors", "structured-output", "scripted/flaky", ["json_match"])
    site.start("hostile", "hostile", "scripted/hostile", ["exact_match", "contains"])
    for model, delay_ms in (("large", 60.0), ("medium", 25.0), ("small", 5.0)):
        site.models.delay_ms = delay_ms
        name = f"scripted/{model}"
        site.start(f"coding {model}", "basic-coding", name, ["exact_match", "contains", "levenshtein"])
        site.start(f"reasoning {model}", "reasoning", name, ["exact_match", "contains", "rouge_l"], repeats=2)
        site.start(f"canvases {model}", site.canvas_set, name, ["task_score"])
        site.wait_for_runs()
    site.models.delay_ms = 0.0
    site.start("few-shot", site.canvas_set, "scripted/medium", ["task_score"], few_shot=True)
    site.start("coordinates", site.canvas_set, "scripted/medium", ["task_score"], representation="coordinates")
    site.start("random", site.canvas_set, "baseline/random", ["task_score"])
    site.start("tools", "tool-use-basic", "scripted/medium", ["tool_calls", "exact_match"])
    request = {
        "name": HOSTILE[:150],
        "tags": ["autumn", "prompts"],
        "datasets": ["reasoning", site.canvas_set],
        "models": ["scripted/large", "scripted/medium", "scripted/small"],
        "metrics": ["exact_match"],
        "limit": 40,
        "variants": [{"name": "plain"}, {"name": "step by step", "prompt_template": "{input}\n\nThink step by step."}],
    }
    site.experiment = site.stack.post(f"{API}/experiments", request)["id"]
    judged = ["correctness", "exact_match", "contains"]
    site.start("judged", "reasoning", "scripted/medium", judged, limit=8, judge_model="scripted/judge")
    site.wait_for_runs()
    request = {"judge_model": "scripted/judge", "canvas_set": site.canvas_set, "questions": 12, "repeats": 2}
    site.runs["calibration"] = site.stack.post(f"{API}/calibrations", request)["id"]
    keys = json.loads(site.shell(TWO_NIGHTS))
    site.runs["first night"], site.runs["second night"] = keys.pop("nights")
    for name, value in keys.items():
        setattr(site, name, value)
    site.wait_for_runs()
    site.shell(LABELED.format(run=site.runs["judged"], other=site.runs["reasoning medium"]))
    site.stack.wait_until(site.calibrated, "the judge is calibrated", seconds=180)
    compared = [site.runs["reasoning large"], site.runs["reasoning medium"]]
    request = {"runs": compared, "judge_model": "scripted/judge", "tasks": 20}
    site.runs["preference"] = site.stack.post(f"{API}/preferences", request)["id"]
    site.start("stuck", site.canvas_set, "scripted/stuck", ["task_score"])
