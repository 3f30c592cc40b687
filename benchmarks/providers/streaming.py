"""Streamed replies: server-sent events, read within bounds and assembled into the document of an unstreamed reply.

Every byte is hostile. What is not an event is skipped, what is incomplete at the end is a ``ProviderError``.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

from benchmarks.providers.base import ProviderError, Timeouts
from benchmarks.providers.reading import bad_response, parse_json

if TYPE_CHECKING:
    from aiohttp import StreamReader

DONE = "[DONE]"
"""What ends a stream of OpenAI's chat completions, in place of an event."""
_WHOLE = ("model", "usage", "system_fingerprint")
"""Fields that an event has whole, not in parts."""


class Assembler(ABC):
    """Collects the events of one reply."""

    complete = False
    """Whether the event that ends the reply has come."""

    @abstractmethod
    def add(self, event: Mapping[str, Any]) -> bool:
        """Take an event. Returns whether it has a token of the thinking, the answer or a tool call."""

    @abstractmethod
    def document(self) -> Any:
        """What an unstreamed reply would be."""


async def read_stream(
    content: StreamReader, assembler: Assembler, timeouts: Timeouts, max_bytes: int, clock: Callable[[], float]
) -> tuple[bytes, float | None]:
    """The assembled document as JSON, and when the first token came by ``clock``; ``None`` if there was none.

    An event with an error ends the stream: it is returned in place of the document. After the end of the reply it only
    says why that ended (OpenRouter, at the limit of tokens). Raises ``ProviderError`` if the stream stalls, breaks off
    or is too long.
    """
    first_token = None
    async for data in _events(content, timeouts, max_bytes):
        if data == DONE:
            assembler.complete = True
            break
        try:
            event = parse_json(data, with_nan=True)
        except ValueError:
            raise bad_response("has an event that is not JSON") from None
        if not isinstance(event, dict):
            continue
        if (event.get("error") or event.get("type") == "error") and not assembler.complete:
            return json.dumps(event if event.get("error") else {"error": event}).encode(), first_token
        if assembler.add(event) and first_token is None:
            first_token = clock()
    if not assembler.complete:
        raise ProviderError("connection", "The stream ended before the answer was complete.", retryable=True)
    try:
        return json.dumps(assembler.document()).encode(), first_token
    except RecursionError:
        raise bad_response("is nested too deeply") from None


async def _events(content: StreamReader, timeouts: Timeouts, max_bytes: int) -> AsyncIterator[str]:
    """The data of each event. Comments and other fields are skipped, and do not count as a sign of life."""
    buffer, size, searched = bytearray(), 0, 0
    lines: list[str] = []
    limit, what = timeouts.first_byte, "No first event"
    deadline = asyncio.get_running_loop().time() + limit
    while True:
        chunk = await _chunk(content, deadline, f"{what} within {limit:g} s.")
        size += len(chunk)
        if size > max_bytes:
            raise ProviderError("too_large", f"The response exceeds {max_bytes / 2**20:g} MiB.", status=200)
        buffer += chunk or b"\n\n"  # the end of the stream ends its last event
        while (end := buffer.find(b"\n", searched)) >= 0:
            line = buffer[:end].decode("utf-8", "surrogateescape").rstrip("\r")
            del buffer[: end + 1]
            searched = 0
            if line.startswith("data:"):
                lines.append(line[5:].removeprefix(" "))
            elif not line and lines:
                yield "\n".join(lines)
                lines.clear()
                limit, what = timeouts.stream_silence, "The stream stalled: no event"
                deadline = asyncio.get_running_loop().time() + limit
        searched = len(buffer)
        if not chunk:
            return


async def _chunk(content: StreamReader, deadline: float, stalled: str) -> bytes:
    """The next bytes; none at the end of the stream."""
    try:
        async with asyncio.timeout_at(deadline) as waiting:
            return await content.readany()
    except TimeoutError:
        if waiting.expired():
            raise ProviderError("timeout", stalled, retryable=True) from None
        raise


class ChatAssembler(Assembler):
    """``chat.completion.chunk`` events, the first choice of them."""

    def __init__(self) -> None:
        # Only DeepSeek's reasoning_content is returned with a tool call: Groq and Mistral refuse that field.
        self._texts: dict[str, list[str]] = {"content": [], "reasoning_content": [], "reasoning": [], "refusal": []}
        self._calls: dict[int, dict[str, Any]] = {}
        self._details: list[Any] = []
        self._fields: dict[str, Any] = {}
        self._finish_reason: Any = None

    def add(self, event: Mapping[str, Any]) -> bool:
        self._fields.update((name, event[name]) for name in _WHOLE if event.get(name))
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        if choice.get("finish_reason"):
            self._finish_reason = choice["finish_reason"]
            self.complete = True
        delta = choice.get("delta")
        return self._add_delta(delta) if isinstance(delta, dict) else False

    def _add_delta(self, delta: Mapping[str, Any]) -> bool:
        content = delta.get("content")
        pieces: list[tuple[str, Any]] = [(name, delta.get(name)) for name in self._texts]
        for part in content if isinstance(content, list) else ():  # Mistral
            if isinstance(part, dict) and part.get("type") == "thinking":
                inner = part.get("thinking")
                texts = (
                    [each.get("text") for each in inner if isinstance(each, dict)] if isinstance(inner, list) else []
                )
                pieces += [("reasoning", text) for text in texts]
            elif isinstance(part, dict):
                pieces.append(("content", part.get("text")))
        texts_came = [(name, text) for name, text in pieces if isinstance(text, str) and text]
        for name, text in texts_came:
            self._texts[name].append(text)
        calls, details = delta.get("tool_calls"), delta.get("reasoning_details")
        self._details += details if isinstance(details, list) else []
        calls = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
        for call in calls:
            self._add_call(call)
        return bool(texts_came or calls)

    def _add_call(self, piece: Mapping[str, Any]) -> None:
        """A piece of a call belongs to the call with its index; without one, an ID begins a new call."""
        index = piece.get("index")
        if type(index) is not int:
            index = len(self._calls) if piece.get("id") or not self._calls else max(self._calls)
        call = self._calls.setdefault(index, {"function": {"name": "", "arguments": ""}})
        call.update((name, piece[name]) for name in ("id", "extra_content") if piece.get(name))
        given = piece.get("function")
        function = given if isinstance(given, dict) else {}
        for name in ("name", "arguments"):
            if isinstance(text := function.get(name), str):
                call["function"][name] += text

    def document(self) -> Any:
        message: dict[str, Any] = {name: "".join(texts) for name, texts in self._texts.items() if texts}
        if self._calls:
            message["tool_calls"] = [self._calls[index] for index in sorted(self._calls)]
        if self._details:
            message["reasoning_details"] = self._details
        return {"choices": [{"message": message, "finish_reason": self._finish_reason}], **self._fields}
