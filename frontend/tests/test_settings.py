"""The settings: schedules, webhooks, share links and imports, and which of their pages each role finds."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from datetime import timedelta
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
from benchmarks.services.access import create_token
from benchmarks.services.schedules import save_schedule
from frontend.tests.accounts import member, page
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


def test_the_runs_before_the_latest_stand_below_few_schedules(client: Client) -> None:
    schedule = make_schedule()
    first, last = (make_scored_run(Dataset.objects.get()) for _ in range(2))
    ScheduledRun.objects.create(schedule=schedule, run=first, due_at=timezone.now())
    assert "Earlier runs" not in page(client, "/settings/schedules/"), "it has the latest only"
    ScheduledRun.objects.create(schedule=schedule, run=last, due_at=timezone.now())
    earlier = page(client, "/settings/schedules/").partition("<h2>Earlier runs</h2>")[2]
    assert f"Run {first.pk} ·" in earlier
    assert f"Run {last.pk} ·" not in earlier


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
