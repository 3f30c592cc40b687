"""A program that asks for addresses as webhooks do, for ``test_outbound``: names resolve as standard input says."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections import Counter
from typing import Any

import aiohttp
from aiohttp import web

from benchmarks.outbound import NotAllowed, Outbound

OPEN, CLOSED = 18080, 18081
REACHED: Counter[str] = Counter()


def resolving(names: dict[str, list[list[str]]]) -> Any:
    """``getaddrinfo``: the next list of addresses of a name, the last one again and again."""

    def resolve(host: str, port: int, *_: Any, **__: Any) -> Any:
        answers = names[host]
        if not answers:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        addresses = answers.pop(0) if len(answers) > 1 else answers[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    return resolve


async def receive(request: web.Request) -> web.Response:
    assert request.transport
    REACHED[request.transport.get_extra_info("sockname")[0]] += 1
    if target := request.match_info.get("target"):
        raise web.HTTPFound(f"http://{target}:{OPEN}/")
    return web.Response()


async def ask(url: str) -> str:
    # A connector each, because a name is resolved once for all requests of a few seconds.
    outbound = Outbound.of(["allowed.test"], loopback=False)
    async with aiohttp.ClientSession(connector=outbound.connector()) as session:
        try:
            async with session.get(url) as response:
                return str(response.status)
        except aiohttp.InvalidURL:
            return "no canonical address"
        except aiohttp.ClientConnectorError as error:
            return str(error.os_error) if isinstance(error.os_error, NotAllowed) else type(error).__name__


async def main() -> None:
    asked = json.load(sys.stdin)
    app = web.Application()
    app.router.add_get("/", receive)
    app.router.add_get("/to/{target}", receive)
    runner = web.AppRunner(app)
    await runner.setup()
    for host in ("0.0.0.0", "::1"):
        await web.TCPSite(runner, host, OPEN).start()
    outcomes: dict[str, Any] = {}
    for state, port in (("open", OPEN), ("closed", CLOSED)):
        socket.getaddrinfo = resolving(json.loads(json.dumps(asked["names"])))
        outcomes[state] = [await ask(url.format(port=port)) for url in asked["urls"]]
    print(json.dumps(outcomes | {"reached": REACHED}))


asyncio.run(main())
