"""What the loopback endpoint speaks besides chat completions: Anthropic's messages and OpenAI's Responses API.

Only as much as a run needs: text in, text and usage out, without streams.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Document = Mapping[str, Any]


def _message(document: Document) -> dict[str, Any]:
    choice, usage = document["choices"][0], document["usage"]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": document["model"],
        "content": [{"type": "text", "text": choice["message"]["content"]}],
        "stop_reason": "max_tokens" if choice["finish_reason"] == "length" else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]},
    }


def _response(document: Document) -> dict[str, Any]:
    choice, usage = document["choices"][0], document["usage"]
    cut_off = choice["finish_reason"] == "length"
    content = [{"type": "output_text", "text": choice["message"]["content"], "annotations": []}]
    return {
        "id": "resp_1",
        "object": "response",
        "status": "incomplete" if cut_off else "completed",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if cut_off else None,
        "model": document["model"],
        "output": [{"type": "message", "id": "msg_1", "role": "assistant", "content": content}],
        "usage": {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]},
    }


DIALECTS: Mapping[str, Callable[[Document], dict[str, Any]]] = {"/v1/messages": _message, "/v1/responses": _response}
"""Path → the vendor's form of a chat completion."""
