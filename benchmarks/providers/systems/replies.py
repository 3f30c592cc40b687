"""Read what a system under test replied. It is hostile; only ``ProviderError`` is raised."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Unpack

import orjson

from benchmarks.providers.atif import steps_given
from benchmarks.providers.base import ChatReply, ProviderError, Times
from benchmarks.providers.clean_text import shortened, storable
from benchmarks.providers.reading import reply_from
from benchmarks.providers.steps import TOOL_CALL

FIELDS = (
    *("answer", "retrieved", "tool_calls", "steps", "tokens_in", "tokens_out", "cost_usd", "error", "retryable"),
    "model",
)
"""What a system can say of an answer."""
MOST_PASSAGES = 1_000
MOST_CALLS = 1_000
HIGHEST_COST = 1_000_000.0


def system_reply(given: Mapping[str, Any], **times: Unpack[Times]) -> ChatReply:
    """The reply of a system from the values of ``FIELDS``, of which only ``answer`` is required.

    What cannot be read beside the answer is left out, with a note. Raises ``ProviderError`` with the system's own
    ``error`` if there is one (``server``), and if there is no answer (``bad_response``).
    """
    if error := given.get("error"):
        text = shortened(storable(_as_text(error), []))
        raise ProviderError("server", f"The system reports an error: {text}", retryable=given.get("retryable") is True)
    if given.get("answer") is None:
        raise ProviderError("bad_response", "The reply has no answer.", retryable=True)
    notes: list[str] = []
    steps = steps_given(given.get("steps"), notes)
    calls = given.get("tool_calls")
    if calls is None:  # the steps say which there were
        calls = [{"name": step.name, "arguments": step.arguments} for step in steps if step.kind == TOOL_CALL]
    message = {"content": _as_text(given["answer"]), "tool_calls": _calls(calls, notes)}
    usage = {"prompt_tokens": given.get("tokens_in"), "completion_tokens": given.get("tokens_out")}
    document = {"choices": [{"message": message}], "usage": usage, "model": given.get("model")}
    reply = reply_from(document, **times)
    passages, cost = _passages(given.get("retrieved"), notes), _cost(given.get("cost_usd"), notes)
    written = tuple(step.as_json() for step in steps)
    return replace(reply, retrieved=passages, cost_usd=cost, steps=written, notes=(*reply.notes, *notes))


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:  # a surrogate, or a number of over 64 bits
        return json.dumps(value, ensure_ascii=False, default=repr)


def _passages(given: Any, notes: list[str]) -> tuple[str, ...] | None:
    if given is None:
        return None
    if not isinstance(given, list):
        notes.append(f"“retrieved” is {shortened(repr(given), 60)}, not a list of texts, and was left out")
        return None
    if len(given) > MOST_PASSAGES:
        notes.append(f"“retrieved” has {len(given):,} passages, of which the first {MOST_PASSAGES:,} were kept")
    return tuple(storable(_as_text(each), notes) for each in given[:MOST_PASSAGES])


def _calls(given: Any, notes: list[str]) -> list[Any]:
    """Tool calls in OpenAI's form, from that or from ``{name, arguments}``."""
    if given is None:
        return []
    if not isinstance(given, list):
        notes.append(f"“tool_calls” is {shortened(repr(given), 60)}, not a list, and was left out")
        return []
    if len(given) > MOST_CALLS:
        notes.append(f"“tool_calls” has {len(given):,} calls, of which the first {MOST_CALLS:,} were kept")
    return [
        {"id": call.get("id"), "function": {"name": call.get("name"), "arguments": call.get("arguments")}}
        if isinstance(call, dict) and "function" not in call
        else call
        for call in given[:MOST_CALLS]
    ]


def _cost(given: Any, notes: list[str]) -> float | None:
    if given is None:
        return None
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if is_number and math.isfinite(given) and 0 <= given <= HIGHEST_COST:
        return float(given)
    notes.append(f"“cost_usd” is {shortened(repr(given), 40)}, not an amount in US dollars, and was left out")
    return None
