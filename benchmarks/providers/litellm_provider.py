"""Vendors with their own API, through LiteLLM: an optional requirement, imported by the first request.

Importing it takes seconds and far more memory than the rest of a worker, so only those who use it pay for it.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from benchmarks.extras import how_to_install
from benchmarks.providers.base import ChatReply, ChatRequest, Provider, ProviderError, ProviderSpec
from benchmarks.providers.clean_text import keys_sent, shortened, storable, without_keys, without_secrets
from benchmarks.providers.http_errors import Verdict, refusal_of, refused_parameters, verdict_for_status
from benchmarks.providers.litellm_package import litellm_name
from benchmarks.providers.openai_compatible import request_body
from benchmarks.providers.reading import reply_from

_MOST_READ = 64 * 1024

_BY_EXCEPTION: Mapping[str, Verdict] = {
    "ContextWindowExceededError": Verdict("too_large", advice="Shorten the prompt or lower max_tokens"),
    "UnsupportedParamsError": Verdict("bad_request", systemic=True, advice="Do not set this parameter"),
    "Timeout": Verdict("timeout", retryable=True),
    "APIConnectionError": Verdict("connection", retryable=True),
    "APIResponseValidationError": Verdict("bad_response", retryable=True),
    "JSONSchemaValidationError": Verdict("bad_response", retryable=True),
    "BudgetExceededError": Verdict(
        "authentication", systemic=True, advice="LiteLLM's own budget is exhausted. Raise it"
    ),
}
"""LiteLLM's exceptions that say more than their status, by class name; others are classified by status."""


class LiteLLMProvider(Provider):
    """The module; ``litellm_name`` says which of LiteLLM's models is meant."""

    def __init__(self, spec: ProviderSpec) -> None:
        super().__init__(spec)
        self._timeouts = spec.timeouts
        self._base_url = spec.base_url
        self._secrets = tuple(secret for secret in (spec.api_key, *spec.headers.values()) if secret)
        self._keys = keys_sent(spec.api_key, spec.headers)
        options = {"api_key": spec.api_key, "api_base": spec.base_url, "extra_headers": dict(spec.headers) or None}
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
            message = f"{self.name}: No complete response within {self._timeouts.whole:g} s."
            raise ProviderError("timeout", message, retryable=True) from None
        except Exception as error:
            return self._refusal_or_error(error)
        duration_ms = (time.perf_counter() - began) * 1000
        reply = reply_from(completion.model_dump(), duration_ms=duration_ms, first_byte_ms=None)
        return without_keys(reply, self._keys)

    async def close(self) -> None:
        if self._litellm is not None:
            await self._litellm.close_litellm_async_clients()

    def _arguments(self, request: ChatRequest) -> dict[str, object]:
        """Keyword arguments of ``acompletion``. LiteLLM's retries are off, and it drops no parameter silently."""
        try:
            model = litellm_name(self.name, request.model, self._base_url)
        except ValueError as error:
            raise ProviderError("not_found", str(error), systemic=True) from None
        return {
            **request_body(request),
            **self._options,
            "model": model,
            "timeout": self._timeouts.whole,
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": False,
        }

    def _refusal_or_error(self, error: Exception) -> ChatReply:
        """The refusal of a content filter; raises ``ProviderError`` for every other exception of LiteLLM."""
        names = {cls.__name__ for cls in type(error).__mro__}
        message = shortened(without_secrets(storable(str(error), []), self._secrets))
        if "ContentPolicyViolationError" in names:
            return ChatReply("", finish_reason="content_filter", refusal=message)
        given = getattr(error, "status_code", None)
        status = given if isinstance(given, int) else None
        verdict = next((_BY_EXCEPTION[name] for name in _BY_EXCEPTION if name in names), None)
        if verdict is None:
            verdict = verdict_for_status(status) if status else Verdict("server")
        refused = refused_parameters(status, {}, str(error)[:_MOST_READ])
        verdict = refusal_of(refused) if refused else verdict
        headers = getattr(getattr(error, "response", None), "headers", None) or {}
        raise replace(verdict.error(f"{self.name}: {message}", status, headers), refused=refused) from None


def _import_litellm(name: str) -> Any:
    """The module, without its messages and without fetching its price list over the network."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        litellm: Any = importlib.import_module("litellm")
    except ImportError as error:
        message = (
            f"Provider {name} requires LiteLLM, which is not installed ({error}). Run `{how_to_install('litellm')}`."
        )
        raise ProviderError("unsupported", message, systemic=True) from None
    litellm.suppress_debug_info = True
    return litellm
