"""Systems under test over the API: entered, tried, changed and deleted by who may enter keys."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from benchmarks.models import AuditEntry, EnteredSystem, RunStatus
from benchmarks.outbound import PUBLIC_ONLY
from benchmarks.services.access import assign_group, create_token
from benchmarks.services.tests.test_systems import SECRET, Bot, asked, bot
from tests.support.factories import make_dataset, make_run
from tests.support.running import worked

__all__ = ["bot"]

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = "/api/v1/benchmarks"


def call(client: Client, method: str, path: str, body: Any = None) -> Any:
    sent = b"" if body is None else json.dumps(body).encode()
    return client.generic(method, f"{ROOT}/{path}", sent, "application/json")


def client_of(role: str, *scopes: str) -> Client:
    account = User.objects.create_user(role)
    assign_group(account, role)
    return Client(headers={"Authorization": f"Bearer {create_token(account, 'script', scopes)[1]}"})


def test_a_system_is_entered_asked_changed_and_deleted(client: Client, bot: Bot) -> None:
    made = call(client, "POST", "systems", {"name": "bot", **asked(bot)})
    assert (made.status_code, made.headers["Location"]) == (201, f"http://testserver{ROOT}/providers/bot")
    assert (made.json()["name"], made.json()["kind"], made.json()["entered"]) == ("bot", "http", True)
    run = worked(make_run(make_dataset(2), model="bot", metrics=["contains"]))
    assert run.status == RunStatus.COMPLETED
    path, headers, _ = bot.seen[-1]
    assert (headers["X-Key"], path) == (SECRET, f"/ask?tenant=7&api_key={SECRET}")

    changed = call(client, "PUT", "systems/bot", asked(bot, headers={"X-Key": ""}, body={"question": "Q: {input}"}))
    assert changed.status_code == 200
    worked(make_run(make_dataset(1, slug="other"), model="bot", metrics=["contains"]))
    assert bot.seen[-1][1]["X-Key"] == SECRET
    assert bot.seen[-1][2].startswith(b'{"question":"Q: ')

    shown = made.content + changed.content + client.get(f"{ROOT}/providers/bot").content
    assert SECRET.encode() not in shown
    assert call(client, "DELETE", "systems/bot").status_code == 204
    assert not EnteredSystem.objects.exists()
    said = list(AuditEntry.objects.filter(action__startswith="system.").order_by("pk").values_list("action", flat=True))
    assert said == ["system.add", "system.change", "system.delete"]


def test_a_trial_shows_the_reply_and_what_a_run_would_read_and_stores_nothing(client: Client, bot: Bot) -> None:
    trial = call(client, "POST", "system-trials", {**asked(bot), "question": "How high?"})
    assert trial.status_code == 200, trial.content
    given = trial.json()
    assert (given["status"], given["answer"], given["retrieved"], given["error"]) == (200, "How high?", ["a", "b"], "")
    assert given["documents"][0]["reply"]["text"] == "How high?"
    assert SECRET not in trial.content.decode()
    assert not EnteredSystem.objects.exists()

    call(client, "POST", "systems", {"name": "bot", **asked(bot)})
    kept = asked(bot, headers={"X-Key": ""}, answer="nowhere")
    failed = call(client, "POST", "system-trials", {**kept, "question": "Hi", "system": "bot"}).json()
    assert bot.seen[-1][1]["X-Key"] == SECRET
    assert failed["answer"] is None
    assert "nowhere" in failed["error"]


@pytest.mark.parametrize(
    ("asked_for", "changed", "refusal"),
    [
        ("POST systems", {"name": "Bot!"}, (400, "Use up to 60 of the characters")),
        ("POST systems", {"name": "filed"}, (400, "is the name of a provider")),
        ("POST systems", {}, (400, "name")),
        ("POST systems", {"name": "b", "command": ["rm"]}, (400, "command")),
        ("POST systems", {"name": "b", "kind": "command"}, (400, "kind")),
        ("POST systems", {"name": "b", "url": "file:///etc/passwd"}, (400, "is not an HTTP(S) URL")),
        ("POST systems", {"name": "b", "body": {"q": 1}}, (400, "is the question")),
        ("POST systems", {"name": "b", "answer": "a["}, (400, "answer")),
        ("POST systems", {"name": "b", "headers": {"X": "a\r\nHost: x"}}, (400, "cannot be sent")),
        ("POST systems", [1], (400, "")),
        ("PUT systems/none", {}, (404, "No system none was entered here")),
        ("PUT systems/filed", {}, (404, "Those of codeforge.yaml are changed there")),
        ("DELETE systems/none", None, (404, "No system none was entered here")),
        ("POST system-trials", {}, (400, "question")),
        ("POST system-trials", {"question": "Hi", "system": "none"}, (409, "No system none was entered here")),
    ],
)
def test_what_cannot_be_entered_is_refused_with_the_reason(
    client: Client, bot: Bot, asked_for: str, changed: Any, refusal: tuple[int, str]
) -> None:
    body = {**asked(bot), **changed} if isinstance(changed, dict) else changed
    refused = call(client, *asked_for.split(), body)
    status, said = refusal
    assert (refused.status_code, said in refused.content.decode()) == (status, True), refused.content
    assert not EnteredSystem.objects.exists()
    assert not bot.seen


def test_addresses_that_are_not_allowed_are_neither_stored_nor_asked(client: Client, bot: Bot, settings: Any) -> None:
    settings.OUTBOUND = PUBLIC_ONLY
    for path, more in (("systems", {"name": "bot"}), ("system-trials", {"question": "Hi"})):
        refused = call(client, "POST", path, {**asked(bot), **more})
        assert (refused.status_code, list(refused.json())) == (400, ["url"]), path
    assert not bot.seen


def test_a_system_that_a_run_asks_is_neither_changed_nor_deleted(client: Client, bot: Bot) -> None:
    call(client, "POST", "systems", {"name": "bot", **asked(bot)})
    make_run(make_dataset(1), model="bot", metrics=["contains"])
    for method, body in (("PUT", asked(bot)), ("DELETE", None)):
        assert call(client, method, "systems/bot", body).status_code == 409, method


def test_without_keys_on_the_page_there_are_no_entered_systems(bot: Bot, settings: Any) -> None:
    settings.DEV_MODE = settings.KEYS_ON_PAGE = False
    client = client_of("admin", "edit")
    assert call(client, "POST", "systems", {"name": "bot", **asked(bot)}).status_code == 409
    assert call(client, "POST", "system-trials", {**asked(bot), "question": "Hi"}).status_code == 409
    assert not bot.seen


@pytest.mark.parametrize(
    ("role", "scope", "refusal"),
    [
        ("runner", "launch", "Only administrators can enter"),
        ("editor", "edit", "Only administrators can enter"),
        ("admin", "launch", "The token lacks the scope edit"),
        ("admin", "edit", ""),
    ],
)
def test_a_token_enters_systems_for_an_administrator_with_the_scope_to_edit(
    bot: Bot, settings: Any, role: str, scope: str, refusal: str
) -> None:
    settings.DEV_MODE, settings.KEYS_ON_PAGE = False, True
    made = call(client_of(role, scope), "POST", "systems", {"name": "bot", **asked(bot)})
    assert made.status_code == (403 if refusal else 201), made.content
    assert refusal in made.content.decode()
