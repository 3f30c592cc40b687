"""Any endpoint that speaks OpenAI's chat completions: OpenAI, vLLM, Ollama, llama.cpp, a LiteLLM proxy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from benchmarks.providers.base import ChatRequest, ProviderError
from benchmarks.providers.http_provider import HTTPProvider
from benchmarks.providers.streaming import Assembler, ChatAssembler

_RESERVED = frozenset({"model", "messages", "stream", "n"})
_MAX_COMPLETION_TOKENS_MODELS = re.compile(r"(?:o\d|gpt-[5-9])(?![a-z])")
"""OpenAI's reasoning models reject ``max_tokens`` and want ``max_completion_tokens``, which others do not know."""


def request_body(request: ChatRequest) -> dict[str, Any]:
    """Exactly what is sent: parameters that are ``None`` are absent, ``extra`` comes last.

    Raises ``ProviderError`` (``bad_request``, systemic) if ``extra`` would override what the run measures.
    """
    is_reasoning_model = _MAX_COMPLETION_TOKENS_MODELS.match(request.model.rpartition("/")[2])
    limit_name = "max_completion_tokens" if is_reasoning_model else "max_tokens"
    optional = {
        "temperature": request.temperature,
        "top_p": request.top_p,
        limit_name: request.max_tokens,
        "seed": request.seed,
        "tools": list(request.tools) or None,
        "response_format": request.response_format,
    }
    body: dict[str, Any] = {"model": request.model, "messages": list(request.messages)}
    body.update((name, value) for name, value in optional.items() if value is not None)
    if request.extra:
        reserved = sorted(_RESERVED.intersection(request.extra))
        if reserved:
            message = f"extra parameters must not set {', '.join(reserved)}. Remove them."
            raise ProviderError("bad_request", message, systemic=True)
        body.update(request.extra)
    return body


class OpenAICompatibleProvider(HTTPProvider):
    path = "chat/completions"
    stream_options: ClassVar[Mapping[str, Any]] = {"stream_options": {"include_usage": True}}

    def body(self, request: ChatRequest) -> dict[str, Any]:
        return request_body(request)

    def assembler(self) -> Assembler:
        return ChatAssembler()
