"""HTTP/1.1 for the loopback endpoint: its own protocol, because a general server would be what a bench measures.

One connection answers one request at a time, which is how a client's pool uses it. Understood is what a client of an
OpenAI-compatible endpoint sends: a body with ``Content-Length``, no streaming.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from http import HTTPStatus
from typing import cast

import orjson

from tests.loopback.faults import Ending, Fault
from tests.loopback.server import LoopbackServer, Stats

_OK_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_MIDWAY_PAUSE_S = 0.005
"""Between half a body and a reset, so that the client has seen the half."""
_DRIP_BYTES = 8


class Connection(asyncio.Protocol):
    """One client connection."""

    def __init__(self, server: LoopbackServer, loop: asyncio.AbstractEventLoop) -> None:
        self._server = server
        self._loop = loop
        self._buffer = bytearray()
        self._body_start = 0
        self._body_end = -1
        self._timer: asyncio.TimerHandle | None = None
        self._asked = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's transports are no subclass of it
        self._server.connections.add(self._transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.connections.discard(self._transport)
        if self._timer is not None:
            self._timer.cancel()
        if self._asked:
            self._finish(answered=False)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._asked:
            self._read_request()

    def _read_request(self) -> None:
        if self._body_end < 0:
            head_end = self._buffer.find(b"\r\n\r\n")
            if head_end < 0:
                self._refuse_other_protocols()
                return
            self._request, self._headers = _parse_head(bytes(self._buffer[:head_end]))
            self._body_start = head_end + 4
            self._body_end = self._body_start + int(self._headers.get("content-length", 0))
        if len(self._buffer) < self._body_end:
            return
        body = bytes(self._buffer[self._body_start : self._body_end])
        del self._buffer[: self._body_end]
        self._body_end = -1
        self._asked = True
        self._route(body)

    def _refuse_other_protocols(self) -> None:
        if not self._buffer[:1].isalpha():  # such as the greeting of a TLS client
            self._transport.write(_head(400, {"Connection": "close"}, 0))
            self._transport.close()

    def _route(self, body: bytes) -> None:
        server = self._server
        match self._request:
            case ("POST", "/v1/chat/completions"):
                server.stats.begin()
                self._answer_chat(body)
                return
            case ("GET", "/v1/models"):
                names = server.models or ("loopback",)
                self._send_json({"object": "list", "data": [{"id": name, "object": "model"} for name in names]})
            case ("GET", "/stats"):
                self._send_json(server.stats.as_json())
            case ("POST", "/reset"):
                server.stats = Stats()
                self._send_json({})
            case (method, path):
                self._send_error(404, f"nothing answers {method} {path}")
        self._asked = False

    def _answer_chat(self, body: bytes) -> None:
        try:
            ordinary, fault = self._server.answer(orjson.loads(body), self._headers)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self._send_error(400, f"not a chat request this endpoint understands: {error!r}")
            self._finish(answered=True)
            return
        if self._server.delay_ms:
            self._timer = self._loop.call_later(self._server.delay_ms / 1000, self._reply, ordinary, fault)
        else:
            self._reply(ordinary, fault)

    def _reply(self, ordinary: bytes, fault: Fault | None) -> None:
        if fault is None:
            self._send_last(_OK_HEAD % len(ordinary) + ordinary)
            return
        body = fault.body(ordinary) if fault.body else ordinary
        body = body.replace(b"{key}", self._headers.get("authorization", "").removeprefix("Bearer ").encode())
        head = _head(fault.status, fault.headers_with(self._server.retry_after_s), len(body))
        self._end(fault.ending, head, body)

    def _end(self, ending: Ending, head: bytes, body: bytes) -> None:
        half = len(body) // 2
        match ending:
            case Ending.WHOLE:
                self._send_last(head + body)
            case Ending.RESET_UNANSWERED:
                self._reset()
            case Ending.HANG_UNANSWERED:
                pass
            case Ending.RESET_MIDWAY:
                self._transport.write(head + body[:half])
                self._timer = self._loop.call_later(_MIDWAY_PAUSE_S, self._reset)
            case Ending.CLOSE_MIDWAY:
                self._transport.write(head + body[:half])
                self._transport.close()
            case Ending.HANG_MIDWAY:
                self._transport.write(head + body[:half])
            case Ending.DRIP:
                self._transport.write(head)
                self._drip(body, 0)

    def _drip(self, body: bytes, start: int) -> None:
        piece = body[start : start + _DRIP_BYTES]
        if start + _DRIP_BYTES >= len(body):
            self._send_last(piece)
            return
        self._transport.write(piece)
        pause = self._server.drip_ms / 1000
        self._timer = self._loop.call_later(pause, self._drip, body, start + _DRIP_BYTES)

    def _reset(self) -> None:
        connection = self._transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self._transport.abort()

    def _send_last(self, piece: bytes) -> None:
        """The end of an answer. It is counted before it leaves, so that whoever has read it finds it counted."""
        self._asked = False
        self._server.stats.end(True)
        self._transport.write(piece)
        if self._buffer:
            self._read_request()

    def _finish(self, *, answered: bool) -> None:
        """The request is over; the next one may already be in the buffer."""
        self._asked = False
        self._server.stats.end(answered)
        if self._buffer and answered:
            self._read_request()

    def _send_json(self, document: object, status: int = 200) -> None:
        body = orjson.dumps(document)
        self._transport.write(_head(status, {"Content-Type": "application/json"}, len(body)) + body)

    def _send_error(self, status: int, message: str) -> None:
        self._send_json({"error": {"message": message, "type": "invalid_request_error", "code": None}}, status)


def _parse_head(head: bytes) -> tuple[tuple[str, str], dict[str, str]]:
    """Method and path, and the headers by their names in lower case."""
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = (first + "  ").split(" ", 2)
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    return (method, path), headers


def _head(status: int, headers: dict[str, str], length: int) -> bytes:
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", f"Content-Length: {length}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
