"""A system's own HTTP route for tests: JSON in, JSON out."""

from __future__ import annotations

import json
from abc import abstractmethod
from http.server import BaseHTTPRequestHandler
from typing import Any


class JsonRoute(BaseHTTPRequestHandler):
    @abstractmethod
    def answer(self, asked: Any) -> Any:
        """The document that answers another one."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(self.answer(asked)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None: ...
