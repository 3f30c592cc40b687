"""Who may use which address: every route × every method × nobody, every group, tokens, CSRF.

The first test fails for a new route until it is added here, so no route can be forgotten.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import NoReverseMatch, resolve, reverse

from benchmarks.models import Run
from benchmarks.services.access import GROUPS, assign_group, create_token
from benchmarks.services.reviews.queues import close_review, create_review, save_and_next, start_labeling
from codeforge.tests.routes import all_routes
from tests.support.factories import make_dataset, make_run
from tests.support.page_factories import make_scored_run

NOBODY = "nobody"
ACTORS = (NOBODY, *GROUPS)
OPEN = frozenset(ACTORS)
READ = frozenset(GROUPS)
LABEL = frozenset({"reviewer", "runner", "editor", "admin"})
LAUNCH = frozenset({"runner", "editor", "admin"})
EDIT = frozenset({"editor", "admin"})
ADMIN = frozenset({"admin"})
SCOPES = {READ: "read", LABEL: "label", LAUNCH: "launch", EDIT: "edit", ADMIN: "edit"}


@dataclass(frozen=True)
class Rule:
    arguments: dict[str, Any]
    who: dict[str, frozenset[str]]
    """Method → who may use it. Nobody may use methods that are not named."""
    public: bool = True
    """Whether public reading opens what every account reads."""


def pages(who: frozenset[str] = READ, **arguments: Any) -> Rule:
    return Rule(arguments, {"GET": who})


def members(**arguments: Any) -> Rule:
    return Rule(arguments, {"GET": READ}, public=False)


def writes(who: frozenset[str], **arguments: Any) -> Rule:
    return Rule(arguments, {"POST": who})


PK = {"pk": 1}
RUN_ACTIONS = ("budget", "cancel", "doubtful-references", "rescore", "plan-rescoring", "resume", "retry-failed")
EXPERIMENT_ACTIONS = ("budget", "cancel", "models", "pause", "resume", "retry-failed")
RULES: dict[str, Rule] = {
    "dataset-list": pages(),
    "dataset-detail": pages(slug="sums"),
    "task-list": pages(slug="sums"),
    "task-analysis": pages(slug="sums"),
    "doubtful-tasks": writes(EDIT, slug="sums"),
    "canvas-set-list": Rule({}, {"GET": READ, "POST": EDIT}),
    "canvas-set-detail": Rule({"slug": "none"}, {"GET": READ, "DELETE": EDIT}),
    "canvas-list": pages(slug="none"),
    "canvas-detail": pages(slug="none", index=1),
    "run-list": Rule({}, {"GET": READ, "POST": LAUNCH}),
    "run-plan": writes(LAUNCH),
    "run-detail": Rule(PK, {"GET": READ, "PATCH": LAUNCH, "DELETE": LAUNCH}),
    **{f"run-{action}": writes(LAUNCH, **PK) for action in RUN_ACTIONS},
    "run-scorings": pages(**PK),
    "review-list": Rule({}, {"GET": READ, "POST": LAUNCH}),
    "review-detail": Rule(PK, {"GET": READ, "DELETE": LAUNCH}),
    **{f"review-{action}": writes(LAUNCH, **PK) for action in ("close", "reopen")},
    "review-export": pages(pk=1, form="csv"),
    "review-import": writes(EDIT, **PK),
    "calibration-list": Rule({}, {"GET": READ, "POST": LAUNCH}),
    "calibration-detail": Rule(PK, {"GET": READ, "DELETE": LAUNCH}),
    "judge-agreement": pages(),
    **{f"calibration-{action}": writes(LAUNCH, **PK) for action in ("cancel", "resume")},
    "preference-list": Rule({}, {"GET": READ, "POST": LAUNCH}),
    "preference-plan": writes(LAUNCH),
    "preference-detail": Rule(PK, {"GET": READ, "DELETE": LAUNCH}),
    **{f"preference-{action}": writes(LAUNCH, **PK) for action in ("cancel", "resume")},
    "experiment-list": Rule({}, {"GET": READ, "POST": LAUNCH}),
    "experiment-plan": writes(LAUNCH),
    "experiment-detail": Rule(PK, {"GET": READ, "PATCH": LAUNCH, "DELETE": LAUNCH}),
    **{f"experiment-{action}": writes(LAUNCH, **PK) for action in EXPERIMENT_ACTIONS},
    "pushed-run-list": Rule({}, {"GET": READ, "POST": EDIT}),
    "pushed-run-detail": Rule(PK, {"GET": READ, "DELETE": EDIT}),
    "pushed-run-results": Rule(PK, {"GET": READ, "POST": EDIT}),
    "pushed-run-close": writes(EDIT, **PK),
    "import-file": writes(EDIT),
    "import-dataset": writes(EDIT),
    "provider-list": pages(),
    "provider-detail": pages(name="openai"),
    **{f"provider-{action}": writes(LAUNCH, name="none") for action in ("check", "test")},
    "system-list": writes(ADMIN),
    "system-detail": Rule({"name": "none"}, {"PUT": ADMIN, "DELETE": ADMIN}),
    "system-trials": writes(ADMIN),
    "experiment-tasks": pages(**PK),
    "run-statistics": pages(**PK),
    "result-list": pages(**PK),
    "result-steps": pages(**PK),
    "result-labels": Rule(PK, {"GET": READ, "POST": LABEL}),
    "run-export": pages(pk=1, form="csv"),
    "runs-export": pages(form="csv"),
    "contamination-check": writes(LAUNCH, **PK),
    "judge-corrected": pages(),
    "run-gate": writes(LAUNCH, **PK),
    "run-self-check": pages(**PK),
    "gate-series-list": pages(),
    "gate-series": pages(slug="none"),
    "gate-series-reset": writes(LAUNCH, slug="none"),
    "compare": pages(),
    "overall-leaderboard": pages(),
    "history": pages(),
    "matrix-export": pages(form="csv"),
    "plan": writes(LAUNCH),
    "metric-list": pages(),
    "installation": pages(),
    "api-root": pages(),
    "prometheus": pages(),
    "schema": pages(),
    "docs": pages(),
    "login": Rule({}, {"GET": OPEN, "POST": OPEN}),
    "admin-login": Rule({}, {"GET": frozenset()}),
    "logout": writes(OPEN),
    "frontend:overview": pages(),
    "frontend:live": pages(),
    "frontend:benchmarks": pages(),
    "frontend:theme": writes(OPEN),
    "frontend:datasets": pages(),
    "frontend:dataset": pages(slug="sums"),
    "frontend:dataset-tasks": pages(slug="sums"),
    "frontend:dataset-versions": pages(slug="sums"),
    "frontend:dataset-files": pages(slug="sums"),
    "frontend:new-dataset": Rule({"way": "file"}, {"GET": EDIT, "POST": EDIT}),
    "frontend:edit-dataset": Rule({"slug": "sums", "way": "yaml"}, {"GET": EDIT, "POST": EDIT}),
    "frontend:dataset-action": writes(EDIT, slug="sums", action="delete"),
    "frontend:download-dataset": pages(slug="sums", form="yaml"),
    "frontend:new-task": Rule({"slug": "sums"}, {"GET": EDIT, "POST": EDIT}),
    "frontend:edit-task": Rule({"slug": "sums", "pk": 1}, {"GET": EDIT, "POST": EDIT}),
    "frontend:delete-task": writes(EDIT, slug="sums", pk=1),
    "frontend:copy-results": Rule({}, {"GET": EDIT, "POST": EDIT}),
    "frontend:choose-changes": pages(slug="sums"),
    "frontend:dataset-chart": pages(slug="sums", name="none", form="svg"),
    "frontend:model": pages(name="baseline/reference"),
    "frontend:model-chart": pages(model="baseline/reference", name="none", form="svg"),
    "frontend:task-analysis": pages(slug="sums"),
    "frontend:task-action": writes(EDIT, slug="sums", action="remove"),
    "frontend:changes": pages(slug="sums", old=1, new=1),
    "frontend:rescore-all": writes(LAUNCH, slug="sums", old=1, new=1),
    "frontend:task": pages(slug="sums", pk=1),
    "frontend:experiments": pages(),
    "frontend:experiment": pages(**PK),
    "frontend:experiment-status": pages(**PK),
    **{f"frontend:experiment-{tab}": pages(**PK) for tab in ("answers", "failures", "cost", "setup")},
    "frontend:experiment-tasks": pages(**PK),
    "frontend:experiment-chart": pages(pk=1, name="none", form="svg"),
    "frontend:experiment-action": writes(LAUNCH, pk=1, action="cancel"),
    "frontend:runs": pages(),
    **{f"frontend:{kind}-runs": pages() for kind in ("single", "imported", "scheduled")},
    "frontend:selected-runs": writes(LAUNCH),
    "frontend:save-view": Rule({}, {"POST": READ}, public=False),
    "frontend:delete-view": Rule({"pk": 1}, {"POST": READ}, public=False),
    "frontend:new-experiment": pages(),
    "frontend:launch": Rule({}, {"GET": LAUNCH, "POST": LAUNCH}),
    "frontend:launch-metrics": writes(LAUNCH, slug="sums"),
    "frontend:trial": Rule({}, {"GET": LAUNCH, "POST": LAUNCH}),
    "frontend:plan": writes(LAUNCH),
    "frontend:size": writes(LAUNCH),
    "frontend:run": pages(**PK),
    "frontend:run-status": pages(**PK),
    "frontend:run-action": writes(LAUNCH, pk=1, action="cancel"),
    "frontend:rescore": Rule(PK, {"GET": LAUNCH, "POST": LAUNCH}),
    "frontend:edit-run": writes(LAUNCH, **PK),
    "frontend:run-chart": pages(pk=1, name="none", form="svg"),
    "frontend:run-export": pages(pk=1, form="csv"),
    "frontend:runs-export": pages(form="csv"),
    "frontend:dismiss-score-drop": writes(LAUNCH, pk=1),
    "frontend:share": writes(LAUNCH),
    "frontend:revoke-link": writes(LAUNCH, **PK),
    "frontend:shared": pages(OPEN, key="forged"),
    "frontend:surface": pages(**PK),
    "frontend:threshold-chart": pages(pk=1, name="none", form="svg"),
    "frontend:surface-chart": pages(pk=1, metric="exact_match", name="none", form="svg"),
    "frontend:result": pages(run_pk=1, pk=1),
    "frontend:steps": pages(run_pk=1, pk=1),
    "frontend:step": pages(run_pk=1, pk=1, position=1),
    "frontend:try-rubric": Rule({"run_pk": 1, "pk": 1}, {"GET": LAUNCH, "POST": LAUNCH}),
    "frontend:label-result": writes(LABEL, run_pk=1, pk=1),
    "frontend:whole-text": pages(run_pk=1, pk=1, part="input"),
    "frontend:canvases": pages(),
    "frontend:new-canvas-set": Rule({}, {"GET": EDIT, "POST": EDIT}),
    "frontend:canvas-preview": pages(),
    "frontend:gallery": pages(slug="none"),
    "frontend:audit": pages(slug="none"),
    "frontend:canvas": pages(slug="none", index=1),
    "frontend:picture": pages(slug="none", index=1),
    "frontend:reviews": pages(),
    "frontend:new-review": Rule({}, {"GET": LAUNCH, "POST": LAUNCH}),
    "frontend:review": pages(**PK),
    "frontend:review-label": Rule(PK, {"GET": LABEL, "POST": LABEL}),
    "frontend:review-action": writes(LAUNCH, pk=1, action="close"),
    "frontend:review-export": pages(pk=1, form="csv"),
    "frontend:review-import": writes(EDIT, **PK),
    "frontend:judges": pages(),
    "frontend:preferences": pages(),
    "frontend:new-preference": Rule({}, {"GET": LAUNCH, "POST": LAUNCH}),
    "frontend:preference": pages(pk=1),
    "frontend:preference-pairs": pages(pk=1),
    "frontend:preference-action": writes(LAUNCH, pk=1, action="cancel"),
    "frontend:new-calibration": Rule({}, {"GET": LAUNCH, "POST": LAUNCH}),
    "frontend:judge-agreement": pages(),
    "frontend:judge-agreement-chart": pages(name="none", form="svg"),
    "frontend:calibration": pages(pk=1),
    "frontend:calibration-action": writes(LAUNCH, pk=1, action="cancel"),
    "frontend:calibration-progress": pages(pk=1),
    "frontend:models": pages(),
    "frontend:providers": pages(),
    "frontend:check-providers": writes(LAUNCH),
    "frontend:test-model": writes(LAUNCH),
    "frontend:provider-key": writes(ADMIN),
    "frontend:provider-address": writes(ADMIN),
    "frontend:model-price": writes(ADMIN),
    "frontend:add-system": Rule({}, {"GET": ADMIN, "POST": ADMIN}),
    "frontend:edit-system": Rule({"name": "none"}, {"GET": ADMIN, "POST": ADMIN}),
    "frontend:delete-system": writes(ADMIN, name="none"),
    "frontend:local-model": Rule({}, {"GET": ADMIN, "POST": ADMIN}),
    "frontend:compare": pages(),
    "frontend:compare-tasks": pages(),
    "frontend:compare-chart": pages(name="none", form="svg"),
    "frontend:workers": pages(),
    "frontend:settings": members(),
    "frontend:schedules": members(),
    "frontend:schedule": members(**PK),
    "frontend:new-schedule": pages(EDIT),
    "frontend:edit-schedule": pages(EDIT, **PK),
    "frontend:tokens": members(),
    "frontend:new-token": Rule({}, {"GET": READ, "POST": READ}, public=False),
    "frontend:revoke-token": Rule({"pk": 1}, {"POST": READ}, public=False),
    "frontend:webhooks": members(),
    "frontend:new-webhook": Rule({}, {"GET": ADMIN, "POST": ADMIN}),
    "frontend:webhook": Rule({"name": "none"}, {"GET": READ, "POST": ADMIN}, public=False),
    "frontend:renew-webhook": writes(ADMIN, name="none"),
    "frontend:delete-webhook": writes(ADMIN, name="none"),
    "frontend:test-webhook": writes(ADMIN, name="none"),
    "frontend:send-delivery": writes(ADMIN, name="none", delivery=UUID(int=1)),
    "frontend:share-links": pages(LAUNCH),
    "frontend:import-runs": Rule({}, {"GET": EDIT, "POST": EDIT}),
    "frontend:delete-pushed-run": writes(EDIT, pk=1),
    "frontend:members": pages(ADMIN),
    "frontend:new-member": Rule({}, {"GET": ADMIN, "POST": ADMIN}),
    "frontend:member": Rule(PK, {"GET": ADMIN, "POST": ADMIN}),
    "frontend:member-action": writes(ADMIN, pk=1, action="deactivate"),
    "frontend:set-password": Rule({"uidb64": "MQ", "token": "none"}, {"GET": OPEN, "POST": OPEN}),
    "frontend:schedule-action": writes(EDIT, pk=1, action="pause"),
    "frontend:search": pages(),
    "frontend:help": pages(),
    "frontend:document": pages(name="statistics"),
    "frontend:leaderboard": pages(),
    "frontend:overall-leaderboard": pages(),
    "frontend:matrix-export": pages(form="csv"),
    "frontend:leaderboard-chart": pages(name="none", form="svg"),
}
ROUTES = {route.name: route for route in all_routes() if not route.name.startswith("admin:")}
CASES = [(name, method) for name, rule in RULES.items() for method in rule.who]
WRITES = [(name, method) for name, method in CASES if method != "GET" and name not in ("login", "logout")]


@pytest.fixture
def production(settings: Any, db: None) -> None:
    """Production as visitors see it, with a run and a dataset."""
    settings.DEV_MODE = settings.PUBLIC_READING = False
    make_run(make_dataset(2, slug="sums"), model="baseline/reference")


def account(name: str) -> User:
    user = User.objects.create_user(name, password="x")
    assign_group(user, name)
    return user


def client_of(actor: str, *, csrf: bool = False) -> Client:
    client = Client(enforce_csrf_checks=csrf, raise_request_exception=False)
    if actor != NOBODY:
        client.force_login(account(actor), backend="django.contrib.auth.backends.ModelBackend")
    return client


def ask(client: Client, name: str, method: str, **headers: str) -> HttpResponse:
    """The response to one request, whose changes to the database and to the client's cookies are undone."""
    arguments = dict(RULES[name].arguments)
    if run := Run.objects.first():
        arguments |= {key: run.pk for key in ("pk", "run_pk") if key in arguments and "slug" not in arguments}
    body = {"content_type": "application/json", "data": "{}"} if ROUTES[name].api_methods else {}
    savepoint, cookies = transaction.savepoint(), copy(client.cookies)
    try:
        return client.generic(method, reverse(name, kwargs=arguments), headers=headers, **body)
    finally:
        transaction.savepoint_rollback(savepoint)
        client.cookies = cookies


def let_through(response: HttpResponse) -> bool:
    """Whether the request was neither refused nor sent to the login. Missing objects and empty requests come later."""
    assert response.status_code < 500, response.content[:500]
    sent_to_login = response.status_code == 302 and response["Location"].startswith(("/login/", "/admin/login/"))
    return response.status_code not in (401, 403) and not sent_to_login


def test_every_route_and_every_method_of_the_api_is_in_the_table() -> None:
    assert set(ROUTES) == set(RULES)
    api = [route for route in ROUTES.values() if route.api_methods]
    assert {route.name: route.api_methods for route in api} == {route.name: set(RULES[route.name].who) for route in api}


def test_every_route_lets_through_whom_it_should(production: None) -> None:
    clients = {actor: client_of(actor) for actor in ACTORS}
    for name, method in CASES:
        passed = {actor for actor, client in clients.items() if let_through(ask(client, name, method))}
        assert passed == RULES[name].who[method], (name, method)


def test_a_reviewers_name_is_shown_by_no_route_to_those_who_may_not_see_it(production: None) -> None:
    dataset = make_dataset(3, slug="labeled")
    runs = [make_scored_run(dataset, [1.0, 0.0, 1.0], metrics=("correctness",), judge_model="loop/judge") for _ in "ab"]
    reviewer = User.objects.create_user("zaphod")
    request = {"name": "Closed", "runs": [run.pk for run in runs], "overlap": 0, "blind": False}
    queues = [create_review({**request, "metric": name}) for name in ("correctness", "preference")]
    for queue in queues:
        item = start_labeling(queue, reviewer)
        while item:
            item = save_and_next(queue, item.pk, {"value": 0, "flags": ["task_unclear"]}, reviewer)
        close_review(queue)
    answers, pairs = queues
    page_query = "?judge=loop/judge&metric=correctness&runs=" + ",".join(str(run.pk) for run in runs)
    api_query = {"judge-agreement": "?judge_model=loop/judge&metric=correctness"}
    seen: dict[str, set[str]] = {}
    for actor in ("viewer", "runner", "editor"):
        client, seen[actor] = client_of(actor), set()
        for name in (name for name, method in CASES if method == "GET"):
            feature = name.removeprefix("frontend:").partition("-")[0]
            own = {
                "review": answers.pk,
                "result": runs[0].results.first().pk,  # type: ignore[union-attr]
                "preference": pairs.source["preference"],
            }
            given = {"pk": own.get(feature, runs[0].pk), "run_pk": runs[0].pk, "slug": "labeled"}
            arguments = RULES[name].arguments | {key: given[key] for key in given if key in RULES[name].arguments}
            query = page_query if name.startswith("frontend:") else api_query.get(name, "")
            response = client.get(reverse(name, kwargs=arguments) + query)
            body = response.getvalue() if response.streaming else response.content
            if b"zaphod" in body:
                seen[actor].add(name)
    assert seen["viewer"] == seen["runner"] == set()
    exports = {"review-export", "frontend:review-export"}
    assert seen["editor"] >= exports | {"result-labels", "frontend:result", "frontend:review"}


def test_a_page_answers_no_method_that_is_not_in_the_table(production: None) -> None:
    client = client_of("admin")
    for name in (name for name in RULES if not ROUTES[name].api_methods):
        others = {"GET", "POST", "PUT", "PATCH", "DELETE"} - set(RULES[name].who)
        if name == "login":
            others.discard("PUT")  # Django's form views treat PUT as POST
        assert {ask(client, name, method).status_code for method in others} == {405}, name


def test_a_write_without_a_csrf_token_is_refused_to_a_session(production: None) -> None:
    client = client_of("admin", csrf=True)
    for name, method in WRITES:
        assert ask(client, name, method).status_code == 403, (name, method)


def test_a_token_needs_the_scope_of_its_request(production: None) -> None:
    admin = account("admin")
    tokens = {scope: create_token(admin, scope, [scope])[1] for scope in {*SCOPES.values()}}
    client = Client(enforce_csrf_checks=True)
    for name, method in (case for case in CASES if ROUTES[case[0]].api_methods):
        passed = {
            scope
            for scope, text in tokens.items()
            if let_through(ask(client, name, method, Authorization=f"Bearer {text}"))
        }
        assert passed == {SCOPES[RULES[name].who[method]]}, (name, method)


def admin_paths() -> list[str]:
    paths = set()
    for route in all_routes():
        if not route.name.startswith("admin:") or route.name in ("admin:login", "admin:logout", "admin:jsi18n"):
            continue
        for arguments in ([], ["1"], ["1", "1"]):
            try:
                paths.add(reverse(route.name, args=arguments))
            except NoReverseMatch:
                continue
    return sorted(paths)


def test_only_staff_opens_pages_of_the_admin(production: None) -> None:
    paths = admin_paths()
    assert len(paths) > 50
    for actor in (NOBODY, "viewer", "reviewer", "runner"):
        client = client_of(actor)
        for method in ("GET", "POST"):
            assert [path for path in paths if let_through(client.generic(method, path))] == [], (actor, method)


def test_editors_do_not_see_tokens_and_the_audit_log(production: None) -> None:
    editor, admin = client_of("editor"), client_of("admin")
    for model in ("auditentry", "apitoken"):
        address = reverse(f"admin:benchmarks_{model}_changelist")
        assert (editor.get(address).status_code, admin.get(address).status_code) == (403, 200), model


def test_public_reading_allows_reading_and_nothing_else(production: None, settings: Any) -> None:
    settings.PUBLIC_READING = True
    client = client_of(NOBODY)
    opened = {(name, method) for name, method in CASES if let_through(ask(client, name, method))}
    public = {(name, method) for name, method in CASES if RULES[name].public}
    assert opened == {(name, method) for name, method in public if RULES[name].who[method] in (OPEN, READ)}


def test_no_route_is_hidden_behind_another() -> None:
    for name, rule in RULES.items():
        assert resolve(reverse(name, kwargs=rule.arguments)).func == ROUTES[name].view, name
