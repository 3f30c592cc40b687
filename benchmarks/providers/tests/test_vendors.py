"""Every vendor in codeforge.yaml answers a request of ours, whole and as a stream, in the shape that was read there."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from aiohttp import web
from yarl import URL

from benchmarks.providers.base import ChatReply, ChatRequest, Provider, ProviderSpec
from benchmarks.providers.http_provider import REJECTED_BY_ENDPOINT
from benchmarks.providers.registered_providers import make_provider
from benchmarks.providers.systems.options import SYSTEM_KINDS
from benchmarks.providers.vendors import vendor_of

ROOT = Path(__file__).resolve().parents[3]
EXCHANGES = yaml.safe_load((Path(__file__).parent / "vendors.yaml").read_text())
KEY = "test-key-0123456789"
TOOL = {"name": "add", "description": "Adds.", "parameters": {"type": "object", "properties": {}}}
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is 2+2?"}]


def entries() -> dict[str, dict[str, Any]]:
    """The providers of codeforge.yaml, those that are commented out too."""
    text = re.sub(r"^  # (\w+: \{.*)$", r"  \1", (ROOT / "codeforge.yaml").read_text(), flags=re.MULTILINE)
    return dict(yaml.safe_load(text)["providers"])


ENTRIES = entries()


def test_vendors_are_told_from_endpoints_of_ones_own_by_their_address() -> None:
    for name, entry in ENTRIES.items():
        url = entry.get("base_url") or entry.get("default_url") or ""
        assert (vendor_of(url) is not None) == url.startswith("https://"), name
    assert vendor_of("https://openai.com.example.org/v1") is None


@asynccontextmanager
async def answering(
    name: str, exchange: dict[str, Any], *, stream: bool = False
) -> AsyncIterator[tuple[Provider, list[Any]]]:
    """The configured provider, with a server on loopback in the vendor's place, and what that server was sent."""
    sent: list[Any] = []

    async def handle(request: web.BaseRequest) -> web.Response:
        sent.append((request.path_qs, dict(request.headers), orjson.loads(await request.read())))
        headers = {"Content-Type": "application/json", **exchange.get("status_headers", {})}
        if stream:
            return web.Response(body=events(exchange), headers=headers | {"Content-Type": "text/event-stream"})
        status = exchange.get("status", 200)
        return web.Response(body=orjson.dumps(exchange["response"]), headers=headers, status=status)

    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    entry = ENTRIES[name]
    local = (
        URL(entry.get("base_url") or entry["default_url"])
        .with_scheme("http")
        .with_host("127.0.0.1")
        .with_port(runner.addresses[0][1])
    )
    key = KEY if "api_key_env" in entry else None
    provider = make_provider(ProviderSpec(name, entry.get("kind", "openai_compatible"), str(local), key, stream=stream))
    try:
        yield provider, sent
    finally:
        await provider.close()
        await runner.cleanup()


def events(exchange: dict[str, Any]) -> bytes:
    """The exchange's stream as it is sent; only chat completions have an event that is not JSON at the end."""
    stream = [
        event | ({"response": exchange["response"]} if event.get("type") == "response.completed" else {})
        for event in exchange["stream"]
    ]
    ends = [] if "type" in stream[0] else [b"[DONE]"]
    return b": comment\n\n" + b"".join(b"data: " + data + b"\n\n" for data in [*map(orjson.dumps, stream), *ends])


def seen(reply: ChatReply, names: Any) -> dict[str, Any]:
    calls = [[call.id, call.name, call.arguments] for call in reply.tool_calls]
    return {name: calls if name == "calls" else getattr(reply, name) for name in names}


def expected_of(exchange: dict[str, Any]) -> dict[str, Any]:
    nothing = {"refusal": None, "reasoning": None, "reasoning_tokens": None, "cached_tokens": None}
    return {"calls": [], "finish_reason": "stop", "notes": (), **nothing, **exchange["reply"]}


def test_every_entry_has_an_exchange() -> None:
    systems = {name for name, entry in ENTRIES.items() if entry.get("kind") in SYSTEM_KINDS}
    assert ENTRIES.keys() - {"local"} - systems == EXCHANGES.keys()
    assert len(EXCHANGES) >= 18


@pytest.mark.parametrize("name", EXCHANGES)
async def test_a_vendor_is_asked_and_read_as_its_reference_says(name: str) -> None:
    exchange = EXCHANGES[name]
    tools = [{"type": "function", "function": TOOL}]
    request = ChatRequest(exchange["model"], MESSAGES, max_tokens=50, tools=tools)
    async with answering(name, exchange) as (provider, sent):
        reply = await provider.complete(request)
    ((path, headers, body),) = sent
    assert path == exchange["path"]
    given = {header.lower(): value for header, value in headers.items()}
    assert {header: given.get(header) for header in exchange["headers"]} == exchange["headers"]
    chat = {"model": exchange["model"], "messages": MESSAGES, "max_tokens": 50, "tools": tools}
    assert body == exchange.get("body", chat)
    expected = expected_of(exchange)
    assert seen(reply, expected) == expected


@pytest.mark.parametrize("name", EXCHANGES)
async def test_a_vendors_stream_is_read_as_its_whole_reply_is(name: str) -> None:
    exchange = EXCHANGES[name]
    async with answering(name, exchange, stream=True) as (provider, sent):
        reply = await provider.complete(ChatRequest(exchange["model"], MESSAGES, max_tokens=50))
    expected = expected_of(exchange)
    assert seen(reply, expected) == expected
    assert reply.first_token_ms is not None
    ((_, _, body),) = sent
    assert body["stream"] is True
    asks_for_usage = ENTRIES[name].get("kind", "azure_openai") == "azure_openai"
    assert body.get("stream_options") == ({"include_usage": True} if asks_for_usage else None)


async def test_a_key_of_azure_is_not_a_bearer_and_a_version_is_required() -> None:
    with pytest.raises(ValueError, match="api-version"):
        make_provider(ProviderSpec("a", "azure_openai", "https://mine.openai.azure.com", KEY))


@pytest.mark.parametrize("stream", [False, True])
async def test_what_groq_does_not_return_because_it_fits_no_schema_is_the_models_answer(stream: bool) -> None:
    written = '{"name": "add", "arguments": {"b": 2}}'
    error = {"message": "Tool call validation failed", "code": "tool_use_failed", "failed_generation": written}
    document = {"error": {**error, "type": "invalid_request_error", "status_code": 400}}
    exchange = {"response": document, "stream": [*EXCHANGES["groq"]["stream"][:2], document], "status": 400}
    async with answering("groq", exchange, stream=stream) as (provider, _):
        reply = await provider.complete(ChatRequest("m", MESSAGES))
    assert (reply.text, reply.tool_calls, reply.notes) == (written, (), (REJECTED_BY_ENDPOINT,))
