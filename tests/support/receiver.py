"""A receiver of webhooks on loopback: keeps what it gets, and answers as it is told."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from codeforge.config import WebhookConfig

KEY = bytes(range(32))
SECRET = "whsec_" + base64.b64encode(KEY).decode()
SECRET_ENV = "TEST_WEBHOOK_SIGNING"
HANG = 0
"""Instead of a status: keep the sender waiting until the receiver is closed."""


@dataclass
class Message:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def is_signed(self, key: bytes = KEY) -> bool:
        """Whether the signature is the one of Standard Webhooks."""
        signed = f"{self.headers['webhook-id']}.{self.headers['webhook-timestamp']}.".encode() + self.body
        wanted = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        return self.headers["webhook-signature"] == f"v1,{wanted}"


@dataclass
class Receiver:
    """``answers`` are the statuses of the first messages; the further ones are taken with 204."""

    url: str
    answers: list[int]
    messages: list[Message] = field(default_factory=list)
    closed: threading.Event = field(default_factory=threading.Event)

    def webhook(self, **options: Any) -> WebhookConfig:
        return WebhookConfig(url=f"{self.url}/hook?for=tests", secret_env=SECRET_ENV, **options)


@contextlib.contextmanager
def receiving(answers: Sequence[int] = ()) -> Iterator[Receiver]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    receiver = Receiver(f"http://127.0.0.1:{server.server_port}", list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.messages.append(Message(self.path, headers, body))
            status = receiver.answers.pop(0) if receiver.answers else 204
            if status == HANG:
                receiver.closed.wait(60)
                return
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", f"{receiver.url}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    server.RequestHandlerClass = Handler
    thread = threading.Thread(target=server.serve_forever, name="receiver", daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.closed.set()
        server.shutdown()
        server.server_close()
        thread.join(10)
