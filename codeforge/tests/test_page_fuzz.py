"""Every link, form and htmx request of every page, dashboard and admin, with hostile values, by each role.

Pages are found by following links from the start pages, so a new one is fuzzed without being named here. The requests
are the same in every run; ``CODEFORGE_FUZZ`` multiplies their number.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import Resolver404, resolve, reverse

from benchmarks.admin.tests.test_roles import one_of_each
from benchmarks.engine.configured import sealed_parts
from benchmarks.engine.execution.step_store import write_steps
from benchmarks.models import DatasetVersion, EnteredSystem, Experiment, Run, RunKind, Task, WebhookDelivery
from benchmarks.providers.steps import Step
from benchmarks.services.access import assign_group
from benchmarks.services.datasets.versions import import_dataset, spec_of
from benchmarks.services.preferences import start_preference
from benchmarks.services.reviews.queues import create_review, start_labeling
from benchmarks.services.share_links import FIELDS
from codeforge.config import parse_config
from codeforge.tests.fuzzing.hostile import Variant, variant
from codeforge.tests.fuzzing.reading import Form, pages_of
from codeforge.tests.fuzzing.writes import undone
from codeforge.tests.routes import all_routes
from frontend.tests.calibrations import make_calibration
from tests.support.factories import make_dataset
from tests.support.page_factories import make_canvas_set, make_scored_run

pytestmark = pytest.mark.django_db
FUZZ = float(os.environ.get("CODEFORGE_FUZZ", "1"))
SEED = 20
VISITS = 4
"""So many addresses and sets of parameters of one route are tried; further ones differ in their objects only."""
WRITERS = ("runner", "editor")
"""Who may write from pages of the dashboard."""
SYSTEM = {
    "url": ["http://127.0.0.1:9/ask"],
    "headers": ["X-Key: "],
    "body": ['{"question": "Why?"}'],
    "reply": ['[{"text": "Because"}]'],
    "part": ["answer"],
    "retrieved": ["text[]"],
}
NOT_FOLLOWED = ("logout", "admin:logout", "admin:jsi18n")


@pytest.fixture
def clients(settings: Any) -> dict[str, Client]:
    """A client for each role, as in production, with an object of every kind and providers that nothing is behind."""
    settings.DEV_MODE = settings.PUBLIC_READING = False
    nowhere = "http://127.0.0.1:9/v1"
    document = {
        "providers": {"loop": {"base_url": nowhere}},
        "models": {"loop/model": {"input_per_million": 1.0}},
        "webhooks": {"ops": {"url": nowhere, "secret_env": "NO_SUCH_SECRET"}},
    }
    settings.CODEFORGE = parse_config(document, {"OPENAI_BASE_URL": nowhere})
    EnteredSystem.objects.create(
        name="bot",
        base_url="http://127.0.0.1:9",
        options={"body": "{input}"},
        sealed=sealed_parts("bot", {"X-Key": "k"}, ""),
    )
    clients = {}
    for role in ("admin", "editor", "runner", "viewer"):
        account = User.objects.create_user(role)
        assign_group(account, role)
        clients[role] = Client(raise_request_exception=False)
        clients[role].force_login(account, backend="django.contrib.auth.backends.ModelBackend")
    one_of_each(User.objects.get(username="admin"))
    run = make_scored_run(metrics=["exact_match", "contains"])
    request = {"name": "Prompts", "datasets": [run.dataset.slug], "models": [run.model], "metrics": run.metrics}
    run.experiment = Experiment.objects.create(name="Prompts", request={**request, "variants": [{"name": "plain"}]})
    run.variant = "plain"
    run.save()
    write_steps((result.pk, [Step(kind="error", text="<b>" * 500)]) for result in run.results.all())
    # With a second run there are comparisons and charts, with a third version there is a choice of two.
    shared = {"metrics": run.metrics, "experiment": run.experiment, "variant": "plain"}
    make_scored_run(run.dataset, model="loop/other", **shared)
    first = spec_of(make_dataset(1, slug="revised").current_version)
    for name in ("Second", "Third"):
        import_dataset(replace(first, name=name), "revised", DatasetVersion.Origin.UPLOAD)
    queue = create_review({"name": "Sums", "metric": "exact_match", "runs": [run.pk]})
    start_labeling(queue, User.objects.get(username="admin"))
    canvases = make_canvas_set(slug="drawn")
    make_scored_run(canvases.dataset, [1.0, 0.0, 0.5, None])
    make_calibration(canvases)
    compared = [each.pk for each in Run.objects.filter(experiment__isnull=False)]
    start_preference({"runs": compared, "judge_model": "openai/gpt-4o"})
    return {**clients, "nobody": Client(raise_request_exception=False)}


def send(client: Client, request: Variant) -> Any:
    if request.method == "POST" and request.files:
        fields = {name: [_text(value) for value in values] for name, values in request.fields.items()}
        return client.post(request.path, {**fields, **request.files})
    if request.method == "GET":
        return client.get(request.path, QUERY_STRING=request.encoded)
    form = "application/x-www-form-urlencoded"
    return client.generic(request.method, request.path, request.encoded, form)


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")


def crawl(client: Client) -> list[Form]:
    """The requests that pages offer. What pages give to one address by GET is one form with all its parameters."""
    gets: dict[str, Form] = {}
    others: dict[tuple[str, str, tuple[str, ...]], Form] = {}
    visits: Counter[str] = Counter()
    waiting = [Form("GET", path) for path in ("/", "/admin/", "/login/")]
    while waiting:
        form = waiting.pop(0)
        name = route_of(form.path)
        if form.method != "GET":
            others.setdefault((form.method, form.path, tuple(sorted(form.fields))), form)
            continue
        known = gets.get(form.path)
        if name in NOT_FOLLOWED or visits[name] >= VISITS or (known and form.fields.keys() <= known.fields.keys()):
            continue
        visits[name] += 1
        gets.setdefault(form.path, Form("GET", form.path)).merge(form)
        with undone() as written:
            response = send(client, Variant("GET", form.path, {**form.fields}))
        assert response.status_code < 500, form
        assert not written, (form, written)
        for page in pages_of(response):
            waiting += page.forms
        if response.status_code == 302:
            waiting.append(Form("GET", urlsplit(response["Location"]).path))
    few = Counter[tuple[str, str]]()
    for form in others.values():
        few[form.method, route_of(form.path)] += 1
        if few[form.method, route_of(form.path)] <= VISITS:
            gets[f"{form.method} {form.path} {sorted(form.fields)}"] = form
    return list(gets.values())


def unlinked() -> list[Form]:
    """Requests of scripts, and of pages that the objects of this test do not lead to."""
    run, other = Run.objects.filter(experiment__isnull=False).order_by("pk")
    calibration = Run.objects.get(kind=RunKind.CALIBRATION)
    written = Task.objects.filter(version=run.dataset.current_version)[0]
    task_key = {"slug": run.dataset.slug, "pk": written.pk}
    copies = {"result": [str(run.results.all()[0].pk)], "dataset": [run.dataset.slug], "slug": [""], "name": [""]}
    picture = {"name": "scores", "form": "svg"}
    of_pair = {"runs": [f"{run.pk},{other.pk}"], "metric": [run.metrics[0]]}
    task = str(run.results.order_by("position")[0].task_id)
    of_grid = {"show": ["differ"], "sort": ["hard"], "open": [task], "page": ["1"], "diff": ["1"], "run": [str(run.pk)]}
    return [
        Form("POST", reverse("frontend:edit-task", kwargs=task_key), _task_fields(written)),
        Form("POST", reverse("frontend:delete-task", kwargs=task_key), {"confirmed": ["yes"]}),
        Form("POST", reverse("frontend:copy-results"), copies),
        Form("POST", reverse("frontend:rescore-all", args=(run.dataset.slug, 1, 1))),
        Form("GET", reverse("frontend:providers")),
        Form("GET", reverse("frontend:new-experiment")),
        Form("GET", reverse("frontend:new-schedule"), {"run": [str(run.pk)]}),
        Form("GET", reverse("frontend:edit-schedule", args=(1,))),
        Form("GET", reverse("frontend:compare-tasks"), {**of_pair, **of_grid}),
        Form("GET", reverse("frontend:experiment-tasks", args=(run.experiment_id,)), {**of_grid}),
        Form(
            "GET",
            reverse("frontend:experiment-answers", args=(run.experiment_id,)),
            {**of_grid, "outcome": ["wrong"], "reason": ["different text"]},
        ),
        Form("GET", reverse("frontend:compare-chart", kwargs=picture), {**of_pair}),
        Form("GET", reverse("frontend:leaderboard-chart", kwargs=picture), {"dataset": [run.dataset.slug]}),
        Form("GET", reverse("frontend:dataset-chart", kwargs={"slug": run.dataset.slug, **picture})),
        Form("GET", reverse("frontend:model-chart", kwargs={"model": run.model, **picture})),
        Form("GET", reverse("frontend:threshold-chart", kwargs={"pk": run.pk, **picture})),
        Form(
            "GET", reverse("frontend:experiment-status", args=(run.experiment_id,)), {"metric": [""], "columns": [""]}
        ),
        Form("GET", reverse("frontend:calibration-progress", args=(calibration.pk,))),
        Form("GET", reverse("frontend:judge-agreement"), {"judge": ["loop/judge"], "metric": ["correctness"]}),
        Form("GET", reverse("frontend:judge-agreement-chart", kwargs=picture), {"judge": ["loop/judge"]}),
        Form("GET", reverse("frontend:shared", args=("key",))),
        Form(
            "POST",
            reverse("frontend:share"),
            {
                "kind": [*FIELDS],
                "query": [f"run={run.pk}", "runs=1,2&metric=", "dataset=a&version=1"],
                "days": ["7", "90"],
            },
        ),
        Form(
            "POST",
            reverse("frontend:save-view"),
            {"name": ["Failed"], "tab": ["runs", "single-runs"], "query": ["status=failed&days=7", "columns=0"]},
        ),
        Form("POST", reverse("frontend:delete-view", args=(1,))),
        Form("GET", reverse("frontend:set-password", args=("MQ", "key"))),
        Form("POST", reverse("frontend:send-delivery", args=("ops", WebhookDelivery.objects.get().pk))),
        *(Form("POST", reverse(f"frontend:{name}-webhook", args=("page",))) for name in ("renew", "delete", "test")),
        Form("GET", reverse("frontend:local-model")),
        Form("POST", reverse("frontend:provider-key"), {"provider": ["loop"], "key": ["a key"]}),
        Form("POST", reverse("frontend:provider-address"), {"provider": ["loop"], "address": ["http://127.0.0.1:9"]}),
        Form("POST", reverse("frontend:model-price"), {"model": ["loop/m"], "input": ["1"], "output": ["2"]}),
        Form("GET", reverse("frontend:edit-system", args=("bot",))),
        Form("POST", reverse("frontend:add-system"), SYSTEM | {"do": ["try"]}),
        Form("POST", reverse("frontend:add-system"), {"curl": ["curl http://127.0.0.1:9 -d '{}'"], "do": ["take"]}),
        Form("POST", reverse("frontend:edit-system", args=("bot",)), SYSTEM | {"ask": ['["question"]']}),
        Form("POST", reverse("frontend:edit-system", args=("bot",)), SYSTEM | {"place": ['["text"]']}),
        Form("POST", reverse("frontend:delete-system", args=("bot",))),
        Form("POST", reverse("frontend:revoke-link", args=(1,))),
        Form("POST", reverse("frontend:delete-pushed-run", args=(1,))),
    ]


def _task_fields(task: Task) -> dict[str, list[str]]:
    texts = {name: [getattr(task, name)] for name in ("name", "input", "expected_output", "difficulty", "pattern")}
    rows = {name: [""] for name in ("context", "expected_tools-name", "expected_tools-args", "choices")}
    json = {name: [""] for name in ("tools", "tool_results", "schema", "tolerance", "tests", "place")}
    return {**texts, **rows, **json, "id": [task.task_id], "base": [str(task.version_id)], "do": ["preview"]}


def route_of(path: str) -> str:
    try:
        match = resolve(path)
    except Resolver404:
        return "none"
    # The admin's route of an object is the same for everything in its place.
    return match.view_name or match.route


def faults_of(response: Any, request: Variant) -> list[str]:
    """What is wrong with a response to a hostile request."""
    faults = [f"status {response.status_code}"] if response.status_code >= 500 else []
    if not response.streaming and b"Traceback (most recent call last)" in response.content:
        faults.append("a traceback")
    if response.has_header("X-Injected"):
        faults.append("a header of the request's making")
    if "evil.example" in urlsplit(response.get("Location", "")).netloc:
        faults.append(f"a redirect to {response['Location']}")
    faults += [f"the page has {tag[:100]}" for page in pages_of(response) for tag in page.injected]
    return [f"{request}: {fault}" for fault in faults]


@pytest.fixture
def requests(clients: dict[str, Client]) -> list[Variant]:
    """The hostile requests, made from what an administrator's pages offer."""
    dice = random.Random(SEED)
    return [
        variant(form, dice)
        for form in [*crawl(clients["admin"]), *unlinked()]
        for _ in range(round(FUZZ * min(2 + len(form.fields), 12)) if form.fields else 1)
    ]


def roles_that_send(request: Variant) -> list[str]:
    """Everybody who may not write what the request would; an administrator, who may, sends every request."""
    if request.method == "GET":
        return ["admin"]
    return ["admin", "nobody", "viewer", *(WRITERS if request.path.startswith("/admin/") else ())]


def forbidden(role: str, request: Variant, written: list[str]) -> list[str]:
    """The statements that must not have been executed: no GET writes, and editors write no accounts or tokens."""
    if role == "admin":
        return written if request.method == "GET" else []
    if role == "editor":
        return [sql for sql in written if '"auth_' in sql or "apitoken" in sql]
    return written


def test_no_hostile_request_from_a_page_breaks_the_site_puts_a_script_into_a_page_or_writes_without_permission(
    clients: dict[str, Client], requests: list[Variant]
) -> None:
    faults: list[str] = []
    for request in requests:
        for role in roles_that_send(request):
            with undone() as written:
                faults += faults_of(send(clients[role], request), request)
            if statements := forbidden(role, request, written):
                faults.append(f"{role}, {request}: {statements}")
    assert faults == [], "\n".join(faults)
    pages = {route.name for route in all_routes() if route.name.startswith("frontend:")}
    reached = {route_of(request.path) for request in requests}
    print(f"{len(requests)} requests, {len(reached)} routes; not reached: {sorted(pages - reached)}")
    assert pages - reached == set()
