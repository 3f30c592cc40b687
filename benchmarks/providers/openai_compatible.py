"""Any endpoint that speaks OpenAI's chat completions: OpenAI, vLLM, Ollama, llama.cpp, a LiteLLM proxy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from benchmarks.providers.base import ChatRequest
from benchmarks.providers.http_provider import HTTPProvider
from benchmarks.providers.streaming import Assembler, ChatAssembler


def request_body(request: ChatRequest) -> dict[str, object]:
    """Exactly what is sent: parameters that are ``None`` are absent, ``extra`` comes last."""
    optional = {
        "temperature": request.temperature,
        "top_p": request.top_p,
        request.names.get("max_tokens", "max_tokens"): request.max_tokens,
        request.names.get("seed", "seed"): request.seed,
        "tools": list(request.tools) or None,
        "response_format": request.response_format,
    }
    body: dict[str, object] = {"model": request.model, "messages": list(request.messages)}
    body.update((name, value) for name, value in optional.items() if value is not None)
    body.update(request.extra)
    return body


class OpenAICompatibleProvider(HTTPProvider):
    path = "chat/completions"
    stream_options: ClassVar[Mapping[str, object]] = {"stream_options": {"include_usage": True}}

    def body(self, request: ChatRequest) -> dict[str, object]:
        return request_body(request)

    def assembler(self) -> Assembler:
        return ChatAssembler()
