from __future__ import annotations

import json
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from benchmarks.providers.base import AskedTask, ChatRequest, ProviderError, ProviderSpec
from benchmarks.providers.registered_providers import make_provider
from benchmarks.providers.systems.options import SystemOptions

TASK = AskedTask("t1", "How high?", ("It is 330 m high.",), {"user": "ada"}, "c1")
REQUEST = ChatRequest("", [{"role": "user", "content": "Context:\n\n[1] It is 330 m high.\n\nHow high?"}], task=TASK)
RAG = {
    "path": "/ask",
    "body": {"question": "{input}", "user": "{metadata.user}", "session": "{conversation_id}"},
    "answer": "reply.text",
    "retrieved": "reply.sources[].text",
    "tokens_in": "usage.in",
    "tokens_out": "usage.out",
    "cost_usd": "usage.usd",
    "tool_calls": "reply.calls",
    "error": "fault",
}


@asynccontextmanager
async def bot(reply, *, status=200, content_type="application/json", moved=None, **options):
    """A provider for a system on loopback that answers everything with ``reply``, and the requests that it got."""
    seen = []

    async def answer(request):
        seen.append((request.method, str(request.rel_url), await request.text(), dict(request.headers)))
        body = reply if isinstance(reply, bytes) else (reply if isinstance(reply, str) else json.dumps(reply)).encode()
        headers = {"Location": moved} if moved else None
        return web.Response(body=body, status=status, content_type=content_type, headers=headers)

    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    spec = ProviderSpec(
        "bot", "http", f"http://127.0.0.1:{port}/v2?tenant=7", system=SystemOptions(**(RAG | options)), **OWN
    )
    provider = make_provider(spec)
    try:
        yield provider, seen
    finally:
        await provider.close()
        await runner.cleanup()


OWN: dict = {"api_key": "a-key-of-24-characters-xx", "headers": {"X-Team": "blue"}}


async def test_a_reply_is_taken_apart_by_its_places():
    reply = {
        "reply": {
            "text": "330 m",
            "sources": [{"text": "It is 330 m high."}, {"text": "It is old."}],
            "calls": [{"name": "search", "arguments": {"q": "height"}}],
        },
        "usage": {"in": 12, "out": 3, "usd": 0.0021},
    }
    async with bot(reply) as (provider, seen):
        got = await provider.complete(REQUEST)

    assert (got.text, got.retrieved, got.cost_usd) == ("330 m", ("It is 330 m high.", "It is old."), 0.0021)
    assert (got.tokens_in, got.tokens_out) == (12, 3)
    assert [(call.name, call.arguments) for call in got.tool_calls] == [("search", {"q": "height"})]
    [(method, url, body, headers)] = seen
    assert (method, url) == ("POST", "/v2/ask?tenant=7")
    assert json.loads(body) == {"question": "How high?", "user": "ada", "session": "c1"}
    assert (headers["X-Team"], headers["Authorization"]) == ("blue", f"Bearer {OWN['api_key']}")


async def test_a_get_has_its_task_in_the_address():
    async with bot("330 m", content_type="text/plain", method="GET", body=None, path="/ask?q={input}", answer=None) as (
        provider,
        seen,
    ):
        got = await provider.complete(REQUEST)

    assert got.text == "330 m"
    assert seen[0][:2] == ("GET", "/v2/ask?q=How+high?&tenant=7") or "q=How%20high%3F" in seen[0][1]


@pytest.mark.parametrize(
    ("reply", "kind", "text"),
    [
        ({"fault": "no index", "reply": {"text": "x"}}, "server", "bot: The system reports an error: no index"),
        ({"answer": "330 m"}, "bad_response", "has nothing at `reply.text`. It has the keys answer."),
        ({}, "bad_response", "It is an empty object."),
        ([1], "bad_response", "It is a JSON list, not an object."),
        ("<html>oops", "bad_response", "is not valid JSON: “<html>oops”"),
        ("", "bad_response", "is not valid JSON"),
        ({"reply": {"text": None}}, "bad_response", "has nothing at"),
    ],
)
async def test_a_reply_without_an_answer_says_what_it_has_instead(reply, kind, text):
    async with bot(reply) as (provider, _):
        with pytest.raises(ProviderError) as caught:
            await provider.complete(REQUEST)

    assert caught.value.kind == kind
    assert text in caught.value.message
    assert ".." not in caught.value.message


@pytest.mark.parametrize(
    ("status", "kind"), [(401, "authentication"), (404, "not_found"), (429, "rate_limited"), (500, "server")]
)
async def test_a_status_is_an_error_as_of_other_kinds(status, kind):
    async with bot({"error": "no"}, status=status) as (provider, _):
        with pytest.raises(ProviderError) as caught:
            await provider.complete(REQUEST)

    assert (caught.value.kind, caught.value.status) == (kind, status)


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (400, {"fault": "I do not like this"}, 'bot: 400 Bad Request: “{"fault": "I do not like this"}”'),
        (404, "<html>not here</html>", "bot: 404 Not Found: “<html>not here</html>”. Check the system's URL"),
        (500, {"why": "a-key-of-24-characters-xx"}, '“{"why": "[key hidden]"}”'),
        (400, "x" * 9_000, f"{'x' * 299}…"),
        (400, "", "bot: 400 Bad Request"),
        (401, {"message": "no"}, "bot: 401 Unauthorized: no. Check the key in the system's headers"),
    ],
    ids=["own form", "page", "key", "long", "empty", "known form"],
)
async def test_a_system_says_in_any_form_what_went_wrong(status, body, says):
    async with bot(body, status=status) as (provider, _):
        with pytest.raises(ProviderError) as caught:
            await provider.complete(REQUEST)

    assert says in caught.value.message
    assert "base_url" not in caught.value.message


@pytest.mark.parametrize(
    ("moved", "shown"),
    [
        (None, "{}. Redirects are"),
        ("https://new.example/v3?sig=1", "the answer is a redirect to “https://new.example/v3”"),
        ("/new/", "a redirect to “/new/”"),
        ("/a-key-of-24-characters-xx/", "a redirect to “/[key hidden]/”"),
        ("/" + "x" * 7_000, "xxx…”"),
    ],
    ids=["nowhere", "signed", "relative", "key", "long"],
)
@pytest.mark.parametrize("status", [301, 302, 308])
async def test_a_redirect_is_not_followed_and_says_where_it_leads(status, moved, shown):
    async with bot({}, status=status, moved=moved) as (provider, seen):
        with pytest.raises(ProviderError, match=r"Redirects are not followed.*Set the system's URL to") as caught:
            await provider.complete(REQUEST)

    assert caught.value.kind == "redirect"
    assert shown in caught.value.message
    assert len(caught.value.message) < 600
    assert len(seen) == 1


@pytest.mark.parametrize("options", [{}, {"answer": None}, {"answer": "reply"}, {"stream": True}])
async def test_bytes_that_are_not_utf8_are_noted(options):
    reply = b'{"reply": {"text": "Orl\xe9ans"}}'
    kind = "application/json"
    if options.pop("stream", False):
        reply, kind = b"data: " + reply + b"\n\n", "text/event-stream"
    async with bot(reply, content_type=kind, **options) as (provider, _):
        answer = await provider.complete(REQUEST)

    assert "Orl\ufffdans" in answer.text
    assert "1 byte that is not UTF-8 in the response replaced by \ufffd" in answer.notes


async def test_what_cannot_be_read_beside_the_answer_is_left_out_with_a_note():
    reply = {
        "reply": {"text": 42, "sources": {"text": "no list"}, "calls": "search"},
        "usage": {"in": -1, "out": "many", "usd": float("inf")},
    }
    async with bot(reply, retrieved="reply.sources") as (provider, _):
        got = await provider.complete(REQUEST)

    assert (got.text, got.retrieved, got.tool_calls, got.tokens_in, got.cost_usd) == ("42", None, (), None, None)
    assert len(got.notes) == 5, got.notes


async def test_a_key_that_the_system_quotes_is_hidden():
    async with bot({"reply": {"text": f"You sent {OWN['api_key']}"}}) as (provider, _):
        got = await provider.complete(REQUEST)

    assert got.text == "You sent [key hidden]"


async def test_events_are_joined_and_of_other_places_the_last_counts():
    events = [
        {"reply": {"text": "33"}},
        {"reply": {"text": "0 m", "sources": [{"text": "It is 330 m high."}]}},
        {"usage": {"in": 5, "out": 2}},
    ]
    text = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    async with bot(text, content_type="text/event-stream") as (provider, _):
        got = await provider.complete(REQUEST)

    assert (got.text, got.retrieved, got.tokens_out) == ("330 m", ("It is 330 m high.",), 2)
    assert got.first_token_ms is not None


async def test_events_without_an_answer_are_an_error():
    async with bot("data: {}\n\n", content_type="text/event-stream") as (provider, _):
        with pytest.raises(ProviderError, match=r"no event with a text at `reply\.text`"):
            await provider.complete(REQUEST)


async def test_a_parameter_that_the_template_does_not_send_is_noted():
    request = ChatRequest("", REQUEST.messages, temperature=0.5, seed=1, task=TASK)
    body = {"question": "{input}", "t": "{parameters.temperature}"}
    async with bot({"reply": {"text": "x"}}, body=body) as (provider, seen):
        got = await provider.complete(request)

    assert json.loads(seen[0][2]) == {"question": "How high?", "t": 0.5}
    assert got.notes == ("Not sent, because the system's template does not name them: seed.",)
