"""Test a model with a few tiny requests: whether it answers, how fast, and what it supports.

Each request has a prompt of a few words and an answer of at most ``MAX_TOKENS`` tokens. The whole test is bounded in
time, because a person waits for it in a web page.
"""

from __future__ import annotations

import asyncio
import base64
import json
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from benchmarks.providers.adjustments import Adjustments
from benchmarks.providers.base import ChatReply, ChatRequest, Provider, ProviderError, Timeouts
from benchmarks.providers.model_families import ModelTraits

TEST_SECONDS = 10.0
"""From the first request of a test to its end."""
TEST_TIMEOUTS = Timeouts(connect=3.0, first_byte=8.0, whole=9.0)
MAX_TOKENS = 64
PARALLEL = 3

Prompt = str | list[dict[str, object]]
Support = Literal["yes", "ignored", "refused", "unknown"]
"""``ignored``: accepted, but the answer does not show it. ``unknown``: the request failed for another reason."""


@dataclass(frozen=True, slots=True)
class Capability:
    support: Support
    message: str = ""
    """What the endpoint said, if it refused or failed."""


@dataclass(frozen=True, slots=True)
class ModelReport:
    """``error`` is that of the plain request; without an answer to it, no capability is tested."""

    duration_ms: float | None = None
    error: ProviderError | None = None
    capabilities: Mapping[str, Capability] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Trial:
    prompt: Prompt
    options: Mapping[str, object]
    shown_by: Callable[[ChatReply], bool]
    streamed: bool = False


def _png(red: int, green: int, blue: int, side: int = 32) -> str:
    """A square of one color as a data URL."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + bytes((red, green, blue)) * side) * side
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    image = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return f"data:image/png;base64,{base64.b64encode(image).decode()}"


def _is_object_with_ready(reply: ChatReply) -> bool:
    try:
        answer = json.loads(reply.text)
    except ValueError:
        return False
    return isinstance(answer, dict) and isinstance(answer.get("ready"), bool)


_TOOL = {
    "type": "function",
    "function": {
        "name": "get_time",
        "description": "The current time in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
_SCHEMA = {
    "type": "object",
    "properties": {"ready": {"type": "boolean"}},
    "required": ["ready"],
    "additionalProperties": False,
}
_PICTURE: list[dict[str, object]] = [
    {"type": "text", "text": "Which color is this image? Answer in one word."},
    {"type": "image_url", "image_url": {"url": _png(255, 0, 0)}},
]
_TRIALS: Mapping[str, _Trial] = {
    "tools": _Trial(
        "What time is it in Paris? Call the tool.", {"tools": [_TOOL]}, lambda reply: bool(reply.tool_calls)
    ),
    "json_schema": _Trial(
        "Are you ready?",
        {"response_format": {"type": "json_schema", "json_schema": {"name": "r", "strict": True, "schema": _SCHEMA}}},
        _is_object_with_ready,
    ),
    "streaming": _Trial("Reply with OK.", {}, lambda reply: reply.first_token_ms is not None, streamed=True),
    "images": _Trial(_PICTURE, {}, lambda reply: "red" in reply.text.lower()),
    "temperature": _Trial("Reply with OK.", {"temperature": 0.0}, lambda reply: True),
}
CAPABILITIES = tuple(_TRIALS)
REQUESTS = 2 + len(_TRIALS)
"""The most requests that a test sends, if the endpoint refuses the first one for its name of ``max_tokens``."""
_REFUSALS = frozenset({"bad_request", "unsupported", "not_found", "too_large"})


async def run_model_test(
    provider: Provider,
    streaming: Provider,
    model: str,
    parallel: int = PARALLEL,
    names: Mapping[str, str] = MappingProxyType({}),
) -> ModelReport:
    """Test ``model``, its name without the provider's prefix, with at most ``parallel`` requests in flight.

    ``streaming`` is the same provider, set to stream its replies; ``names`` are the endpoint's names of parameters, as
    in ``ChatRequest``.
    Ends after ``TEST_SECONDS`` at the latest. Errors of the endpoint are part of the report and not raised.
    """
    deadline = asyncio.get_running_loop().time() + TEST_SECONDS
    free = asyncio.Semaphore(max(1, parallel))
    adjustments = Adjustments(f"{provider.name}/{model}", ModelTraits(names=names), provider.streams)

    async def answer(prompt: Prompt, options: Mapping[str, Any], streamed: bool = False) -> ChatReply:
        messages = [{"role": "user", "content": prompt}]
        request = adjustments.adapted(ChatRequest(model, messages, max_tokens=MAX_TOKENS, **options))
        try:
            async with asyncio.timeout_at(deadline), free:
                return await (streaming if streamed else provider).complete(request)
        except TimeoutError:
            message = (
                f"{provider.name}: No response within {TEST_SECONDS:g} s. A model that is being loaded takes longer"
            )
            raise ProviderError("timeout", message, retryable=True) from None

    async def capability(trial: _Trial) -> Capability:
        try:
            reply = await answer(trial.prompt, trial.options, trial.streamed)
        except ProviderError as error:
            return Capability("refused" if error.kind in _REFUSALS else "unknown", error.message)
        return Capability("yes" if trial.shown_by(reply) else "ignored")

    try:
        try:
            reply = await answer("Reply with OK.", {})
        except ProviderError as error:
            # All that this request may change is whether it streams, and the name of its limit, which no deployment's
            # name tells.
            if not adjustments.learn(error, adjustments.adapted(ChatRequest(model, (), max_tokens=MAX_TOKENS))):
                raise
            reply = await answer("Reply with OK.", {})
    except ProviderError as error:
        return ModelReport(error=error)
    if provider.is_system:  # it answers tasks in its own way, and supports nothing else
        return ModelReport(reply.duration_ms)
    capabilities = await asyncio.gather(*(capability(trial) for trial in _TRIALS.values()))
    return ModelReport(reply.duration_ms, None, dict(zip(_TRIALS, capabilities, strict=True)))
