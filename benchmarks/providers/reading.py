"""Turn the bytes of a chat completion into a ``ChatReply``. The bytes are hostile; only ``ProviderError`` is raised."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from benchmarks.providers.base import ChatReply, ProviderError, ToolCall
from benchmarks.providers.clean_text import shortened, storable, storable_json

_MOST_TOKENS = 2**31 - 1
"""More than any model can use, and the largest integer of the database column."""
_LONGEST_NAME = 200


def parse_json(body: bytes | str) -> Any:
    """Strict JSON, except for lone surrogates and bytes that are not UTF-8, which occur in otherwise good answers.

    Raises ``ValueError`` if it is not JSON, nests too deeply, or contains NaN or infinities.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_reply(
    body: bytes, chat_completion: Callable[[Any], Any], *, duration_ms: float, first_byte_ms: float | None
) -> ChatReply:
    """The answer in a body with status 200, which ``chat_completion`` brings into OpenAI's form.

    Raises ``ProviderError`` (``bad_response``) if there is none.
    """
    try:
        document = parse_json(body)
    except ValueError:
        raise _bad_response(f"is not valid JSON: {_sketch(body)}") from None
    return reply_from(chat_completion(document), duration_ms=duration_ms, first_byte_ms=first_byte_ms)


def reply_from(document: Any, *, duration_ms: float, first_byte_ms: float | None) -> ChatReply:
    """The answer in a decoded ``chat.completion``. Null content is an empty answer; no choice is an error."""
    message, finish_reason = _first_choice(document)
    notes: list[str] = []
    usage = document.get("usage")
    calls = message.get("tool_calls")
    return ChatReply(
        text=_text(message.get("content"), notes),
        tool_calls=tuple(_tool_call(call, notes) for call in calls) if isinstance(calls, list) else (),
        finish_reason=finish_reason,
        refusal=_optional_text(message.get("refusal"), notes),
        reasoning=_optional_text(message.get("reasoning_content") or message.get("reasoning"), notes),
        tokens_in=_tokens(usage, "prompt_tokens", notes),
        tokens_out=_tokens(usage, "completion_tokens", notes),
        model=_name(document.get("model")),
        duration_ms=duration_ms,
        first_byte_ms=first_byte_ms,
        notes=tuple(notes),
    )


def _first_choice(document: Any) -> tuple[Mapping[str, Any], str]:
    """Message and finish reason of the first choice."""
    if not isinstance(document, dict):
        raise _bad_response(f"is a JSON {type(document).__name__}, not an object")
    choices = document.get("choices")
    if not isinstance(choices, list) or not choices:
        raise _bad_response("has no choices")
    message = choices[0].get("message") if isinstance(choices[0], dict) else None
    if not isinstance(message, dict):
        raise _bad_response("has a choice without a message")
    return message, _name(choices[0].get("finish_reason")) or "stop"


def _text(content: Any, notes: list[str]) -> str:
    """Content as text. If it comes in parts, as from some vendors, the text parts are joined."""
    if content is None:
        return ""
    if isinstance(content, str):
        return storable(content, notes)
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return storable("".join(part for part in parts if isinstance(part, str)), notes)
    raise _bad_response(f"has content of type {type(content).__name__}")


def _optional_text(value: Any, notes: list[str]) -> str | None:
    return storable(value, notes) if isinstance(value, str) and value else None


def _name(value: Any) -> str:
    return storable(value, [])[:_LONGEST_NAME] if isinstance(value, str) else ""


def _tool_call(call: Any, notes: list[str]) -> ToolCall:
    """One call; what cannot be parsed stays readable in ``raw_arguments``."""
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return ToolCall(id="", name="", arguments=None, raw_arguments=_as_json(call))
    given = function.get("arguments")
    raw = given if isinstance(given, str) else _as_json({} if given is None else given)
    return ToolCall(
        id=_name(call.get("id")),
        name=_name(function.get("name")),
        arguments=_arguments(raw, notes),
        raw_arguments=storable(raw, notes),
    )


def _as_json(value: Any) -> str:
    """The text of JSON that an endpoint sent in place of text; ASCII, so it is storable."""
    try:
        return json.dumps(value)
    except RecursionError:
        return "(nested too deeply to show)"


def _arguments(raw: str, notes: list[str]) -> dict[str, Any] | None:
    """The arguments, or ``None`` if they are not a JSON object. Blank means none, as some endpoints send it."""
    if not raw.strip():
        return {}
    try:
        arguments = storable_json(parse_json(raw), notes)
    except (ValueError, RecursionError):
        return None
    return arguments if isinstance(arguments, dict) else None


def _tokens(usage: Any, key: str, notes: list[str]) -> int | None:
    count = usage.get(key) if isinstance(usage, dict) else None
    if count is None:
        return None
    if type(count) is int and 0 <= count <= _MOST_TOKENS:
        return count
    notes.append(f"usage reports {key} as {shortened(repr(count), 40)}, which is not a token count")
    return None


def _sketch(body: bytes) -> str:
    """What a body that is not JSON seems to be."""
    if not body:
        return "empty"
    start = body[:200].lstrip().lower()
    if start.startswith((b"<!doctype", b"<html")):
        return "a web page. Check the `base_url`"
    return f"{len(body):,} bytes that break off or are malformed"


def _bad_response(what: str) -> ProviderError:
    return ProviderError("bad_response", f"The response {what}.", status=200, retryable=True)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
