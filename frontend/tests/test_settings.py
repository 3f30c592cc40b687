"""The settings: each page with its forms, and who finds them."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from benchmarks.engine.webhooks.outbox import enqueue_status
from benchmarks.imports.tests import logs
from benchmarks.imports.tests.logs import inspect_log, inspect_sample
from benchmarks.models import (
    ApiToken,
    AuditEntry,
    Dataset,
    Experiment,
    Label,
    Run,
    RunStatus,
    Schedule,
    ScheduledRun,
    ShareLink,
    Webhook,
    WebhookDelivery,
)
from benchmarks.presentation.labels import EVENT
from benchmarks.queries.webhooks import webhook_rows
from benchmarks.services.access import assign_group, create_token, may_edit, may_launch, token_of
from benchmarks.services.schedules import save_schedule
from tests.support.factories import make_dataset, make_run
from tests.support.page_factories import make_scored_run
from tests.support.receiver import SECRET, SECRET_ENV, Receiver, receiving
from tests.support.stack import ROOT

pytestmark = pytest.mark.django_db

TITLES = ("Schedules", "API tokens", "Webhooks", "Share links", "Import runs", "Members")
MODEL = "baseline/reference"
NIGHTLY = {
    **{"name": "Nightly", "when": "03:00", "dataset": "sums", "model": MODEL, "do": "start"},
    **{"given-sums": "exact_match", "metrics-sums": ["contains"]},
}


def page(client: Client, address: str, sent: dict[str, Any] | None = None, status: int = 200) -> str:
    """The page, after following redirects, with its white space collapsed."""
    response = client.get(address) if sent is None else client.post(address, sent, follow=True)
    assert response.status_code == status, address
    return " ".join(response.content.decode().split())


def member(role: str, name: str = "") -> tuple[User, Client]:
    account = User.objects.create_user(name or role, password="a long walk")
    assign_group(account, role)
    client = Client()
    client.force_login(account, backend="django.contrib.auth.backends.ModelBackend")
    return account, client


@pytest.fixture
def production(settings: Any) -> None:
    settings.DEV_MODE = settings.PUBLIC_READING = False


def make_schedule(user: User | None = None, **fields: Any) -> Schedule:
    make_dataset(2)
    request = {"dataset": "sums", "model": MODEL, "metrics": ["contains"]}
    return save_schedule(**{"name": "Nightly", "when": "0 3 * * 1-5", "request": request, "user": user, **fields})


def test_a_schedule_is_created_changed_paused_resumed_and_deleted(client: Client) -> None:
    make_dataset(2)
    assert "No schedules yet" in page(client, "/settings/schedules/")
    assert 'href="/runs/new/?when=03:00"' in page(client, "/settings/schedules/")
    assert "Save schedule" in page(client, "/runs/new/?when=03:00")
    html = page(client, "/runs/new/", NIGHTLY)
    assert "Nightly saved." in html
    assert "Every day at 03:00" in html
    found = Schedule.objects.get()
    assert found.request["metrics"] == ["contains"]
    address = f"/settings/schedules/{found.pk}/"
    edit = f"/runs/new/?schedule={found.pk}"
    assert f'href="{edit}">Edit schedule' in html
    html = page(client, edit)
    for filled in ("<h1>Edit Nightly</h1>", 'value="03:00"', 'value="Nightly"', f'value="{MODEL}" checked'):
        assert filled in html, filled
    changed = {**NIGHTLY, "schedule": found.pk, "when": "0 3 * * 1-5"}
    assert "Monday to Friday at 03:00" in page(client, "/runs/new/", changed)
    assert Schedule.objects.get().pk == found.pk
    assert "It starts no runs." in page(client, f"{address}do/pause/", {})
    assert "Paused: it starts no runs." in page(client, "/runs/new/", changed), "one that is paused stays so"
    assert Schedule.objects.get().next_run_at is None
    assert "Paused" in page(client, "/settings/schedules/")
    assert "Nightly resumed." in page(client, f"{address}do/resume/", {})
    assert Schedule.objects.get().next_run_at is not None
    assert "<h1>Delete schedule Nightly?</h1>" in page(client, f"{address}do/delete/", {})
    assert "Nightly deleted." in page(client, f"{address}do/delete/", {"confirmed": "yes"})
    assert not Schedule.objects.exists()
    assert client.post(f"{address}do/paint/").status_code == 404


def test_errors_of_a_schedule_stand_at_their_fields_and_keep_what_was_typed(client: Client) -> None:
    make_schedule()
    html = page(client, "/runs/new/", {**NIGHTLY, "when": "at night", "model": "nonsense"}, status=400)
    assert "Not saved. Fix the highlighted fields." in html
    for field, error in (("name", "already exists"), ("when", "Enter a time of day")):
        assert error in html.partition(f'id="id_{field}_error"')[2][:200], field
    assert "provider/model" in html.partition('id="models-title"')[2].partition('id="models-options"')[0]
    assert 'value="at night"' in html
    assert Schedule.objects.count() == 1


def test_a_schedule_is_changed_by_whoever_may_change_it(production: None) -> None:
    schedule = make_schedule()
    _, client = member("runner")
    for sent in ({"when": "03:00"}, {"schedule": schedule.pk}):
        page(client, "/runs/new/", {**NIGHTLY, **sent}, status=403)
    page(client, f"/runs/new/?schedule={schedule.pk}", status=403)
    _, client = member("editor")
    page(client, "/runs/new/?schedule=999", status=404)
    page(client, "/runs/new/", {**NIGHTLY, "schedule": "999"}, status=404)
    again = client.get(f"/runs/new/?schedule={schedule.pk}&dataset=sums")
    assert "<h1>Edit Nightly</h1>" in again.content.decode()
    assert again.context["form"].models == [], "an address with fields says all"


def test_a_run_started_by_hand_belongs_to_its_schedule_and_to_who_started_it(production: None) -> None:
    ada, _ = member("editor", "ada")
    ben, client = member("editor", "ben")
    schedule = make_schedule(ada)
    address = f"/settings/schedules/{schedule.pk}/"
    assert "Run 1 queued." in page(client, f"{address}do/run/", {}).replace(f"Run {Run.objects.get().pk}", "Run 1")
    run = Run.objects.get()
    assert (run.created_by, run.scheduled.schedule) == (ben, schedule)
    assert "is still in progress" in page(client, f"{address}do/run/", {})
    assert Run.objects.count() == 1
    schedule.refresh_from_db()
    assert (schedule.account, schedule.last_problem) == (ada, "")
    Run.objects.update(status=RunStatus.FAILED)
    Schedule.objects.update(request={**schedule.request, "dataset": "gone"})
    assert "No run started." in page(client, f"{address}do/run/", {})


def test_pausing_keeps_whose_permissions_the_runs_use(production: None) -> None:
    ada, _ = member("admin", "ada")
    _, client = member("editor", "ben")
    schedule = make_schedule(ada)
    for action in ("pause", "pause", "resume"):
        page(client, f"/settings/schedules/{schedule.pk}/do/{action}/", {})
    schedule.refresh_from_db()
    assert schedule.account == ada
    changes = AuditEntry.objects.filter(action="schedule.change").order_by("pk")
    assert [(entry.account_name, entry.detail) for entry in changes] == [
        ("ben", {"enabled": False}),
        ("ben", {"enabled": True}),
    ]


def test_editing_a_schedule_keeps_the_order_of_its_metrics(client: Client) -> None:
    metrics = ["rouge_l", "contains", "exact_match"]
    schedule = make_schedule(request={"dataset": "sums", "model": MODEL, "metrics": metrics})
    old = client.get(f"/settings/schedules/{schedule.pk}/edit/")
    html = page(client, old["Location"])
    ticked = re.findall(r'name="metrics-sums" value="(\w+)"', html)
    given = re.findall(r'name="given-sums" value="([^"]+)"', html)
    assert [ticked] == [given[0].split(",")] == [metrics]
    sent = {**NIGHTLY, "schedule": schedule.pk, "metrics-sums": ticked, "given-sums": given[0]}
    page(client, "/runs/new/", sent)
    assert Schedule.objects.get().request["metrics"] == metrics


def test_a_schedule_can_be_made_from_a_run(client: Client) -> None:
    schedule = make_schedule()
    page(client, f"/settings/schedules/{schedule.pk}/do/run/", {})
    pk = Run.objects.get().pk
    assert f'href="/runs/new/?like={pk}&amp;when=03:00">Schedule run</a>' in page(client, f"/runs/{pk}/")
    old = client.get(f"/settings/schedules/new/?run={pk}")
    assert old["Location"] == f"/runs/new/?like={pk}&when=03:00"
    html = page(client, old["Location"])
    assert f'value="{MODEL}" checked' in html
    assert "Save schedule" in html
    assert client.get("/settings/schedules/new/?run=999").status_code == 404


def test_a_token_is_shown_once_works_and_is_revoked(production: None) -> None:
    ada, client = member("admin", "ada")
    sent = {"account": ada.pk, "name": "Nightly job", "scopes": ["read", "launch"], "expires_at": "30"}
    html = page(client, "/settings/tokens/new/", sent)
    text = html.partition('class="mono" value="')[2].partition('"')[0]
    token = token_of(text)
    assert token is not None
    assert (token.account, token.scopes) == (ada, ["read", "launch"])
    assert token.expires_at is not None
    assert round((token.expires_at - timezone.now()) / timedelta(days=1)) == 30
    listed = page(client, "/settings/tokens/")
    assert "Nightly job" in listed
    assert text not in listed
    assert client.get("/settings/tokens/")["Cache-Control"].startswith("max-age=0")
    again = page(client, "/settings/tokens/new/", sent, status=400)
    assert "already has a token named" in again.partition('id="id_name_error"')[2][:120]
    assert "Revoke token Nightly job of ada?" in page(client, f"/settings/tokens/{token.pk}/revoke/", {})
    assert token_of(text) is not None
    assert "revoked" in page(client, f"/settings/tokens/{token.pk}/revoke/", {"confirmed": "yes"})
    assert token_of(text) is None
    assert f"/settings/tokens/{token.pk}/revoke/" not in page(client, "/settings/tokens/")
    assert [*AuditEntry.objects.filter(account=ada).order_by("pk").values_list("action", flat=True)] == [
        "token.create",
        "token.revoke",
    ]


def test_what_tokens_and_webhooks_are_for_fills_in_their_form(client: Client) -> None:
    cases = (
        ("/settings/tokens/", "CI job", 'value="CI job"', ["read", "launch"]),
        ("/settings/webhooks/", "Team chat", "", ["run.failed", "score.dropped"]),
    )
    for path, use, shown, ticked in cases:
        [url] = re.findall(rf'href="([^"]+)">{use}<', page(client, path))
        form = page(client, unescape(url))
        assert shown in form
        assert sorted(re.findall(r'value="([^"]+)"[^>]* checked', form)) == sorted(ticked)


def test_what_explains_a_list_is_folded_below_it(production: None) -> None:
    account, client = member("admin", "ada")
    html = page(client, "/settings/tokens/")
    assert "<details> <summary><h2>How to use a token" in html
    assert html.count(">New token</a>") == 1, "the next step of an empty list"
    assert '<a class="button primary" href="/settings/tokens/new/">New token</a>' in html
    create_token(account, "token", {"read"}, by=account)
    html = page(client, "/settings/tokens/")
    assert "<details> <summary><h2>How to use a token" in html
    assert '<div class="actions"><a class="button" href="/settings/tokens/new/">New token</a>' in html


def test_the_runs_before_the_latest_stand_below_few_schedules(client: Client) -> None:
    schedule = make_schedule()
    first, last = (make_scored_run(Dataset.objects.get()) for _ in range(2))
    ScheduledRun.objects.create(schedule=schedule, run=first, due_at=timezone.now())
    assert "Earlier runs" not in page(client, "/settings/schedules/"), "it has the latest only"
    ScheduledRun.objects.create(schedule=schedule, run=last, due_at=timezone.now())
    earlier = page(client, "/settings/schedules/").partition("<h2>Earlier runs</h2>")[2]
    assert f"Run {first.pk} ·" in earlier
    assert f"Run {last.pk} ·" not in earlier


def test_errors_of_a_token_stand_at_their_fields(production: None) -> None:
    ada, client = member("admin", "ada")
    html = page(client, "/settings/tokens/new/", {"account": ada.pk, "name": ""}, status=400)
    assert "Token not created." in html
    for error in ('id="id_name_error"', 'id="id_scopes_error"'):
        assert error in html
    sent = {"account": ada.pk, "name": "x", "scopes": ["read"], "expires_at": "yesterday"}
    html = page(client, "/settings/tokens/new/", sent, status=400)
    assert "not one of the available choices" in html.partition('id="id_expires_at_error"')[2][:120]


def test_an_account_sees_its_own_tokens_and_an_administrator_all(production: None) -> None:
    ada, admin = member("admin", "ada")
    vera, viewer = member("viewer", "vera")
    create_token(ada, "of ada", ["read"])
    token, _ = create_token(vera, "of vera", ["read"])
    assert "of ada" in page(admin, "/settings/tokens/")
    assert "of vera" in page(admin, "/settings/tokens/")
    html = page(viewer, "/settings/tokens/")
    assert "of vera" in html
    assert "of ada" not in html
    other = ApiToken.objects.get(name="of ada")
    assert viewer.post(f"/settings/tokens/{other.pk}/revoke/", {"confirmed": "yes"}).status_code == 403
    assert "Token of vera revoked." in page(viewer, f"/settings/tokens/{token.pk}/revoke/", {"confirmed": "yes"})
    assert 'name="account"' not in page(viewer, "/settings/tokens/new/")
    page(viewer, "/settings/tokens/new/", {"account": ada.pk, "name": "mine", "scopes": ["read", "launch"]})
    assert ApiToken.objects.get(name="mine").account == vera


@pytest.fixture
def receiver(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """The webhook ``ops``, which refuses the first message."""
    monkeypatch.setenv(SECRET_ENV, SECRET)
    with receiving([500]) as receiver:
        webhooks = {"ops": receiver.webhook(), "quiet": receiver.webhook(events=["run.failed"])}
        settings.CODEFORGE = settings.CODEFORGE.model_copy(update={"webhooks": webhooks})
        yield receiver


def make_delivery(run: Run, state: str, address: str = "ops", **fields: Any) -> WebhookDelivery:
    now = timezone.now()
    return WebhookDelivery.objects.create(
        run=run, address=address, event="run.completed", state=state, next_attempt_at=now, **fields
    )


def test_webhooks_are_listed_with_their_deliveries_and_without_their_addresses(
    client: Client, receiver: Receiver
) -> None:
    run = make_run(model=MODEL)
    make_delivery(run, "delivered", delivered_at=timezone.now())
    make_delivery(run, "given_up", last_error="<i>500</i>")
    make_delivery(run, "delivered", address="former")
    html = page(client, "/settings/webhooks/")
    counts = re.compile(r'1 delivered,\s*<a href="/settings/webhooks/ops/\?state=given_up">1 given up</a>')
    assert counts.search(html)
    for shown in ("ops</a>", "quiet</a>", "127.0.0.1", "Run failed"):
        assert shown in html, shown
    for secret in ("/hook", "for=tests", SECRET, SECRET_ENV):
        assert secret not in html, secret
    html = page(client, "/settings/webhooks/ops/")
    assert "&lt;i&gt;500&lt;/i&gt;" in html
    assert html.count("Send again</button>") == 2
    assert "Send test</button>" in html
    html = page(client, "/settings/webhooks/ops/?state=given_up")
    assert html.count("Send again</button>") == 1
    assert "This webhook was removed." in page(client, "/settings/webhooks/former/")
    assert client.get("/settings/webhooks/unknown/").status_code == 404


@pytest.mark.usefixtures("receiver")
def test_a_webhook_without_a_secret_says_to_make_one_for_all_places(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SECRET_ENV)
    html = page(client, "/settings/webhooks/ops/")
    assert f"{SECRET_ENV} is not set. Set it where the workers and the web server run." in html
    assert "Make one secret for all places and the receiver:" in html
    copied = re.search(r'value="(echo [^"]+)"', html)
    assert copied
    assert "export" not in copied[1], "a line that sets the variable would make another secret in each place"


@pytest.mark.usefixtures("receiver")
def test_the_inbox_names_a_webhook_that_delivers_nothing_any_more(client: Client) -> None:
    run = make_scored_run(model="ollama/small")
    make_delivery(run, "delivered", delivered_at=timezone.now())
    make_delivery(run, "pending", attempts=1)
    make_delivery(run, "given_up", address="former")
    assert "delivers nothing" not in page(client, "/"), "it is tried again, and a removed one needs nobody"
    for state in ("given_up", "pending"):
        make_delivery(run, state, attempts=3)
    html = page(client, "/")
    assert html.count("Webhook “ops” delivers nothing") == 1
    assert "2 events not delivered since the last success." in html
    assert '<a class="button" href="/settings/webhooks/ops/">Show webhook</a>' in html
    make_delivery(run, "delivered", delivered_at=timezone.now())
    assert "delivers nothing" not in page(client, "/")


def test_a_webhook_is_added_used_changed_and_deleted(production: None, settings: Any) -> None:
    settings.KEYS_ON_PAGE = True
    _, admin = member("admin")
    with receiving() as receiver:
        url = f"{receiver.url}/secret-path"
        form = {"name": "ops", "url": url, "events": ["run.failed"]}
        shown = page(admin, "/settings/webhooks/new/", form)
        secret = re.search(r'value="(whsec_[^"]+)"', shown)
        assert secret
        assert page(admin, "/settings/webhooks/new/", form, status=400).count("A webhook named ops exists.") == 1
        stored = Webhook.objects.get()
        assert "secret-path" not in stored.sealed_url
        assert secret[1] not in stored.sealed_secret
        assert "ops accepted the test." in page(admin, "/settings/webhooks/ops/test/", {})
        key = base64.b64decode(secret[1].removeprefix("whsec_"))
        assert [(message.path, message.is_signed(key)) for message in receiver.messages] == [("/secret-path", True)]
        run = make_run(model=MODEL)
        enqueue_status(run.pk, RunStatus.COMPLETED)
        enqueue_status(run.pk, RunStatus.FAILED)
        assert [delivery.event for delivery in WebhookDelivery.objects.all()] == ["run.failed"]
        run.delete()

        assert "Webhook ops saved." in page(admin, "/settings/webhooks/ops/", {"url": "", "events": [*EVENT]})
        assert "All events" in page(admin, "/settings/webhooks/ops/")
        renewed = page(admin, "/settings/webhooks/ops/secret/", {"confirmed": "yes"})
        assert secret[1] not in renewed
        page(admin, "/settings/webhooks/ops/test/", {})
        assert not receiver.messages[-1].is_signed(key)
        for path in ("", "ops/"):
            html = page(admin, f"/settings/webhooks/{path}")
            assert "127.0.0.1" in html
            assert "secret-path" not in html
    Webhook.objects.update(sealed_secret=stored.sealed_url)  # opens as little as under another SECRET_KEY
    assert "cannot be decrypted" in page(admin, "/settings/webhooks/ops/")
    assert "The test to ops failed. This webhook cannot be decrypted" in page(admin, "/settings/webhooks/ops/test/", {})
    assert "Webhook ops deleted." in page(admin, "/settings/webhooks/ops/delete/", {"confirmed": "yes"})
    assert not Webhook.objects.exists()


def test_a_webhook_that_cannot_be_is_refused_at_its_field(production: None, settings: Any, receiver: Receiver) -> None:
    settings.KEYS_ON_PAGE = True
    _, admin = member("admin")
    wrong = {
        "Use up to 60 of the characters": {"name": "Ops!"},
        "reserved": {"name": "new"},
        "A webhook named quiet exists": {"name": "quiet"},
        "not an HTTP(S) URL": {"url": "ftp://example.com"},
        "must not contain a user name": {"url": "https://a:b@example.com"},
        "not one of the available choices": {"events": ["run.started"]},
        "Select at least one event.": {"events": []},
    }
    form = {"name": "ok", "url": "https://example.com", "events": ["run.failed"]}
    for problem, changed in wrong.items():
        assert problem in page(admin, "/settings/webhooks/new/", form | changed, status=400), problem
    settings.KEYS_ON_PAGE = False
    assert "CODEFORGE_KEYS_ON_PAGE" in page(admin, "/settings/webhooks/new/", form, status=400)
    assert not Webhook.objects.exists()
    assert admin.post("/settings/webhooks/quiet/", {"url": "https://example.com"}).status_code == 404


def test_a_test_is_sent_signed_and_a_refusal_is_reported(client: Client, receiver: Receiver) -> None:
    assert "The test to ops failed. The address returned 500." in page(client, "/settings/webhooks/ops/test/", {})
    assert "ops accepted the test." in page(client, "/settings/webhooks/ops/test/", {})
    assert [(message.json["type"], message.is_signed()) for message in receiver.messages] == [("test", True)] * 2
    assert not WebhookDelivery.objects.exists()


def test_a_test_without_its_secret_names_the_variable(
    client: Client, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SECRET_ENV)
    assert f"{SECRET_ENV} is not set" in page(client, "/settings/webhooks/ops/test/", {})
    assert receiver.messages == []


def test_what_is_wrong_with_a_webhook_is_said_once_with_a_link_to_the_document(
    client: Client, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SECRET_ENV)
    problem = next(row.problem for row in webhook_rows() if row.name == "ops")
    make_delivery(make_run(model=MODEL), "pending", last_error=problem)
    html = page(client, "/settings/webhooks/ops/")
    for path in ("/settings/webhooks/", "/settings/webhooks/ops/"):
        shown = page(client, path)
        assert shown.count(problem) == 1
        assert shown.index(problem) < shown.index("<td"), "it comes first"
        assert 'href="/help/how-to/webhooks/"' in shown
    assert "Waits for the secret" in html
    assert "They wait up to 30 days; no attempt is counted." in html
    assert "This webhook cannot deliver" in html
    assert "Send test</button>" not in html, "the message says when it can be sent"
    assert "you can send a test" in html
    assert "Next attempt" not in html, "it would deliver nothing"
    make_delivery(make_run(model=MODEL), "pending", last_error="The address returned 500.")
    assert "The address returned 500." in page(client, "/settings/webhooks/ops/")


def test_members_without_a_role_read_what_they_may_do(production: None) -> None:
    root = User.objects.create_superuser("root", password="x")
    User.objects.create_user("guest")
    client = Client()
    client.force_login(root)
    html = page(client, "/settings/members/")
    assert "Superuser</dt> <dd> May do everything" in html.replace("<b>", "").replace("</b>", "")
    assert "No role: may read only" in html


def test_the_events_of_webhooks_are_all_explained(client: Client) -> None:
    assert list(EVENT) == WebhookDelivery.Event.values
    guide = (ROOT / "docs" / "how-to" / "webhooks.md").read_text()
    assert all(f"| `{event}` | {when} |" in guide for event, when in EVENT.items()), "one wording"
    html = page(client, "/settings/webhooks/new/")
    assert "<b>Run paused</b> <small>The budget does not cover the next request</small>" in html
    assert re.search(r"<details>\s*<summary><h2>What a receiver gets.*run\.paused</dt>", html, re.DOTALL), "folded"


def test_a_delivery_is_sent_again(production: None, receiver: Receiver) -> None:
    run = make_run(model=MODEL)
    given_up, pending = make_delivery(run, "given_up", attempts=10), make_delivery(run, "pending")
    _, client = member("admin")
    assert "Sending run.completed of run" in page(client, f"/settings/webhooks/ops/{given_up.pk}/send/", {})
    assert "still being sent" in page(client, f"/settings/webhooks/ops/{pending.pk}/send/", {})
    assert client.post(f"/settings/webhooks/quiet/{given_up.pk}/send/").status_code == 404
    given_up.refresh_from_db()
    assert (given_up.state, given_up.attempts) == ("pending", 0)
    _, editor = member("editor")
    assert "Send" not in page(editor, "/settings/webhooks/ops/").partition("<main")[2].partition("</main")[0]


def test_share_links_are_listed_with_their_author_copied_and_revoked(production: None) -> None:
    first, second, former = (make_scored_run(model=f"a/model-{number}") for number in range(3))
    _, ada = member("runner", "ada")
    _, ben = member("editor", "ben")
    nothing = page(ada, "/settings/share-links/")
    assert "No page is shared" in nothing
    assert f'value="run={former.pk}"' in nothing, "the latest runs are shared by one click"
    told = page(ada, "/share/", {"kind": "run", "query": f"run={first.pk}"})
    page(ben, "/share/", {"kind": "run", "query": f"run={second.pk}"})
    page(ben, "/share/", {"kind": "run", "query": f"run={former.pk}"})
    ShareLink.objects.filter(query=f"run={former.pk}").update(expires_at=timezone.now() - timedelta(seconds=1))
    html = page(ben, "/settings/share-links/")
    links = dict(re.findall(r'id="link-(\d+)" class="mono" value="http://testserver(/shared/[^"]+)"', html))
    link = ShareLink.objects.get(query=f"run={first.pk}")
    assert {int(pk) for pk in links} == {link.pk, ShareLink.objects.get(query=f"run={second.pk}").pk}
    assert "> ada <" in html.replace(">ada<", "> ada <")
    assert links[str(link.pk)] in told, "it is the link that was shown when it was created"
    assert f'value="http://testserver{links[str(link.pk)]}"' in page(ada, f"/runs/{first.pk}/")
    assert [Client().get(link).status_code for link in links.values()] == [200, 200]
    sent = {"back": "links", "confirmed": "yes"}
    response = ben.post(f"/share/{link.pk}/revoke/", sent)
    assert response.headers["Location"] == "/settings/share-links/"
    assert Client().get(links[str(link.pk)]).status_code == 404
    assert f"/runs/{first.pk}/" not in page(ben, "/settings/share-links/")


def upload(content: Any, name: str = "log.json") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, json.dumps(content).encode())


def test_the_page_of_imports_names_the_tools_and_leads_elsewhere(client: Client) -> None:
    html = page(client, "/settings/imports/")
    for said in ("Inspect</dt>", "Logs (.eval or .json)", "promptfoo eval --output results.json"):
        assert said in html, said
    assert "Up to 32 MB each" in html
    assert "or drop them here" in html, "it takes several"
    assert re.search(r'<a href="/settings/"[^>]*>', html), "the navigation is as on every page"


def test_a_file_of_runs_is_previewed_then_imported_with_links(client: Client) -> None:
    samples = [inspect_sample(1), inspect_sample(2, "I"), inspect_sample(3, error={"message": "<i>boom</i>"})]
    log = inspect_log(*samples)
    sent = {"slug": "taken", "metrics": ["exact_match", "regex"]}
    html = page(client, "/settings/imports/", {"file": upload(log), **sent, "do": "preview"})
    for shown in ("Nothing is imported yet.", "vendor/model", "taken", "New dataset", "1 of 3 results have no answer"):
        assert shown in html, shown
    assert "1 metric without a score: Regular expression." in html
    assert (Run.objects.count(), Dataset.objects.count(), AuditEntry.objects.count()) == (0, 0, 0)
    html = page(client, "/settings/imports/", {"file": upload(log), **sent})
    run = Run.objects.get()
    assert f'<a href="/runs/{run.pk}/">Run {run.pk}</a>' in html
    assert '<a href="/datasets/taken/">' in html
    for more in ({}, {"do": "preview"}):
        assert "Imported before" in page(client, "/settings/imports/", {"file": upload(log), **sent, **more})
    other = inspect_log(*samples[:2])
    assert "New version" in page(client, "/settings/imports/", {"file": upload(other), **sent, "do": "preview"})
    assert Run.objects.count() == 1


def test_a_file_that_cannot_be_imported_says_why_and_stores_nothing(client: Client) -> None:
    cases = (
        ({"file": upload({"version": 2})}, "Nothing was imported."),
        ({"file": upload([1])}, "Nothing was imported."),
        ({}, "Choose a file."),
        ({"file": upload(inspect_log()), "slug": "no slug"}, "slug is not valid"),
        ({"file": upload(inspect_log()), "metrics": ["nonsense"]}, "nonsense"),
    )
    for sent, problem in cases:
        assert problem in page(client, "/settings/imports/", sent, status=400), problem
        for file in (each for name, each in sent.items() if name == "file"):
            file.seek(0)
        page(client, "/settings/imports/", {**sent, "do": "preview"})
    assert (Run.objects.count(), Dataset.objects.count()) == (0, 0)


def test_the_prompts_of_a_file_lead_to_their_comparison(client: Client) -> None:
    content = json.loads((Path(logs.__file__).parent / "promptfoo_prompts.json").read_text())
    html = page(client, "/settings/imports/", {"file": upload(content)})
    assert f'href="/experiments/{Experiment.objects.get().pk}/">Compare prompts</a>' in html
    assert html.count("<tr><td") == Run.objects.count() > 1


def link_in(html: str) -> str:
    """The one link to set a password in a page."""
    [path] = set(re.findall(r"http://testserver(/password/[^\"]+)", html))
    return str(path)


def test_a_person_is_added_sets_a_password_once_by_a_link_and_logs_in(production: None) -> None:
    _, client = member("admin", "ada")
    alone = page(client, "/settings/members/")
    assert "give the person the link that appears" in alone
    assert alone.count(">New member<") == 1
    roles = re.compile(r"<details( open)?>\s*<summary><h2>What each role may do</h2>")
    assert [found[1] for found in roles.finditer(alone)] == [" open"], "there is room for it"
    assert ">You</span>" in alone, "the own account is marked"
    html = page(client, "/settings/members/new/", {"username": "vera", "role": "runner"})
    path = link_in(html)
    listed = page(client, "/settings/members/")
    assert path not in listed
    assert "No other members yet" not in listed
    assert [found[1] for found in roles.finditer(listed)] == [None]
    vera = User.objects.get(username="vera")
    assert not vera.has_usable_password()
    assert may_launch(vera)
    visitor = Client()
    form = visitor.get(path, follow=True).redirect_chain[-1][0]
    assert "too common" in page(visitor, form, {"new_password1": "password", "new_password2": "password"})
    html = page(visitor, form, {"new_password1": "a walk by the river", "new_password2": "a walk by the river"})
    assert "Password set. Log in with it." in html
    assert "Link not valid" in page(Client(), path)
    sent = {"username": "vera", "password": "a walk by the river"}
    assert visitor.post("/login/", sent).headers["Location"] == "/"
    actions = ["account.create", "account.group", "account.password_link"]
    assert [*AuditEntry.objects.order_by("pk").values_list("action", flat=True)][-3:] == actions


def test_a_password_link_works_once_for_its_account_and_until_it_expires(production: None, settings: Any) -> None:
    _, client = member("admin", "ada")
    vera, _ = member("viewer", "vera")
    ben, _ = member("viewer", "ben")
    path = link_in(page(client, f"/settings/members/{vera.pk}/do/password/", {}))
    key = path.split("/")[-2]
    other = link_in(page(client, f"/settings/members/{ben.pk}/do/password/", {})).replace(path.split("/")[-2], key)
    assert "Link not valid" in page(Client(), other.rsplit("/", 2)[0] + f"/{key}/")
    settings.PASSWORD_RESET_TIMEOUT = -1
    assert "Link not valid" in page(Client(), path)


def test_a_member_has_labeled_what_results_show_under_the_name_and_started_runs(production: None) -> None:
    _, client = member("admin", "ada")
    vera, _ = member("viewer", "vera")
    first, second, third = make_scored_run().results.order_by("position")[:3]
    said = {"metric": "exact_match", "value": 1.0}
    Label.objects.create(result=first, author=vera, author_name="vera", **said)
    Label.objects.create(result=first, author=vera, author_name="vera", **{**said, "metric": "contains"})
    Label.objects.create(result=second, author_name="vera", **said)
    Label.objects.create(result=third, author_name="vera", replaced_at=timezone.now(), **said)
    html = " ".join(page(client, f"/settings/members/{vera.pk}/").split())
    assert '<dt>Answers labeled</dt> <dd><a href="/reviews/">2</a>' in html
    assert "<dt>Runs started</dt><dd>0</dd>" in html
    assert "Valid share links" not in html, "those that nobody has are left out"
    Run.objects.update(created_by=vera)
    assert "<dt>Runs started</dt><dd>1</dd>" in page(client, f"/settings/members/{vera.pk}/")


def test_a_role_is_changed_and_an_account_deactivated(production: None) -> None:
    _, client = member("admin", "ada")
    vera, viewer = member("viewer", "vera")
    address = f"/settings/members/{vera.pk}/"
    assert "vera saved as editor." in page(client, address, {"role": "editor"})
    vera = User.objects.get(pk=vera.pk)
    assert (may_edit(vera), vera.is_staff) == (True, True)
    _, text = create_token(vera, "ci", ["read"])
    assert "Deactivate vera?" in page(client, f"{address}do/deactivate/", {})
    assert token_of(text) is not None
    assert "vera deactivated." in page(client, f"{address}do/deactivate/", {"confirmed": "yes"})
    assert token_of(text) is None
    assert viewer.get("/settings/").status_code == 302
    assert "Inactive" in page(client, "/settings/members/")
    assert "is inactive. Activate it first." in page(client, f"{address}do/password/", {})
    assert "vera activated." in page(client, f"{address}do/activate/", {})
    assert viewer.get("/settings/").status_code == 200


def test_errors_of_a_new_member_stand_at_their_fields(production: None) -> None:
    _, client = member("admin", "ada")
    for sent, field in (
        ({"username": "ada", "role": "viewer"}, "username"),
        ({"username": "a b<", "role": "viewer"}, "username"),
        ({"username": "", "role": "viewer"}, "username"),
    ):
        html = page(client, "/settings/members/new/", sent, status=400)
        assert f'id="id_{field}_error"' in html, sent
    page(client, "/settings/members/new/", {"username": "vera", "role": "king"}, status=400)
    assert User.objects.count() == 1


def test_nobody_changes_the_own_role_and_only_a_superuser_a_superuser(production: None) -> None:
    root = User.objects.create_superuser("root", password="x")
    ada, client = member("admin", "ada")
    own, above = f"/settings/members/{ada.pk}/", f"/settings/members/{root.pk}/"
    assert "You cannot change your own account." in page(client, own, {"role": "viewer"}, status=400)
    assert "You cannot change" in page(client, f"{own}do/deactivate/", {"confirmed": "yes"})
    assert "Only another superuser" in page(client, above, {"role": "viewer"}, status=400)
    for action in ("deactivate", "password"):
        assert "Only another superuser" in page(client, f"{above}do/{action}/", {"confirmed": "yes"}), action
    html = page(client, above)
    assert "Only another superuser can change this account." in html
    assert "Save role" not in html
    assert "/do/" not in html
    assert link_in(page(client, f"{own}do/password/", {}))
    client.force_login(User.objects.create_superuser("over", password="x"))
    html = " ".join(page(client, above).split())
    assert "Superuser, active </p>" in html
    assert f'<a href="/admin/auth/user/{root.pk}/change/">Change on the admin site' in html
    assert "What root may do" in html
    assert "Everything, on the pages and on the admin site" in html
    assert "What each role may do</summary>" in html, "folded"
    mine = page(client, f"/settings/members/{ada.pk}/")
    assert "Password link" in mine.partition("Latest actions</h2>")[2], "what the account did"
    assert "Save role" not in html
    root.refresh_from_db()
    assert root.is_active
    assert client.post(f"{own}do/paint/").status_code == 404


def test_the_settings_show_problems_first_and_how_each_page_stands(production: None) -> None:
    now = timezone.now()
    schedule = make_schedule()
    Schedule.objects.filter(pk=schedule.pk).update(last_problem="Dataset <i>gone</i> does not exist.")
    account, client = member("admin", "ada")
    for name, days in (("later", 60), ("soon", 2), ("former", -1)):
        token, _ = create_token(account, name, {"read"}, now + timedelta(days=9), by=account)
        ApiToken.objects.filter(pk=token.pk).update(expires_at=now + timedelta(days=days, minutes=1))
    html = page(client, "/settings/")
    for said in (
        "Nightly started no run: Dataset &lt;i&gt;gone&lt;/i&gt; does not exist.",
        "soon expires in 2 days.",
        "2 active, never used.",
        "No worker is active.",
        "No page is shared.",
        "No imported runs yet.",
    ):
        assert said in html, said
    order = [
        html.index(f">{title}</a></h2>") for title in ("Schedules", "API tokens", "Workers", "Webhooks", "Members")
    ]
    assert order == sorted(order)
    assert [html.count(f"{label}</a>") for label in ("Show schedule", "Show problem", "Show workers")] == [1, 1, 1]


def test_each_role_finds_the_settings_that_it_may_open_and_no_button_of_others(production: None) -> None:
    schedule = make_schedule()
    found = {}
    for role in ("viewer", "runner", "editor", "admin"):
        _, client = member(role)
        html = page(client, "/settings/")
        listed = [title for title in TITLES if f">{title}</a></h2>" in html]
        assert "1 schedule. Nightly runs next, in " in html
        assert "No active tokens." in html
        assert ("4 accounts: 1 admin, 1 editor, 1 runner, 1 viewer." in html) == (role == "admin")
        html = page(client, "/settings/schedules/") + page(client, f"/settings/schedules/{schedule.pk}/")
        found[role] = (listed, "New schedule" in html, "Pause schedule" in html, "Delete schedule" in html)
        assert 'href="/settings/"' in page(client, "/"), role
    everyone, launching = [*TITLES[:3]], [*TITLES[:4]]
    assert found == {
        "viewer": (everyone, False, False, False),
        "runner": (launching, False, False, False),
        "editor": ([*TITLES[:5]], True, True, True),
        "admin": ([*TITLES], True, True, True),
    }
