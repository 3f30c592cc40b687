"""The request and the token behind the current work, for log lines and the audit log.

Set when a request arrives. Context variables, so that no function in between has to pass them on.
"""

from __future__ import annotations

from contextvars import ContextVar

request_id: ContextVar[str] = ContextVar("request_id", default="")
token_name: ContextVar[str] = ContextVar("token_name", default="")
