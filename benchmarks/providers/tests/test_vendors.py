"""Every vendor in codeforge.yaml answers a request of ours in the shape that its reference documents."""

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
from benchmarks.providers.registered_providers import make_provider

ROOT = Path(__file__).resolve().parents[3]
EXCHANGES = yaml.safe_load((Path(__file__).parent / "vendors.yaml").read_text())
KEY = "test-key-0123456789"
TOOL = {"name": "add", "description": "Adds.", "parameters": {"type": "object", "properties": {}}}
UNSAID = ("refusal", "reasoning", "reasoning_tokens", "cached_tokens", "pause_seconds")
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is 2+2?"}]


def entries() -> dict[str, dict[str, Any]]:
    """The providers of codeforge.yaml, those that are commented out too."""
    text = re.sub(r"^  # (\w+: \{.*)$", r"  \1", (ROOT / "codeforge.yaml").read_text(), flags=re.MULTILINE)
    return dict(yaml.safe_load(text)["providers"])


ENTRIES = entries()


@asynccontextmanager
async def answering(name: str, exchange: dict[str, Any]) -> AsyncIterator[tuple[Provider, list[Any]]]:
    """The configured provider, with a server on loopback in the vendor's place, and what that server was sent."""
    sent: list[Any] = []

    async def handle(request: web.BaseRequest) -> web.Response:
        sent.append((request.path_qs, dict(request.headers), orjson.loads(await request.read())))
        headers = {"Content-Type": "application/json", **exchange.get("status_headers", {})}
        return web.Response(body=orjson.dumps(exchange["response"]), headers=headers)

    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    entry = ENTRIES[name]
    local = URL(entry["base_url"]).with_scheme("http").with_host("127.0.0.1").with_port(runner.addresses[0][1])
    key = KEY if "api_key_env" in entry else None
    provider = make_provider(ProviderSpec(name, entry.get("kind", "openai_compatible"), str(local), key))
    try:
        yield provider, sent
    finally:
        await provider.close()
        await runner.cleanup()


def seen(reply: ChatReply, names: Any) -> dict[str, Any]:
    calls = [[call.id, call.name, call.arguments] for call in reply.tool_calls]
    return {name: calls if name == "calls" else getattr(reply, name) for name in names}


def test_every_entry_has_an_exchange() -> None:
    assert ENTRIES.keys() - {"local"} == EXCHANGES.keys()
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
    expected = {
        "calls": [],
        "finish_reason": "stop",
        "refusal": None,
        "reasoning": None,
        "notes": (),
        **exchange["reply"],
    }
    expected |= {count: expected.get(count) for count in ("reasoning_tokens", "cached_tokens")}
    assert seen(reply, expected) == expected


async def test_a_key_of_azure_is_not_a_bearer_and_a_version_is_required() -> None:
    with pytest.raises(ValueError, match="api-version"):
        make_provider(ProviderSpec("a", "azure_openai", "https://mine.openai.azure.com", KEY))
