"""Systems entered on the page: asked like those of the file, with headers that are shown nowhere."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

import pytest
from django.core.management import call_command
from django.db import connection

from benchmarks.engine.configured import is_system, provider_named, retrieves
from benchmarks.engine.execution import model_clients
from benchmarks.engine.provider_keys import key_of
from benchmarks.models import AuditEntry, EnteredSystem, RunStatus, Transcript
from benchmarks.outbound import PUBLIC_ONLY, Outbound
from benchmarks.queries.providers import provider_row, provider_rows
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.systems import delete_system, entered_system, save_system, try_system, values_of
from codeforge.config import parse_config
from tests.support.factories import make_dataset, make_run
from tests.support.running import worked

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "planted-in-a-header-7f3a90c1"


class Bot(ThreadingHTTPServer):
    """Answers with the question and what it was sent; ``says`` is another reply."""

    says: tuple[int, str, bytes] | None = None
    seen: list[tuple[str, dict[str, str], bytes]]


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        bot = cast("Bot", self.server)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        bot.seen.append((self.path, dict(self.headers), body))
        reply = {"reply": {"text": json.loads(body)["question"], "sources": [{"text": "a"}, {"text": "b"}]}}
        status, kind, sent = bot.says or (200, "application/json", json.dumps(reply).encode())
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Location", "http://127.0.0.1:9/elsewhere")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *args: Any) -> None: ...


@pytest.fixture
def bot(settings: Any) -> Iterator[Bot]:
    settings.CODEFORGE = parse_config({"providers": {"filed": {"base_url": "http://127.0.0.1:9"}}}, environ={})
    settings.OUTBOUND = Outbound.of([], loopback=True)
    model_clients.forget()
    server = Bot(("127.0.0.1", 0), _Handler)
    server.seen = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()
    model_clients.forget()


def asked(bot: Bot, **changed: Any) -> dict[str, Any]:
    return {
        "url": f"http://127.0.0.1:{bot.server_port}/ask?tenant=7&api_key={SECRET}",
        "headers": {"X-Key": SECRET},
        "body": {"question": "{input}"},
        "answer": "reply.text",
        "retrieved": "reply.sources[].text",
        **changed,
    }


def errors_of(data: dict[str, Any], name: str = "bot", **options: Any) -> dict[str, list[str]]:
    with pytest.raises(InvalidRequest) as refused:
        save_system(name, data, **options)
    return refused.value.errors


def test_a_run_asks_an_entered_system_like_one_of_the_file(bot: Bot) -> None:
    save_system("bot", asked(bot))
    run = worked(make_run(make_dataset(2), model="bot", metrics=("exact_match",)))
    assert run.status == RunStatus.COMPLETED
    path, headers, _ = bot.seen[0]
    assert sorted(path.partition("?")[2].split("&")) == [f"api_key={SECRET}", "tenant=7"]
    assert headers["X-Key"] == SECRET
    assert list(Transcript.objects.values_list("retrieved", flat=True)) == [["a", "b"]] * 2


def test_a_change_counts_from_the_next_lease_on_without_a_restart(bot: Bot) -> None:
    save_system("bot", asked(bot))
    before = model_clients.model_client("bot").provider
    assert model_clients.model_client("bot").provider is before
    save_system("bot", asked(bot, body={"question": "Q: {input}"}), replacing=True)
    assert model_clients.model_client("bot").provider is not before
    assert provider_named("bot").body == {"question": "Q: {input}"}


def test_secrets_are_stored_sealed_and_shown_nowhere(bot: Bot, capsys: pytest.CaptureFixture[str]) -> None:
    save_system("bot", asked(bot))
    with connection.cursor() as cursor:
        rows = []
        for table in connection.introspection.table_names():
            cursor.execute(f'SELECT * FROM "{table}"')
            rows += cursor.fetchall()
    assert SECRET not in str(rows)
    call_command("providers", "show", "bot", "--json")
    call_command("providers", "list")
    assert SECRET not in capsys.readouterr().out + str(values_of(entered_system("bot"))) + str(provider_rows())
    assert [entry.action for entry in AuditEntry.objects.all()] == ["system.add"]


def test_stored_headers_are_kept_only_for_the_address_that_they_were_entered_for(bot: Bot) -> None:
    save_system("bot", asked(bot))
    shown = values_of(entered_system("bot"))
    assert shown["headers"] == {"X-Key": ""}
    assert "api_key" not in shown["url"]
    save_system("bot", shown | {"answer": ""}, replacing=True)
    kept = provider_named("bot")
    assert kept.headers == {"X-Key": SECRET}
    assert SECRET in kept.base_url
    assert kept.answer is None
    elsewhere = shown | {"url": "http://127.0.0.1:1/ask"}
    assert "Enter its value again" in errors_of(elsewhere, replacing=True)["headers"][0]
    save_system("bot", elsewhere | {"headers": {}}, replacing=True)
    assert SECRET not in provider_named("bot").base_url


def test_nothing_of_the_environment_is_sent_to_an_entered_address(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED", SECRET)
    trial = try_system(asked(bot, url=f"http://127.0.0.1:{bot.server_port}", headers={"X": "${PLANTED}"}), "Hi")
    assert trial.reply is not None
    assert bot.seen[0][1]["X"] == "${PLANTED}"


def test_a_name_of_the_file_wins_and_cannot_be_entered(bot: Bot, settings: Any) -> None:
    for name in ("filed", "baseline"):
        assert "is the name of a provider" in errors_of(asked(bot), name)["name"][0]
    assert "characters" in errors_of(asked(bot), "a/b")["name"][0]
    save_system("bot", asked(bot))
    assert "is the name of a provider" in errors_of(asked(bot))["name"][0]
    filed = {"providers": {"bot": {"base_url": "http://127.0.0.1:19/v1"}}}
    settings.CODEFORGE = parse_config(filed, environ={})
    assert provider_named("bot").base_url == "http://127.0.0.1:19/v1"
    assert not is_system("bot")
    assert [row.entered for row in provider_rows() if row.name == "bot"] == [False]


def test_a_name_of_the_file_costs_no_query(bot: Bot, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        assert provider_named("filed")
        assert not retrieves("filed/m")
        assert not retrieves("baseline/majority")
    with django_assert_num_queries(1):
        assert provider_named("nobody") is None


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"url": "ftp://h/a"}, "url", "not an HTTP(S) URL"),
    ({"url": "http://a:b@h/"}, "url", "has a password"),
    ({"url": "http://{input}/"}, "url", "cannot be a template"),
    ({"url": "http://[::1"}, "url", "not an HTTP(S) URL"),
    ({"url": "http://h/{nobody}"}, "url", "not a placeholder"),
    ({"body": {"question": "always this"}}, "body", "No part of body is the question"),
    ({"body": {"q": "{input}", "api_key": SECRET}}, "body", "Send it as a header"),
    ({"body": {"q": "{"}}, "body", "not a placeholder"),
    ({"answer": "reply..text"}, "answer", "not a JMESPath"),
    ({"headers": {"X": "a\nb"}}, "headers", "cannot be sent"),
    ({"headers": {"X Y": "a"}}, "headers", "cannot be sent"),
    ({"headers": {"X": ""}}, "headers", "has no value"),
    ({"method": "DELETE"}, "method", "not a valid choice"),
    ({"method": "GET"}, "body", "A GET has no `body`"),
    ({"command": ["sh"]}, "command", "Unknown field"),
    ({"kind": "python"}, "kind", "Unknown field"),
]


@pytest.mark.parametrize(("changed", "field", "words"), REFUSED)
def test_what_cannot_be_a_system_is_refused_at_its_field(
    bot: Bot, changed: dict[str, Any], field: str, words: str
) -> None:
    assert words in errors_of(asked(bot, **changed))[field][0]
    assert not EnteredSystem.objects.exists()


def test_addresses_inside_the_network_are_refused_before_and_while_connecting(bot: Bot, settings: Any) -> None:
    settings.OUTBOUND = PUBLIC_ONLY
    assert errors_of(asked(bot, url="http://10.0.0.1/ask", headers={}))["url"]
    trial = try_system(asked(bot, url=f"http://localhost:{bot.server_port}/", headers={}), "Hi")
    assert trial.error
    assert not bot.seen


def test_a_trial_shows_request_and_reply_and_what_a_run_would_read(bot: Bot) -> None:
    trial = try_system(asked(bot), "How high?")
    assert trial.url.endswith("/ask?tenant=7")
    assert json.loads(trial.body) == {"question": "How high?"}
    assert trial.status == 200
    assert trial.reply is not None
    assert (trial.reply.text, trial.reply.retrieved) == ("How high?", ("a", "b"))
    quoted = try_system(asked(bot), f"Say {SECRET}")
    assert SECRET not in str(quoted.documents)


def test_a_trial_says_what_is_wrong_with_a_hostile_reply(bot: Bot) -> None:
    for says, words in {
        (302, "text/html", b""): "302",
        (500, "text/plain", f"No {SECRET}".encode()): "500",
        (200, "application/json", b"[" * 5_000): "not valid JSON",
        (200, "application/json", b"[" * 900 + b"]" * 900): "",
        (200, "text/plain", b"x" * 3_000_000): "exceeds 2 MiB",
        (200, "application/json", b'{"other": 1}'): "has nothing at",
    }.items():
        bot.says = says
        trial = try_system(asked(bot), "Hi")
        assert words in trial.error
        assert trial.error
        assert trial.reply is None
        assert SECRET not in trial.error + trial.text


def test_a_trial_of_server_sent_events_shows_each_event(bot: Bot) -> None:
    bot.says = (200, "text/event-stream", b'data: {"d": "Hel"}\n\ndata: {"d": "lo"}\n\n')
    trial = try_system(asked(bot, answer="d"), "Hi")
    assert trial.documents == [{"d": "Hel"}, {"d": "lo"}]
    assert trial.reply is not None
    assert trial.reply.text == "Hello"
    assert "Set `answer`" in try_system(asked(bot, answer=""), "Hi").error


def test_a_system_is_not_changed_or_deleted_while_a_run_asks_it(bot: Bot) -> None:
    save_system("bot", asked(bot))
    run = make_run(make_dataset(1), model="bot/fast")
    for act in (lambda: delete_system("bot"), lambda: save_system("bot", asked(bot), replacing=True)):
        with pytest.raises(NotPossible, match=f"Run {run.pk} asks bot"):
            act()
    worked(run)
    delete_system("bot")
    assert provider_row("bot") is None
    with pytest.raises(NotPossible, match="No system bot"):
        delete_system("bot")


def test_without_keys_on_the_page_entered_systems_do_not_exist(bot: Bot, settings: Any) -> None:
    save_system("bot", asked(bot))
    settings.DEV_MODE = settings.KEYS_ON_PAGE = False
    assert provider_named("bot") is None
    with pytest.raises(NotPossible, match="CODEFORGE_KEYS_ON_PAGE"):
        save_system("other", asked(bot))
    with pytest.raises(NotPossible, match="CODEFORGE_KEYS_ON_PAGE"):
        try_system(asked(bot), "Hi")


def test_headers_of_another_secret_key_are_said_to_be_unreadable(bot: Bot, settings: Any) -> None:
    save_system("bot", asked(bot))
    settings.SECRET_KEY = "another one, of sufficient length for a test"
    assert key_of("bot").source == "unreadable"
    row = provider_row("bot")
    assert row is not None
    assert "SECRET_KEY has changed" in row.problem
    with pytest.raises(ValueError, match="cannot be decrypted"):
        model_clients.model_client("bot")
    with pytest.raises(InvalidRequest, match="no value"):
        save_system("bot", asked(bot, headers={"X-Key": ""}), replacing=True)
