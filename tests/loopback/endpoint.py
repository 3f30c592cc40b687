"""HTTP for the loopback endpoint, on aiohttp's low-level server: routes, delays, and the faults on the wire."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from typing import Any

import orjson
from aiohttp import web

from tests.loopback.dialects import DIALECTS
from tests.loopback.faults import Ending, Fault
from tests.loopback.replies import chunks
from tests.loopback.server import LoopbackServer, Stats, fault_named

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_MIDWAY_PAUSE_S = 0.005
"""Between half a body and a reset, so that the client has seen the half."""
_DRIP_BYTES = 8


def application(server: LoopbackServer) -> web.Server:
    """The handler of every connection. A client that hangs up cancels what is still waiting for it."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        match request.method, request.path:
            case "POST", path if path in DIALECTS or path.endswith("/chat/completions"):  # Azure has deployments
                return await _chat(server, request)
            case "GET", "/v1/models":
                return await _list_models(server, request)
            case "GET", "/stats":
                return _json(server.stats.as_json())
            case "POST", "/reset":
                server.stats = Stats()
                return _json({})
        return _error(404, f"{request.method} {request.path} does not exist")

    return web.Server(handle, handler_cancellation=True, access_log=None)


async def _list_models(server: LoopbackServer, request: web.BaseRequest) -> web.StreamResponse:
    names = server.models or ("loopback",)
    body = orjson.dumps({"object": "list", "data": [{"id": name, "object": "model"} for name in names]})
    sent = request.headers.get("Authorization", "")
    refused = server.api_key is not None and sent != f"Bearer {server.api_key}"
    name = "unauthorized_401" if refused else server.models_fault
    if not name:
        return web.Response(body=body, content_type="application/json")
    fault = fault_named(name)
    spoiled = fault.body(body) if fault.body else body
    return await _send_faulty(server, request, fault, spoiled.replace(b"{key}", sent.removeprefix("Bearer ").encode()))


async def _chat(server: LoopbackServer, request: web.BaseRequest) -> web.StreamResponse:
    stats = server.stats
    stats.begin()
    answered = False
    try:
        headers = {name.lower(): value for name, value in request.headers.items()}
        try:
            asked = orjson.loads(await request.content.read())
            if "input" in asked:
                asked["messages"] = asked["input"]
            ordinary, fault = server.answer(asked, headers)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            answered = True
            return _error(400, f"not a chat request that this endpoint understands: {error!r}")
        if server.delay_ms:
            await asyncio.sleep(server.delay_ms / 1000)
        if fault is None:
            answered = True
            if asked.get("stream"):
                return await _send_stream(request, orjson.loads(ordinary), server.token_ms / 1000)
            if translate := DIALECTS.get(request.path):
                return _json(translate(orjson.loads(ordinary)))
            return web.Response(body=ordinary, content_type="application/json")
        body = fault.body(ordinary) if fault.body else ordinary
        body = body.replace(b"{key}", headers.get("authorization", "").removeprefix("Bearer ").encode())
        answered = fault.ending in (Ending.WHOLE, Ending.DRIP)
        return await _send_faulty(server, request, fault, body)
    finally:
        # Counted before the last byte leaves, so that a client that has read the answer finds it counted.
        stats.end(answered)


async def _send_stream(request: web.BaseRequest, document: dict[str, Any], pause_s: float) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for chunk in chunks(document):
        await response.write(b"data: " + orjson.dumps(chunk) + b"\n\n")
        await asyncio.sleep(pause_s)
    await response.write(b"data: [DONE]\n\n")
    return response


async def _send_faulty(
    server: LoopbackServer, request: web.BaseRequest, fault: Fault, body: bytes
) -> web.StreamResponse:
    headers = {**fault.headers_with(server.retry_after_s), "Content-Length": str(len(body))}
    if fault.ending is Ending.WHOLE:
        return web.Response(status=fault.status, headers=headers, body=body)
    if fault.ending is Ending.HANG_UNANSWERED:
        await asyncio.Event().wait()
    response = web.StreamResponse(status=fault.status, headers=headers)
    if fault.ending is Ending.RESET_UNANSWERED:
        _reset(request)
        return response
    await response.prepare(request)
    if fault.ending is Ending.DRIP:
        for start in range(0, len(body), _DRIP_BYTES):
            await response.write(body[start : start + _DRIP_BYTES])
            await asyncio.sleep(server.drip_ms / 1000)
        return response
    await response.write(body[: len(body) // 2])
    if fault.ending is Ending.HANG_MIDWAY:
        await asyncio.Event().wait()
    if fault.ending is Ending.RESET_MIDWAY:
        await asyncio.sleep(_MIDWAY_PAUSE_S)
        _reset(request)
    elif request.transport is not None:
        request.transport.close()
    return response


def _reset(request: web.BaseRequest) -> None:
    if request.transport is not None:
        connection: socket.socket = request.transport.get_extra_info("socket")
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        request.transport.abort()


def _json(document: Any, status: int = 200) -> web.Response:
    return web.Response(status=status, body=orjson.dumps(document), content_type="application/json")


def _error(status: int, message: str) -> web.Response:
    return _json({"error": {"message": message, "type": "invalid_request_error", "code": None}}, status)
