"""Any endpoint that speaks OpenAI's chat completions: OpenAI, vLLM, Ollama, llama.cpp, a LiteLLM proxy.

A thin client on aiohttp. One attempt a call, one connection pool a provider, no limit of its own: limits and retries
are the engine's. Whatever comes back is read as hostile input.
"""

from __future__ import annotations

import asyncio
import io
import re
import socket
import time
import urllib.request
from collections.abc import Mapping
from typing import Any, Final

import aiohttp
import orjson
from yarl import URL

from benchmarks.providers.base import ChatReply, ChatRequest, Provider, ProviderError
from benchmarks.providers.clean_text import shortened, without_secrets
from benchmarks.providers.hiding import keys_sent, without_keys
from benchmarks.providers.http_errors import error_for_reply, error_in_good_reply, error_object, filter_message
from benchmarks.providers.reading import read_reply
from benchmarks.providers.timeouts import Timeouts

MAX_BODY_BYTES: Final = 16 * 1024 * 1024
_KEEPALIVE_SECONDS = 4.0
"""Less than the 5 s after which uvicorn, and so vLLM, closes an idle connection: a POST into a closing one is lost."""
_LARGE_BODY_BYTES = 2**20
_RESERVED = frozenset({"model", "messages", "stream", "n"})
_MAX_COMPLETION_TOKENS_MODELS = re.compile(r"(?:o\d|gpt-[5-9])(?![a-z])")
"""OpenAI's reasoning models refuse ``max_tokens`` and want ``max_completion_tokens``, which others do not know."""


def request_body(request: ChatRequest) -> dict[str, Any]:
    """What is sent, exactly: parameters that are ``None`` are absent, ``extra`` comes last.

    ``ProviderError`` (``bad_request``, systemic) where ``extra`` would change what the run is about.
    """
    limit_name = "max_completion_tokens" if wants_max_completion_tokens(request.model) else "max_tokens"
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
            message = f"extra parameters may not set {', '.join(reserved)}; remove them"
            raise ProviderError("bad_request", message, systemic=True)
        body.update(request.extra)
    return body


def wants_max_completion_tokens(model: str) -> bool:
    """Whether a model's name, after its last slash, is one of OpenAI's that refuse ``max_tokens``."""
    return _MAX_COMPLETION_TOKENS_MODELS.match(model.rpartition("/")[2]) is not None


class OpenAICompatibleProvider(Provider):
    """See the module. It must be used, and closed, on one event loop; after ``close`` another loop may use it."""

    def __init__(
        self,
        name: str,
        base_url: str,
        *,
        api_key: str | None = None,
        timeouts: Timeouts | None = None,
        headers: Mapping[str, str] | None = None,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        """``ValueError`` where ``base_url`` is no http(s) address or carries a password."""
        self.name = name
        self._base = _checked_base_url(name, base_url)
        self._url = (self._base / "chat" / "completions").with_query(self._base.query)
        self._secrets = tuple(secret for secret in (api_key, *(headers or {}).values()) if secret)
        self._keys = keys_sent(api_key, headers)
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._headers.update(headers or {})
        self._timeouts = timeouts or Timeouts()
        self._max_body_bytes = max_body_bytes
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} at {self.address}>"

    @property
    def address(self) -> str:
        """The base URL without its query, which may hold a secret."""
        return str(self._base.with_query(None))

    async def complete(self, request: ChatRequest) -> ChatReply:
        try:
            return await self._ask(self._encoded(request), self._session_here())
        except ProviderError as error:
            raise self._signed(error) from None

    async def _ask(self, body: bytes | io.BytesIO, session: aiohttp.ClientSession) -> ChatReply:
        first_byte_ms: float | None = None
        began = time.perf_counter()
        try:
            async with session.post(self._url, data=body, allow_redirects=False) as response:
                first_byte_ms = (time.perf_counter() - began) * 1000
                raw = await self._bounded_body(response)
        except (aiohttp.ClientError, OSError) as error:  # timeouts are OSErrors too
            raise self._transport_error(error, first_byte_ms) from None
        return self._read(raw, response, (time.perf_counter() - began) * 1000, first_byte_ms)

    async def close(self) -> None:
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()

    def _session_here(self) -> aiohttp.ClientSession:
        """The shared session, made at the first request because it belongs to the running loop."""
        loop = asyncio.get_running_loop()
        if self._session is None:
            timeouts = self._timeouts
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEPALIVE_SECONDS),
                headers=self._headers,
                cookie_jar=aiohttp.DummyCookieJar(),
                proxy=_environment_proxy(self._base),
                timeout=aiohttp.ClientTimeout(
                    total=timeouts.whole, connect=timeouts.connect, sock_read=timeouts.first_byte
                ),
            )
            self._loop = loop
        elif self._loop is not loop:
            raise RuntimeError(f"{self!r} belongs to another event loop; close it there before using it here")
        return self._session

    def _encoded(self, request: ChatRequest) -> bytes | io.BytesIO:
        try:
            body = orjson.dumps(request_body(request))
        except orjson.JSONEncodeError as error:
            message = f"the request cannot be written as JSON: {error}; remove what is not text"
            raise ProviderError("bad_request", message) from None
        return body if len(body) < _LARGE_BODY_BYTES else io.BytesIO(body)  # aiohttp sends a file in pieces

    async def _bounded_body(self, response: aiohttp.ClientResponse) -> bytes:
        length = response.content_length
        if length is not None and length <= self._max_body_bytes and "Content-Encoding" not in response.headers:
            return await response.read()
        body = bytearray()
        if length is None or length <= self._max_body_bytes:
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > self._max_body_bytes:
                    break
            else:
                return bytes(body)
        limit = f"{self._max_body_bytes / 2**20:g} MiB"
        raise ProviderError("too_large", f"the reply is larger than {limit}", status=response.status)

    def _read(
        self, raw: bytes, response: aiohttp.ClientResponse, duration_ms: float, first_byte_ms: float
    ) -> ChatReply:
        if 200 <= response.status < 300:
            try:
                return without_keys(read_reply(raw, duration_ms=duration_ms, first_byte_ms=first_byte_ms), self._keys)
            except ProviderError:
                error = error_in_good_reply(response.headers, raw, self._secrets)
                if error is None:
                    raise
                raise error from None
        refusal = filter_message(error_object(raw), self._secrets) if response.status in (400, 403) else None
        if refusal is None:
            raise error_for_reply(response.status, response.headers, raw, self._secrets)
        return ChatReply(
            "",
            finish_reason="content_filter",
            refusal=refusal,
            duration_ms=duration_ms,
            first_byte_ms=first_byte_ms,
        )

    def _signed(self, error: ProviderError) -> ProviderError:
        """The same error naming the provider, with secrets masked, as its message may quote the endpoint."""
        return ProviderError(
            error.kind,
            f"{self.name}: {without_secrets(error.message, self._secrets)}",
            status=error.status,
            retry_after=error.retry_after,
            retryable=error.retryable,
            systemic=error.systemic,
        )

    def _transport_error(self, error: Exception, first_byte_ms: float | None) -> ProviderError:
        """What went wrong below HTTP, by the exceptions of aiohttp; the narrower come before the wider."""
        if isinstance(error, TimeoutError):
            return ProviderError("timeout", self._timeout_message(error, first_byte_ms), retryable=True)
        if isinstance(error, aiohttp.ClientConnectorDNSError):
            passing = error.os_error.errno == socket.EAI_AGAIN
            message = f"the host {self._base.host} is not found. Check the provider's base_url"
            return ProviderError("connection", message, retryable=passing, systemic=True)
        if isinstance(error, aiohttp.ClientSSLError):
            message = f"no trusted TLS connection to {self.address}: {shortened(str(error), 120)}"
            return ProviderError("connection", message, systemic=True)
        if isinstance(error, aiohttp.ClientConnectorError):
            reason = error.os_error.strerror or "no connection"
            message = f"no connection to {self.address}: {shortened(reason, 120)}. Is the endpoint running?"
            return ProviderError("connection", message, retryable=True, systemic=True)
        if isinstance(error, aiohttp.ClientResponseError):
            message = f"{self.address} does not speak HTTP: {shortened(error.message, 120)}"
            return ProviderError("bad_response", message, retryable=True)
        when = "before a reply came" if first_byte_ms is None else "in the middle of the reply"
        return ProviderError("connection", f"the connection broke {when}", retryable=True)

    def _timeout_message(self, error: TimeoutError, first_byte_ms: float | None) -> str:
        limits = self._timeouts
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return f"no connection within {limits.connect:g} s"
        if isinstance(error, aiohttp.SocketTimeoutError):
            if first_byte_ms is None:
                return f"no first byte within {limits.first_byte:g} s"
            return f"silent for {limits.first_byte:g} s in the middle of the reply"
        return f"no whole reply within {limits.whole:g} s"


def _checked_base_url(name: str, base_url: str) -> URL:
    try:
        url = URL(base_url.rstrip("/"))
        valid = url.scheme in ("http", "https") and bool(url.host)
    except ValueError:
        valid = False
    if not valid:
        raise ValueError(f"provider {name}: base_url must be an address such as https://api.openai.com/v1")
    if url.user or url.password:
        raise ValueError(f"provider {name}: base_url may not carry a user or password; give the key as api_key")
    return url


def _environment_proxy(base: URL) -> str | None:
    """The proxy that ``HTTPS_PROXY`` and its likes name for this host; asked for once, as that is slow."""
    if not base.host or urllib.request.proxy_bypass(base.host):
        return None
    return urllib.request.getproxies().get(base.scheme)
