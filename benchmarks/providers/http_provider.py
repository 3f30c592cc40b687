"""What all providers over HTTP share: one POST for each attempt, bounded, with every fault turned into an error.

A thin client on aiohttp: one connection pool for each provider, and no limits of its own, because limits and retries
belong to the engine. Responses are hostile input.
"""

from __future__ import annotations

import asyncio
import io
import socket
import time
import urllib.request
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

import orjson
from multidict import CIMultiDict
from yarl import URL

from benchmarks import __version__
from benchmarks.outbound import NotAllowed
from benchmarks.providers.base import ChatReply, ChatRequest, ListedModel, Provider, ProviderError, ProviderSpec, Times
from benchmarks.providers.clean_text import keys_sent, shortened, without_keys, without_secrets
from benchmarks.providers.http_errors import (
    error_for_reply,
    error_in_good_reply,
    error_object,
    failed_generation,
    filter_message,
)
from benchmarks.providers.rate_limit_headers import seconds_until_allowed
from benchmarks.providers.reading import read_models, read_reply
from benchmarks.providers.streaming import Assembler, read_stream

if TYPE_CHECKING:
    import aiohttp  # takes a tenth of the start of a process, and most send no request

USER_AGENT = f"CodeForge-Benchmarks/{__version__}"
REJECTED_BY_ENDPOINT = (
    "The endpoint answered with an error and this text, because the model's tool calls or JSON do not fit their schema."
)
NO_SEED = "This API takes no seed, so none was sent."
_KEEPALIVE_SECONDS = 4.0
"""Less than the 5 s after which uvicorn, and so vLLM, closes an idle connection: a POST into a closing one is lost."""
_LARGE_BODY_BYTES = 2**20


class HTTPProvider(Provider):
    """See the module. Use and close it on one event loop; after ``close``, another loop can use it.

    A subclass says what is sent (``body``) and how its vendor's replies read as OpenAI's (``chat_completion``).
    """

    path: ClassVar[str]
    """Where requests go, after ``base_url``."""
    setting: ClassVar[str] = "the provider's base_url"
    """What is to be checked if the host is not found."""
    models_path: ClassVar[str] = "models"
    stream_options: ClassVar[Mapping[str, object]] = {}
    """What a streamed request has beside ``stream``."""
    takes_seed: ClassVar[bool] = True
    max_body_bytes: int = 16 * 1024 * 1024
    method: str = "POST"

    def __init__(self, spec: ProviderSpec) -> None:
        """Raises ``ValueError`` if ``base_url`` is missing, is not an HTTP(S) URL, or contains a password."""
        super().__init__(spec)
        self._base = _checked_base_url(spec)
        self.host, self.port = self._base.host, self._base.port
        self._url = self.url(self.path)
        self._secrets = tuple(secret for secret in (spec.api_key, *spec.headers.values()) if secret)
        self._keys = keys_sent(spec.api_key, spec.headers)
        self._headers = CIMultiDict({"Content-Type": "application/json", "Accept": "application/json"})
        self._headers["User-Agent"] = USER_AGENT
        self._headers.update(self.vendor_headers(spec.api_key))
        self._headers.update(spec.headers)
        self._outbound = spec.outbound
        self.streams = spec.stream
        self._stream_usage = True
        self._timeouts = spec.timeouts
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} at {self.address}>"

    @property
    def address(self) -> str:
        """The base URL without its query, which may hold a secret."""
        return str(self._base.with_query(None))

    @abstractmethod
    def body(self, request: ChatRequest) -> dict[str, object]:
        """What is sent. Raises ``ProviderError`` if the request cannot be expressed."""

    def chat_completion(self, document: Any) -> Any:
        """A decoded reply in OpenAI's form, which ``reading`` checks; whatever JSON arrives must not raise."""
        return document

    @abstractmethod
    def assembler(self) -> Assembler:
        """What puts a streamed reply together."""

    def vendor_headers(self, api_key: str | None) -> dict[str, str]:
        """The headers that the vendor wants, with the key if there is one."""
        return {"Authorization": f"Bearer {api_key}"} if api_key else {}

    def url(self, path: str) -> URL:
        """``base_url`` with a path behind it and its own query."""
        return (self._base / path).with_query(self._base.query)

    def request_url(self, request: ChatRequest) -> URL:
        """Where this request goes."""
        return self._url

    async def complete(self, request: ChatRequest) -> ChatReply:
        try:
            reply = await self._ask(request)
        except ProviderError as error:
            # The message may quote the endpoint, and that may quote what it was sent.
            raise replace(error, message=f"{self.name}: {without_secrets(error.message, self._secrets)}") from None
        if request.seed is None or self.takes_seed:
            return reply
        return replace(reply, notes=(*reply.notes, NO_SEED))

    async def list_models(self) -> list[ListedModel]:
        try:
            return read_models(await self._get(self.url(self.models_path)))
        except ProviderError as error:
            raise replace(error, message=f"{self.name}: {without_secrets(error.message, self._secrets)}") from None

    async def _get(self, url: URL) -> bytes:
        import aiohttp

        try:
            async with self._session_here().get(url, allow_redirects=False) as response:
                raw = await self._bounded_body(response)
        except (aiohttp.ClientError, OSError) as error:
            raise self._transport_error(error, None) from None
        if not 200 <= response.status < 300:
            raise error_for_reply(response.status, response.headers, raw, self._secrets)
        return raw

    async def _ask(self, request: ChatRequest) -> ChatReply:
        import aiohttp

        url, body, session = self.request_url(request), self._encoded(request), self._session_here()
        options: dict[str, Any] = {"data": body, "allow_redirects": False, "timeout": self._timeout(request)}
        first_byte_ms = first_token = None
        began = time.perf_counter()
        try:
            async with session.request(self.method, url, **options) as response:
                first_byte_ms = (time.perf_counter() - began) * 1000
                # Some endpoints stream although they were not asked to.
                if response.status == 200 and response.content_type == "text/event-stream":
                    stream = response.content, self.assembler(), self._timeouts
                    raw, first_token = await read_stream(*stream, self.max_body_bytes, time.perf_counter)
                else:
                    raw = await self._bounded_body(response)
        except (aiohttp.ClientError, OSError) as error:  # timeouts are OSErrors too
            raise self._transport_error(error, first_byte_ms) from None
        times: Times = {
            "duration_ms": (time.perf_counter() - began) * 1000,
            "first_byte_ms": first_byte_ms,
            "first_token_ms": None if first_token is None else (first_token - began) * 1000,
        }
        return self._read(raw, response, times)

    async def close(self) -> None:
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()

    def _connector(self) -> aiohttp.TCPConnector:
        import aiohttp

        options: dict[str, Any] = {"limit": 0, "keepalive_timeout": _KEEPALIVE_SECONDS}
        return self._outbound.connector(**options) if self._outbound else aiohttp.TCPConnector(**options)

    def _session_here(self) -> aiohttp.ClientSession:
        """The shared session, created by the first request because it belongs to the running loop."""
        import aiohttp

        loop = asyncio.get_running_loop()
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=self._connector(),
                headers=self._headers,
                cookie_jar=aiohttp.DummyCookieJar(),
                # A proxy would connect to whatever it likes.
                proxy=None if self._outbound else _environment_proxy(self._base),
                timeout=self._timeout(None),
            )
            self._loop = loop
        elif self._loop is not loop:
            raise RuntimeError(f"{self!r} belongs to another event loop. Close it there before you use it here.")
        return self._session

    def _is_streamed(self, request: ChatRequest) -> bool:
        return self.streams if request.stream is None else request.stream

    def _timeout(self, request: ChatRequest | None) -> aiohttp.ClientTimeout:
        import aiohttp

        timeouts = self._timeouts
        streamed = request is not None and self._is_streamed(request)
        # A stream keeps its own time once it has begun.
        silence = max(timeouts.first_byte, timeouts.stream_silence) if streamed else timeouts.first_byte
        return aiohttp.ClientTimeout(total=timeouts.whole, connect=timeouts.connect, sock_read=silence)

    def _encoded(self, request: ChatRequest) -> bytes | io.BytesIO:
        document = self.body(request)
        if self._is_streamed(request):
            document |= {"stream": True, **(self.stream_options if self._stream_usage else {})}
        return self._as_bytes(document)

    def _as_bytes(self, document: object) -> bytes | io.BytesIO:
        try:
            body = orjson.dumps(document)
        except orjson.JSONEncodeError as error:
            message = f"The request cannot be written as JSON: {error}. Remove what is not text."
            raise ProviderError("bad_request", message) from None
        return body if len(body) < _LARGE_BODY_BYTES else io.BytesIO(body)  # aiohttp sends a file in pieces

    async def _bounded_body(self, response: aiohttp.ClientResponse) -> bytes:
        length = response.content_length
        if length is not None and length <= self.max_body_bytes and "Content-Encoding" not in response.headers:
            return await response.read()
        body = bytearray()
        if length is None or length <= self.max_body_bytes:
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > self.max_body_bytes:
                    break
            else:
                return bytes(body)
        limit = f"{self.max_body_bytes / 2**20:g} MiB"
        raise ProviderError("too_large", f"The response exceeds {limit}.", status=response.status)

    def _read(self, raw: bytes, response: aiohttp.ClientResponse, times: Times) -> ChatReply:
        rejected = failed_generation(error_object(raw)) if b'"failed_generation"' in raw else None
        if rejected is not None:
            return without_keys(ChatReply(rejected, notes=(REJECTED_BY_ENDPOINT,), **times), self._keys)
        if 200 <= response.status < 300:
            try:
                reply = read_reply(raw, self.chat_completion, **times)
                if pause := seconds_until_allowed(response.headers):
                    reply = replace(reply, pause_seconds=pause)
                return without_keys(reply, self._keys)
            except ProviderError:
                error = error_in_good_reply(response.headers, raw, self._secrets)
                if error is None:
                    raise
                raise error from None
        refusal = filter_message(error_object(raw), self._secrets) if response.status in (400, 403) else None
        if refusal is None:
            error = error_for_reply(response.status, response.headers, raw, self._secrets)
            if response.status in (400, 422) and b"stream_options" in raw:
                # Mistral rejects what others need to report usage. The next attempt goes without it.
                self._stream_usage = False
                error = replace(error, retryable=True, systemic=False)
            raise error
        return ChatReply("", finish_reason="content_filter", refusal=refusal, **times)

    def _transport_error(self, error: Exception, first_byte_ms: float | None) -> ProviderError:
        """What went wrong below HTTP, by aiohttp's exceptions; subclasses come before their base classes."""
        import aiohttp

        if isinstance(error, TimeoutError):
            return ProviderError("timeout", self._timeout_message(error, first_byte_ms), retryable=True)
        cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else None
        refused = isinstance(cause, NotAllowed)
        if cause is not None and (refused or isinstance(error, aiohttp.ClientConnectorDNSError)):
            temporary = cause.errno == socket.EAI_AGAIN
            missing = f"Host {self._base.host} not found. Check {self.setting}."
            message = str(cause) if refused else missing
            return ProviderError("connection", message, retryable=temporary, systemic=True)
        if isinstance(error, aiohttp.ClientSSLError):
            message = f"Cannot open a trusted TLS connection to {self.address}: {shortened(str(error), 120)}"
            return ProviderError("connection", message, systemic=True)
        if isinstance(error, aiohttp.ClientConnectorError):
            reason = error.os_error.strerror or "no connection"
            message = f"Cannot connect to {self.address}: {shortened(reason, 120)}. Check that the endpoint is running."
            return ProviderError("connection", message, retryable=True, systemic=True)
        if isinstance(error, aiohttp.ClientResponseError):
            message = f"{self.address} did not respond with HTTP: {shortened(error.message, 120)}"
            return ProviderError("bad_response", message, retryable=True)
        when = "before a response arrived" if first_byte_ms is None else "during the response"
        return ProviderError("connection", f"The connection closed {when}.", retryable=True)

    def _timeout_message(self, error: TimeoutError, first_byte_ms: float | None) -> str:
        import aiohttp

        limits = self._timeouts
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return f"No connection within {limits.connect:g} s."
        if isinstance(error, aiohttp.SocketTimeoutError):
            if first_byte_ms is None:
                return f"No response within {limits.first_byte:g} s."
            return f"The response stalled for {limits.first_byte:g} s."
        return f"No complete response within {limits.whole:g} s."


def http_address(value: str) -> str:
    """The URL of an endpoint, from codeforge.yaml or a page, without a slash at its end. Raises ``ValueError``."""
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not value.isprintable() or " " in value:
        raise ValueError(f"{value[:200]!r} is not an HTTP(S) URL. Use a URL such as https://api.example.com/v1.")
    if parts.username or parts.password:
        raise ValueError("The URL must not contain a user name or password. Set the key with `api_key_env`.")
    return value.rstrip("/")


def _checked_base_url(spec: ProviderSpec) -> URL:
    try:
        url = URL((spec.base_url or "").rstrip("/"))
        valid = url.scheme in ("http", "https") and bool(url.host)
    except ValueError:
        valid = False
    if not valid:
        raise ValueError(
            f"provider {spec.name}: base_url is missing or not an HTTP(S) URL. Use a URL such as https://api.openai.com/v1."
        )
    if url.user or url.password:
        raise ValueError(
            f"provider {spec.name}: base_url must not contain a user name or password. Set the key with api_key_env."
        )
    return url


def _environment_proxy(base: URL) -> str | None:
    """The proxy that ``HTTPS_PROXY`` and its likes name for this host; looked up once, because that is slow."""
    if not base.host or urllib.request.proxy_bypass(base.host):
        return None
    return urllib.request.getproxies().get(base.scheme)
