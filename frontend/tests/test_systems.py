"""Adding a system on its page, without scripts: paste, click the question, send one task, click the answer, save."""

from __future__ import annotations

import html
import json
import re
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from typing import Any

import pytest
from django.test import Client

from benchmarks.engine.configured import provider_named
from benchmarks.models import Run, RunStatus
from benchmarks.outbound import Outbound
from benchmarks.services.systems import save_system
from tests.support.factories import make_dataset, make_run
from tests.support.routes import JsonRoute
from tests.support.running import worked

pytestmark = pytest.mark.django_db(transaction=True)
ADD = "/systems/add/"
SECRET = "planted-in-a-header-7f3a90c1"
HOSTILE = "</script></pre><img src=x onerror=alert(1)>\u202e"


class _Bot(JsonRoute):
    def answer(self, asked: Any) -> Any:
        known = self.headers["X-Key"] == SECRET
        text = f"You asked {asked['question']}" if known else "Who are you?"
        return {"reply": {"text": text, "sources": [{"text": "a"}, {"text": HOSTILE}]}}


@pytest.fixture
def bot(settings: Any) -> Iterator[str]:
    settings.OUTBOUND = Outbound.of([], loopback=True)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Bot) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/ask"
        server.shutdown()


def sent(client: Client, address: str, fields: dict[str, str], **changed: str) -> tuple[str, dict[str, str]]:
    """The page that comes back, and the values of its fields."""
    response = client.post(address, {**fields, **changed})
    assert response.status_code == 200
    page = response.content.decode()
    return page, fields_in(page)


def fields_in(page: str) -> dict[str, str]:
    form = page[page.index('<form method="post" autocomplete="off">') :]
    inputs = re.findall(r'<input[^>]* name="(\w+)"(?: value="([^"]*)")?', form)
    areas = re.findall(r'<textarea name="(\w+)"[^>]*>\n?(.*?)</textarea>', form, re.DOTALL)
    fields = {name: html.unescape(value) for name, value in [*inputs, *areas]}
    chosen = re.findall(r'<option value="([A-Z]+)" selected', form)
    return {**fields, "method": chosen[0] if chosen else "POST"}


def test_a_pasted_curl_becomes_a_system_that_runs_ask(client: Client, bot: str) -> None:
    curl = f'curl {bot} -H \'X-Key: {SECRET}\' --json \'{{"question": "How high?", "top": 2}}\''
    page, fields = sent(client, ADD, {}, curl=curl, do="take")
    assert "Enter the paths yourself</summary>" in page, "the second step waits for the first"
    assert (fields["url"], fields["method"], fields["headers"]) == (bot, "POST", f"X-Key: {SECRET}")
    _, fields = sent(client, ADD, fields, ask='["question"]')
    assert json.loads(fields["body"]) == {"question": "{input}", "top": 2}
    assert fields["question"] == "How high?"
    page, fields = sent(client, ADD, fields, do="try")
    assert "You asked How high?" in page
    assert "Enter the paths yourself" not in page
    assert HOSTILE not in page
    _, fields = sent(client, ADD, fields, part="answer", place='["reply", "text"]')
    page, fields = sent(client, ADD, fields, part="retrieved", place='["reply", "sources", 0, "text"]')
    assert (fields["answer"], fields["retrieved"]) == ("reply.text", "reply.sources[].text")
    assert "Retrieved passages</strong> at <code>reply.sources[].text</code>" in page
    page = client.post(ADD, {**fields, "name": "bot", "do": "save"}, follow=True).content.decode()
    assert "System bot saved." in page
    assert SECRET not in page
    run = worked(make_run(make_dataset(1), model="bot", metrics=("exact_match",)))
    assert run.status == RunStatus.COMPLETED


def test_a_stored_system_is_edited_without_its_headers_being_shown(client: Client, bot: str) -> None:
    save_system("bot", {"url": bot, "headers": {"X-Key": SECRET}, "body": {"question": "{input}"}})
    page = client.get("/systems/bot/").content.decode()
    assert SECRET not in page
    tried, fields = sent(client, "/systems/bot/", fields_in(page), do="try")
    assert "You asked" in tried
    client.post("/systems/bot/", {**fields, "answer": "reply.text", "do": "save"})
    stored = provider_named("bot")
    assert (stored.answer, stored.headers) == ("reply.text", {"X-Key": SECRET})


def test_a_system_is_deleted_after_a_question_that_counts_its_runs(client: Client, bot: str) -> None:
    save_system("bot", {"url": bot, "body": {"question": "{input}"}})
    make_run(make_dataset(1), model="bot")
    Run.objects.update(status=RunStatus.COMPLETED)
    asked = client.post("/systems/bot/delete/").content.decode()
    assert "1 run asked it" in asked
    assert provider_named("bot") is not None
    client.post("/systems/bot/delete/", {"confirmed": "yes"})
    assert provider_named("bot") is None
    assert client.get("/systems/bot/").status_code == 404


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"curl": "curl h -d @body.json", "do": "take"}, "reads the file body.json"),
        ({"curl": HOSTILE, "do": "take"}, "not a curl command"),
        ({"body": "{", "do": "try"}, "This is not JSON at line 1"),
        ({"headers": "no header", "do": "save"}, "is not a header"),
        ({"body": '{"q": "a"}', "url": "http://127.0.0.1:9", "do": "try"}, "No part of the body is the question"),
        ({"body": '{"q": "a"}', "ask": '["other"]'}, "The body has no such part"),
        ({"reply": "[1]", "part": "answer", "place": "no pointer"}, "This is not a part of the document"),
        ({"reply": "[" * 5_000, "part": "nowhere", "place": "[]"}, "Send one task to see the reply"),
        ({"name": "a/b", "url": "http://127.0.0.1:9", "body": '"{input}"', "do": "save"}, "Use up to 60"),
    ],
)
def test_what_cannot_be_read_is_said_where_it_was_typed(client: Client, fields: dict[str, str], words: str) -> None:
    page, _ = sent(client, ADD, fields)
    assert words in html.unescape(page)
    assert HOSTILE not in page
