"""Anthropic's messages API. Requests and replies are translated from and to OpenAI's form, which the engine speaks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.providers.base import ChatRequest, Message, text_of
from benchmarks.providers.http_provider import HTTPProvider
from benchmarks.providers.reading import parse_json
from benchmarks.providers.streaming import Assembler

VERSION = "2023-06-01"
DEFAULT_MAX_TOKENS = 8_192
"""The API requires a limit; this one is sent if the run sets none."""

_DATA_URL = re.compile(r"data:([\w./+-]+);base64,(.*)", re.DOTALL)
_FINISH_REASONS = {
    **dict.fromkeys(("end_turn", "stop_sequence", "pause_turn"), "stop"),
    **dict.fromkeys(("max_tokens", "model_context_window_exceeded"), "length"),
    "tool_use": "tool_calls",
    "refusal": "refusal",
}
_PIECES = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "input",
}
"""Type of a delta → the field of its block that it continues."""


class AnthropicProvider(HTTPProvider):
    path = "messages"
    takes_seed = False

    def vendor_headers(self, api_key: str | None) -> dict[str, str]:
        return {"anthropic-version": VERSION, **({"x-api-key": api_key} if api_key else {})}

    def body(self, request: ChatRequest) -> dict[str, Any]:
        system = [text_of(message) for message in request.messages if message["role"] in ("system", "developer")]
        body: dict[str, Any] = {
            "model": request.model,
            "max_tokens": request.max_tokens or DEFAULT_MAX_TOKENS,
            "messages": _turns(request.messages),
        }
        optional = {
            "system": "\n\n".join(system) or None,
            "temperature": request.temperature,
            "top_p": request.top_p,
            "tools": [_tool(tool["function"]) for tool in request.tools] or None,
            "output_config": _output_config(request.response_format),
        }
        body.update((name, value) for name, value in optional.items() if value is not None)
        extra = dict(request.extra)
        if isinstance(config := extra.get("output_config"), Mapping):
            extra["output_config"] = {**body.get("output_config", {}), **config}
        return body | extra

    def assembler(self) -> Assembler:
        return MessageAssembler()

    def chat_completion(self, document: Any) -> Any:
        if not isinstance(document, dict) or not isinstance(document.get("content"), list):
            return document
        blocks = [block for block in document["content"] if isinstance(block, dict)]
        texts = [{"type": "text", "text": block.get("text")} for block in blocks if block.get("type") == "text"]
        thinking = [block for block in blocks if block.get("type") in ("thinking", "redacted_thinking")]
        thoughts = (block.get("thinking") for block in thinking)
        calls = [
            {"id": block.get("id"), "function": {"name": block.get("name"), "arguments": block.get("input")}}
            for block in blocks
            if block.get("type") == "tool_use"
        ]
        message: dict[str, Any] = {
            "content": texts,
            "reasoning_content": "\n\n".join(thought for thought in thoughts if isinstance(thought, str) and thought),
            "tool_calls": calls,
            "thinking_blocks": thinking,
        }
        stopped = document.get("stop_reason")
        reason = _FINISH_REASONS.get(stopped, stopped) if isinstance(stopped, str) else None
        if reason == "refusal":
            details = document.get("stop_details")
            message["refusal"] = details.get("explanation") if isinstance(details, dict) else None
        choice = {"message": message, "finish_reason": reason}
        return {"model": document.get("model"), "choices": [choice], "usage": _usage(document.get("usage"))}


def _usage(usage: Any) -> dict[str, object] | None:
    """Anthropic counts tokens read from and written to its cache beside ``input_tokens``."""
    if not isinstance(usage, dict):
        return None
    read, written = usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
    total, details = usage.get("input_tokens"), usage.get("output_tokens_details")
    if type(total) is int:
        total += sum(count for count in (read, written) if type(count) is int and count > 0)
    return {
        "prompt_tokens": total,
        "completion_tokens": usage.get("output_tokens"),
        "prompt_tokens_details": {"cached_tokens": read},
        "completion_tokens_details": {
            "reasoning_tokens": details.get("thinking_tokens") if isinstance(details, dict) else None
        },
    }


def _turns(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Messages but for the system's. What follows in one role, such as the results of several tools, is one turn."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] in ("system", "developer"):
            continue
        role = "assistant" if message["role"] == "assistant" else "user"
        blocks = _blocks(message)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    return turns


def _blocks(message: Message) -> list[Any]:
    if message["role"] == "tool":
        return [{"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": text_of(message)}]
    content = message.get("content") or []
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks = [*message.get("thinking_blocks", ()), *map(_part, parts)]
    for call in message.get("tool_calls", ()):
        function = call["function"]
        blocks.append(
            {"type": "tool_use", "id": call["id"], "name": function["name"], "input": _input(function["arguments"])}
        )
    return blocks


def _part(part: Mapping[str, Any]) -> Mapping[str, Any]:
    if part["type"] != "image_url":
        return part
    url = part["image_url"]["url"]
    if embedded := _DATA_URL.fullmatch(url):
        source = {"type": "base64", "media_type": embedded[1], "data": embedded[2]}
        return {"type": "image", "source": source}
    return {"type": "image", "source": {"type": "url", "url": url}}


def _input(arguments: str) -> dict[str, object]:
    """The arguments of a call as an object; broken ones, which the API does not take back, as none."""
    try:
        value = parse_json(arguments or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _tool(function: Mapping[str, object]) -> dict[str, object]:
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    tool = {"name": function["name"], "input_schema": schema}
    return tool | ({"description": function["description"]} if function.get("description") else {})


def _output_config(response_format: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """``json_schema`` in Anthropic's form. There is nothing like ``json_object``, whose prompt asks for JSON anyway."""
    if response_format is None or response_format.get("type") != "json_schema":
        return None
    return {"format": {"type": "json_schema", "schema": response_format["json_schema"]["schema"]}}


class MessageAssembler(Assembler):
    def __init__(self) -> None:
        self._message: dict[str, object] = {}
        self._blocks: dict[Any, dict[str, object]] = {}
        self._pieces: dict[Any, dict[str, list[str]]] = {}

    def add(self, event: Mapping[str, Any]) -> bool:
        kind, index = event.get("type"), event.get("index")
        index = index if type(index) is int else 0
        if kind == "message_stop":
            self.complete = True
        given = event.get({"message_start": "message", "content_block_start": "content_block"}.get(str(kind), "delta"))
        if not isinstance(given, dict):
            return False
        match kind:
            case "message_start":
                self._message |= given
            case "message_delta":
                self._message |= {name: given.get(name) for name in ("stop_reason", "stop_details")}
                usages = self._message.get("usage"), event.get("usage")
                self._message["usage"] = {k: v for usage in usages if isinstance(usage, dict) for k, v in usage.items()}
            case "content_block_start":
                self._blocks[index] = dict(given)
                return given.get("type") == "tool_use"
            case "content_block_delta":
                field = _PIECES.get(str(given.get("type")))
                piece = given.get("partial_json" if field == "input" else str(field))
                if field and isinstance(piece, str) and piece:
                    self._pieces.setdefault(index, {}).setdefault(field, []).append(piece)
                    return field != "signature"
        return False

    def document(self) -> Any:
        blocks = []
        for index in sorted(self._blocks):
            pieces = {field: "".join(texts) for field, texts in self._pieces.get(index, {}).items()}
            blocks.append(self._blocks[index] | pieces)
        return {**self._message, "content": blocks}
