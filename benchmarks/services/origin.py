"""Where the work at hand comes from: the request it belongs to and the token it came in with.

Set at the entrance, read by logs and by the audit log, so that nothing in between has to hand it on.
"""

from __future__ import annotations

from contextvars import ContextVar

request_id: ContextVar[str] = ContextVar("request_id", default="")
token_name: ContextVar[str] = ContextVar("token_name", default="")
