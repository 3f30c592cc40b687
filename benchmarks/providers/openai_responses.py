"""OpenAI's Responses API. Requests and replies are translated from and to chat completions, which the engine speaks.

Nothing is stored at OpenAI: a conversation with tools sends everything again. For a model that thinks, the parameter
``include: [reasoning.encrypted_content]`` makes its thinking a part of that; other models refuse it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.providers.base import ChatRequest, Message
from benchmarks.providers.http_provider import HTTPProvider
from benchmarks.providers.streaming import Assembler

_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
_CUT_OFF = {"max_output_tokens": "length", "content_filter": "content_filter"}


class OpenAIResponsesProvider(HTTPProvider):
    path = "responses"
    takes_seed = False

    def body(self, request: ChatRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": request.model,
            "input": [item for message in request.messages for item in _items(message)],
            "store": False,
        }
        optional = {
            "temperature": request.temperature,
            "top_p": request.top_p,
            "max_output_tokens": request.max_tokens,
            "tools": [{"type": "function", "strict": False, **tool["function"]} for tool in request.tools] or None,
            "text": _text_format(request.response_format),
        }
        body.update((name, value) for name, value in optional.items() if value is not None)
        extra = dict(request.extra)
        if effort := extra.pop("reasoning_effort", None):  # its name in chat completions
            extra["reasoning"] = {"effort": effort, **extra.get("reasoning", {})}
        return body | extra

    def assembler(self) -> Assembler:
        return ResponseAssembler()

    def chat_completion(self, document: Any) -> Any:
        if not isinstance(document, dict) or not isinstance(document.get("output"), list) or document.get("error"):
            return document
        items = [item for item in document["output"] if isinstance(item, dict)]
        parts = [part for item in items if item.get("type") == "message" for part in _dicts(item.get("content"))]
        refusals = [part.get("refusal") for part in parts if part.get("type") == "refusal"]
        thinking = [item for item in items if item.get("type") == "reasoning"]
        calls = [
            {"id": item.get("call_id"), "function": {"name": item.get("name"), "arguments": item.get("arguments")}}
            for item in items
            if item.get("type") == "function_call"
        ]
        message = {
            "content": [{"type": "text", "text": part.get("text")} for part in parts],
            "refusal": refusals[0] if refusals else None,
            "reasoning_content": "\n\n".join(_thoughts(thinking)),
            "tool_calls": calls,
            "reasoning_items": [item for item in thinking if item.get("encrypted_content")],
        }
        choice = {"message": message, "finish_reason": _finish_reason(document, bool(calls))}
        return {"model": document.get("model"), "choices": [choice], "usage": _usage(document.get("usage"))}


def _finish_reason(document: Mapping[str, Any], called: bool) -> str:
    details = document.get("incomplete_details")
    if document.get("status") == "incomplete" and isinstance(details, dict):
        reason = str(details.get("reason"))
        return _CUT_OFF.get(reason, reason)
    return "tool_calls" if called else "stop"


def _thoughts(items: Sequence[Mapping[str, Any]]) -> list[str]:
    """Summaries of thinking, and thinking in full as open models give it."""
    parts = [part for item in items for name in ("summary", "content") for part in _dicts(item.get(name))]
    return [part["text"] for part in parts if isinstance(part.get("text"), str)]


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [member for member in value if isinstance(member, dict)] if isinstance(value, list) else []


def _usage(usage: Any) -> dict[str, Any] | None:
    if not isinstance(usage, dict):
        return None
    return {
        "prompt_tokens": usage.get("input_tokens"),
        "completion_tokens": usage.get("output_tokens"),
        "prompt_tokens_details": usage.get("input_tokens_details"),
        "completion_tokens_details": usage.get("output_tokens_details"),
    }


def _items(message: Message) -> list[Any]:
    """The input items of one message."""
    if message["role"] == "tool":
        return [{"type": "function_call_output", "call_id": message["tool_call_id"], "output": message["content"]}]
    items = list(message.get("reasoning_items", ()))
    if content := message.get("content"):
        text_type = "output_text" if message["role"] == "assistant" else "input_text"
        parts = content if isinstance(content, str) else [_part(part, text_type) for part in content]
        items.append({"role": message["role"], "content": parts})
    calls = message.get("tool_calls", ())
    return [*items, *({"type": "function_call", "call_id": call["id"], **call["function"]} for call in calls)]


def _part(part: Mapping[str, Any], text_type: str) -> Mapping[str, Any]:
    if part["type"] == "image_url":
        return {"type": "input_image", "image_url": part["image_url"]["url"]}
    return {"type": text_type, "text": part["text"]}


def _text_format(response_format: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if response_format is None:
        return None
    schema = response_format.get("json_schema")
    return {"format": {"type": "json_schema", **schema} if isinstance(schema, Mapping) else dict(response_format)}


class ResponseAssembler(Assembler):
    """The last event has the whole response."""

    def __init__(self) -> None:
        self._response: Any = None

    def add(self, event: Mapping[str, Any]) -> bool:
        kind = str(event.get("type"))
        if kind in _ENDS:
            self._response, self.complete = event.get("response"), True
        return kind.endswith(".delta") and bool(event.get("delta"))

    def document(self) -> Any:
        return self._response
