"""Vendors with an interface of their own, through LiteLLM: an optional requirement, imported at the first request.

Importing it takes seconds and far more memory than the rest of a worker, so nobody who does not use it pays for it.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import time
from collections.abc import Mapping
from typing import Any

from benchmarks.providers.base import ChatReply, ChatRequest, Provider, ProviderError
from benchmarks.providers.clean_text import shortened, storable, without_secrets
from benchmarks.providers.hiding import keys_sent, without_keys
from benchmarks.providers.http_errors import Verdict, retry_after, verdict_for_status
from benchmarks.providers.openai_compatible import request_body
from benchmarks.providers.reading import reply_from
from benchmarks.providers.timeouts import Timeouts

PASS_THROUGH_NAME = "litellm"
"""A provider of this name takes LiteLLM's whole model names, such as ``litellm/bedrock/…``."""
INSTALL = "pip install -r requirements-litellm.txt"

_BY_EXCEPTION: Mapping[str, Verdict] = {
    "ContextWindowExceededError": Verdict("too_large", advice="Shorten the prompt or lower max_tokens"),
    "UnsupportedParamsError": Verdict("bad_request", systemic=True, advice="Leave the named parameter unset"),
    "Timeout": Verdict("timeout", retryable=True),
    "APIConnectionError": Verdict("connection", retryable=True),
    "APIResponseValidationError": Verdict("bad_response", retryable=True),
    "JSONSchemaValidationError": Verdict("bad_response", retryable=True),
    "BudgetExceededError": Verdict("auth", systemic=True, advice="LiteLLM's own budget is used up"),
}
"""LiteLLM's exceptions that say more than their status does, by class name; the other ones go by status."""


class LiteLLMProvider(Provider):
    """Model ``m`` at provider ``p`` is LiteLLM's ``p/m``; see also ``PASS_THROUGH_NAME``."""

    def __init__(
        self,
        name: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeouts: Timeouts | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self._timeouts = timeouts or Timeouts()
        self._secrets = tuple(secret for secret in (api_key, *(headers or {}).values()) if secret)
        self._keys = keys_sent(api_key, headers)
        options = {"api_key": api_key, "api_base": base_url, "extra_headers": dict(headers) if headers else None}
        self._options = {key: value for key, value in options.items() if value is not None}
        self._litellm: Any = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    async def complete(self, request: ChatRequest) -> ChatReply:
        if self._litellm is None:
            self._litellm = await asyncio.to_thread(_import_litellm, self.name)
        arguments = self._arguments(request)
        began = time.perf_counter()
        try:
            async with asyncio.timeout(self._timeouts.whole):
                completion = await self._litellm.acompletion(**arguments)
        except TimeoutError:
            message = f"{self.name}: no whole reply within {self._timeouts.whole:g} s"
            raise ProviderError("timeout", message, retryable=True) from None
        except Exception as error:
            return self._refusal_or_error(error)
        duration_ms = (time.perf_counter() - began) * 1000
        reply = reply_from(completion.model_dump(), duration_ms=duration_ms, first_byte_ms=None)
        return without_keys(reply, self._keys)

    async def close(self) -> None:
        if self._litellm is not None:
            await self._litellm.close_litellm_async_clients()

    def _arguments(self, request: ChatRequest) -> dict[str, Any]:
        """Keyword arguments of ``acompletion``. LiteLLM's retries are off and no parameter is dropped silently."""
        prefix = "" if self.name == PASS_THROUGH_NAME else f"{self.name}/"
        return {
            **request_body(request),
            **self._options,
            "model": prefix + request.model,
            "timeout": self._timeouts.whole,
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": False,
        }

    def _refusal_or_error(self, error: Exception) -> ChatReply:
        """The reply that a filter's refusal is; raises ``ProviderError`` for every other exception of LiteLLM."""
        names = {cls.__name__ for cls in type(error).__mro__}
        message = shortened(without_secrets(storable(str(error), []), self._secrets))
        if "ContentPolicyViolationError" in names:
            return ChatReply("", finish_reason="content_filter", refusal=message)
        given = getattr(error, "status_code", None)
        status = given if isinstance(given, int) else None
        verdict = next((_BY_EXCEPTION[name] for name in _BY_EXCEPTION if name in names), None)
        if verdict is None:
            verdict = verdict_for_status(status) if status else Verdict("server")
        raise ProviderError(
            verdict.kind,
            ". ".join(part.rstrip(".") for part in (f"{self.name}: {message}", verdict.advice) if part),
            status=status,
            retry_after=retry_after(getattr(getattr(error, "response", None), "headers", None) or {}),
            retryable=verdict.retryable,
            systemic=verdict.systemic,
        ) from None


def _import_litellm(name: str) -> Any:
    """The module, kept from printing and from fetching its price list over the network."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        litellm: Any = importlib.import_module("litellm")
    except ImportError as error:
        message = f"{name}: models of this provider need LiteLLM, which is not installed ({error}). Run: {INSTALL}"
        raise ProviderError("unsupported", message, systemic=True) from None
    litellm.suppress_debug_info = True
    return litellm
