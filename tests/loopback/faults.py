"""Every way in which the loopback endpoint can misbehave, as a table of data.

A fault is chosen per request: by a marker in the prompt (``[[fault:server_500]]`` always, ``[[fault:server_500*2]]``
for the first two times the question is asked), by the server's script, or by chance (``fault_rate``).
"""

from __future__ import annotations

import email.utils
import gzip
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

import orjson

HUGE_ANSWER_CHARS = 10 * 1024 * 1024
OVERSIZED_BODY_BYTES = 20 * 1024 * 1024
_BOMB_BYTES = 64 * 1024 * 1024

BodyChange = Callable[[bytes], bytes]
"""Makes the bytes to send out of the ordinary answer's bytes."""


class Ending(Enum):
    """How a reply ends on the wire."""

    WHOLE = "the whole reply is sent"
    RESET_UNANSWERED = "the connection is reset before a byte is sent"
    HANG_UNANSWERED = "nothing is ever sent"
    RESET_MIDWAY = "half the body, then a reset"
    CLOSE_MIDWAY = "half the body, then an orderly close"
    HANG_MIDWAY = "half the body, then silence"
    DRIP = "a few bytes at a time"


class RetryAfter(Enum):
    """The form of a ``Retry-After`` header; the server's ``retry_after_s`` gives its length."""

    SECONDS = "seconds"
    HTTP_DATE = "date"


@dataclass(frozen=True, slots=True)
class Fault:
    """One misbehaviour."""

    meaning: str
    status: int = 200
    body: BodyChange | None = None
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    retry_after: RetryAfter | None = None
    ending: Ending = Ending.WHOLE

    def headers_with(self, retry_after_s: float) -> dict[str, str]:
        """The headers to send. A ``Retry-After`` date counts from now, in whole seconds as HTTP dates do."""
        lines = {"Content-Type": self.content_type, **self.headers}
        if self.retry_after is RetryAfter.SECONDS:
            lines["Retry-After"] = f"{retry_after_s:g}"
        elif self.retry_after is RetryAfter.HTTP_DATE:
            lines["Retry-After"] = email.utils.formatdate(math.ceil(time.time() + retry_after_s), usegmt=True)
        return lines


def _error(
    message: str, *, kind: str = "invalid_request_error", code: str | None = None, param: str | None = None
) -> BodyChange:
    """A body in the form in which OpenAI reports errors."""
    body = orjson.dumps({"error": {"message": message, "type": kind, "param": param, "code": code}})
    return lambda ordinary: body


def _page(title: str) -> BodyChange:
    body = f"<!doctype html><html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>".encode()
    return lambda ordinary: body


def _message(finish_reason: str = "stop", **fields: object) -> BodyChange:
    """The ordinary answer with fields of its message replaced."""

    def change(ordinary: bytes) -> bytes:
        document = orjson.loads(ordinary)
        choice = document["choices"][0]
        choice["message"].update(fields)
        choice["finish_reason"] = finish_reason
        return orjson.dumps(document)

    return change


def _with(**fields: object) -> BodyChange:
    return lambda ordinary: orjson.dumps({**orjson.loads(ordinary), **fields})


def _raw_text(as_in_json: bytes) -> BodyChange:
    """An answer whose text is given as it stands in the JSON, for what no encoder would write."""
    placeholder = "PLACE-OF-THE-TEXT"
    return lambda ordinary: _message(content=placeholder)(ordinary).replace(placeholder.encode(), as_in_json)


def _tool_call(arguments: str) -> BodyChange:
    call = {"id": "call_0", "type": "function", "function": {"name": "look_up", "arguments": arguments}}
    return _message(finish_reason="tool_calls", content=None, tool_calls=[call])


def _huge(ordinary: bytes) -> bytes:
    return _message(content="x" * HUGE_ANSWER_CHARS)(ordinary)


def _half(ordinary: bytes) -> bytes:
    return ordinary[: len(ordinary) // 2]


_BOMB = {"Content-Encoding": "gzip"}
_ELSEWHERE = {"Location": "http://elsewhere.invalid/v1"}
_QUOTED = "You sent me {key}."
_NO_TEMPERATURE = "Unsupported value: 'temperature' does not support 0 with this model."
_FILTERED = "The prompt was filtered due to the content management policy"
_TOO_LONG = "This model's maximum context length is 8192 tokens"

FAULTS: Mapping[str, Fault] = {
    "rate_limited": Fault("429 without Retry-After", 429, _error("Rate limit reached", code="rate_limit_exceeded")),
    "rate_limited_seconds": Fault("429, seconds to wait", 429, _error("Slow down"), retry_after=RetryAfter.SECONDS),
    "rate_limited_date": Fault("429, a date to wait for", 429, _error("Slow down"), retry_after=RetryAfter.HTTP_DATE),
    "quota_exhausted": Fault("429 that no waiting cures", 429, _error("No quota left", code="insufficient_quota")),
    "request_timeout_408": Fault("408", 408, _error("Request timed out")),
    "conflict_409": Fault("409", 409, _error("Conflict")),
    "server_500": Fault("500 in JSON", 500, _error("The server had an error", kind="server_error")),
    "bad_gateway_502": Fault("502 with a proxy's page", 502, _page("502 Bad Gateway"), "text/html"),
    "overloaded_503": Fault("503, seconds to wait", 503, _error("Overloaded"), retry_after=RetryAfter.SECONDS),
    "reset_before_reply": Fault("reset before a byte", ending=Ending.RESET_UNANSWERED),
    "reset_mid_body": Fault("reset after half the body", ending=Ending.RESET_MIDWAY),
    "closed_mid_body": Fault("closed after half the body", ending=Ending.CLOSE_MIDWAY),
    "hang": Fault("never answers", ending=Ending.HANG_UNANSWERED),
    "hang_mid_body": Fault("stops after half the body", ending=Ending.HANG_MIDWAY),
    "slow_drip": Fault("a few bytes at a time", ending=Ending.DRIP),
    "truncated_json": Fault("JSON that stops midway", body=_half),
    "empty_body": Fault("200 with no body", body=lambda ordinary: b""),
    "html_instead_of_json": Fault("200 with a web page", 200, _page("Welcome"), "text/html"),
    "wrong_content_type": Fault("a good answer labelled text/plain", content_type="text/plain"),
    "json_list": Fault("200 with a JSON list", body=lambda ordinary: b"[" + ordinary + b"]"),
    "deep_json": Fault("JSON nested 100,000 deep", body=lambda ordinary: b"[" * 100_000 + b"]" * 100_000),
    "error_in_200": Fault("200 whose body is an error", body=_error("Upstream failed", code="502")),
    "no_choices": Fault("an empty choice list", body=_with(choices=[])),
    "no_message": Fault("a choice without a message", body=_with(choices=[{"index": 0, "finish_reason": "stop"}])),
    "null_content": Fault("null content", body=_message(content=None)),
    "number_content": Fault("a number as content", body=_message(content=42)),
    "refusal": Fault("the refusal field", body=_message(content=None, refusal="I can't help with that.")),
    "content_filter": Fault("an answer cut by a filter", body=_message(content="", finish_reason="content_filter")),
    "content_filter_400": Fault("a filtered prompt", 400, _error(_FILTERED, code="content_filter")),
    "huge_answer": Fault("an answer of 10 MB", body=_huge),
    "oversized_body": Fault("a body of 20 MB", body=lambda ordinary: ordinary + b" " * OVERSIZED_BODY_BYTES),
    "gzip_bomb": Fault("64 MB in a small gzip", body=lambda ordinary: gzip.compress(b" " * _BOMB_BYTES), headers=_BOMB),
    "hostile_text": Fault("NUL and lone surrogates", body=_raw_text(rb"a\u0000b\ud800c \udc00d \ud83d\ude00")),
    "invalid_utf8": Fault("bytes that are no UTF-8", body=_raw_text(b"caf\xe9")),
    "length": Fault("cut at the token limit", body=_message(content="The ans", finish_reason="length")),
    "malformed_tool_call": Fault("a tool call with broken arguments", body=_tool_call('{"query": "unfinished')),
    "no_usage": Fault("no usage", body=_with(usage=None)),
    "absurd_usage": Fault("impossible usage", body=_with(usage={"prompt_tokens": -1, "completion_tokens": 10**15})),
    "redirect": Fault("a redirect to another host", 302, _page("Moved"), "text/html", _ELSEWHERE),
    "bad_request_400": Fault("400", 400, _error("messages: too few", param="messages")),
    "refused_parameter_400": Fault(
        "400 for a parameter", 400, _error(_NO_TEMPERATURE, code="unsupported_value", param="temperature")
    ),
    "context_length_400": Fault("400 for a long prompt", 400, _error(_TOO_LONG, code="context_length_exceeded")),
    "unauthorized_401": Fault("401 that echoes the key", 401, _error("Incorrect API key: {key}")),
    "key_in_answer": Fault("an answer that quotes the key", body=_message(content=_QUOTED, reasoning_content=_QUOTED)),
    "key_in_call": Fault("a tool call that quotes the key", body=_tool_call('{"query": "{key}"}')),
    "key_in_400": Fault("400 that quotes the key at a long line's end", 400, _error(f"{'x ' * 145}{{key}}")),
    "no_credit_402": Fault("402", 402, _error("Insufficient credits")),
    "forbidden_403": Fault("403", 403, _error("Country not supported", code="unsupported_country")),
    "not_found_404": Fault("404 for a model", 404, _error("The model does not exist", code="model_not_found")),
    "too_large_413": Fault("413", 413, _page("413 Payload Too Large"), "text/html"),
}
"""Name → fault. ``{key}`` in a body becomes the key that was sent."""
