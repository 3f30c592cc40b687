"""Answers without the keys that went out with their requests: an endpoint that echoes one must not get it stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.providers.base import ChatReply, ToolCall
from benchmarks.providers.clean_text import SECRET_SHOWN_AS

SHORTEST_KEY = 16
"""Shorter ones are dummies of local servers, such as ``ollama`` or ``not-needed``, which an answer may well say."""
NOTE = f"a key that the endpoint quoted replaced by {SECRET_SHOWN_AS}"
_SECRET_HEADERS = ("auth", "key", "token", "secret", "cookie", "password")


def keys_sent(api_key: str | None, headers: Mapping[str, str] | None) -> tuple[str, ...]:
    """What of a provider's key and headers is secret; a header ``Authorization: Scheme key`` also without its scheme.

    Nothing else is looked for in an answer: an endpoint can only quote what it was sent, and text that merely looks
    like a key may be what the model was asked for.
    """
    named = [value for name, value in (headers or {}).items() if any(part in name.lower() for part in _SECRET_HEADERS)]
    found = {part for value in (api_key or "", *named) for part in (value, value.rpartition(" ")[2])}
    return tuple(sorted((key for key in found if len(key) >= SHORTEST_KEY), key=len, reverse=True))


def without_keys(reply: ChatReply, keys: Sequence[str]) -> ChatReply:
    """The reply with every one of ``keys`` masked and a note of it; the same object where it quotes none."""
    if not any(key in text for key in keys for text in _texts(reply)):
        return reply

    def hide(value: Any) -> Any:
        return _hidden(value, keys)

    calls = tuple(
        ToolCall(hide(call.id), hide(call.name), hide(call.arguments), hide(call.raw_arguments))
        for call in reply.tool_calls
    )
    return replace(
        reply,
        text=hide(reply.text),
        tool_calls=calls,
        finish_reason=hide(reply.finish_reason),
        refusal=hide(reply.refusal),
        reasoning=hide(reply.reasoning),
        model=hide(reply.model),
        notes=(*map(hide, reply.notes), NOTE),
    )


def _texts(reply: ChatReply) -> Iterable[str]:
    """Every text of a reply. Arguments that were parsed may hold what stands escaped in the raw ones."""
    yield from (reply.text, reply.refusal or "", reply.reasoning or "", reply.finish_reason, reply.model, *reply.notes)
    for call in reply.tool_calls:
        yield from (call.id, call.name, call.raw_arguments, *_strings(call.arguments))


def _strings(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, member in value.items():
            yield str(key)
            yield from _strings(member)
    elif isinstance(value, list):
        for member in value:
            yield from _strings(member)


def _hidden(value: Any, keys: Sequence[str]) -> Any:
    if isinstance(value, str):
        for key in keys:
            value = value.replace(key, SECRET_SHOWN_AS)
        return value
    if isinstance(value, Mapping):
        return {_hidden(name, keys): _hidden(member, keys) for name, member in value.items()}
    if isinstance(value, list):
        return [_hidden(member, keys) for member in value]
    return value
