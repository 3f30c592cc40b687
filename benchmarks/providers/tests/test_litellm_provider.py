from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from benchmarks.providers import litellm_package
from benchmarks.providers.base import ChatReply, ChatRequest, ProviderError, ProviderSpec, Timeouts
from benchmarks.providers.litellm_provider import LiteLLMProvider
from tests.loopback import serve
from tests.support.litellm import installed_litellm

KEY = "key-of-a-vendor-0123456789"
INSTALLED = importlib.util.find_spec("litellm") is not None


def answer(text: str | None = "4", **message: Any) -> SimpleNamespace:
    document = {
        "model": "claude",
        "choices": [{"message": {"content": text, **message}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 1},
    }
    return SimpleNamespace(model_dump=lambda: document)


def litellm_error(name: str, status: int | None = None, message: str = "went wrong", base: str = "") -> Exception:
    """An exception shaped like LiteLLM's: known by the name of its class or of its base class."""
    parent = type(base, (Exception,), {}) if base else Exception
    error = type(name, (parent,), {})(message)
    if status is not None:
        error.status_code = status
    return error


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[..., ModuleType]:
    def put(outcome: Any) -> ModuleType:
        module = ModuleType("litellm")
        module.asked = []

        async def acompletion(**arguments: Any) -> Any:
            module.asked.append(arguments)
            if isinstance(outcome, Exception):
                raise outcome
            return await outcome() if callable(outcome) else outcome

        module.acompletion = acompletion
        monkeypatch.setitem(sys.modules, "litellm", module)
        return module

    return put


async def ask(provider: LiteLLMProvider | None = None, **fields: Any) -> ChatReply:
    provider = provider or LiteLLMProvider(ProviderSpec("anthropic", api_key=KEY))
    return await provider.complete(ChatRequest("claude", [{"role": "user", "content": "2+2?"}], **fields))


async def test_an_answer_is_read_like_any_other(install: Callable[..., ModuleType]) -> None:
    install(answer("4", reasoning_content="2+2"))
    reply = await ask()
    assert (reply.text, reply.reasoning, reply.tokens_in, reply.tokens_out) == ("4", "2+2", 5, 1)


async def test_the_request_names_vendor_and_key_and_forbids_retries(install: Callable[..., ModuleType]) -> None:
    module = install(answer())
    provider = LiteLLMProvider(
        ProviderSpec("anthropic", api_key=KEY, headers={"X-Team": "bench"}, timeouts=Timeouts(whole=9))
    )
    await ask(provider, temperature=0.0, max_tokens=5)
    assert module.asked == [
        {
            "model": "anthropic/claude",
            "messages": [{"role": "user", "content": "2+2?"}],
            "temperature": 0.0,
            "max_tokens": 5,
            "api_key": KEY,
            "extra_headers": {"X-Team": "bench"},
            "timeout": 9,
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": False,
        }
    ]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with installed_litellm(tmp_path, monkeypatch, {}):
        yield


@pytest.mark.parametrize(
    ("provider", "base_url", "model", "expected"),
    [
        ("bedrock", None, "claude", "bedrock/claude"),
        ("litellm", None, "bedrock/claude", "bedrock/claude"),
        ("mygate", None, "bedrock/claude", "bedrock/claude"),
        ("mygate", "http://127.0.0.1:4000", "house-model", "litellm_proxy/house-model"),
    ],
)
@pytest.mark.usefixtures("package")
def test_a_provider_is_a_vendor_or_takes_full_names(
    provider: str, base_url: str | None, model: str, expected: str
) -> None:
    assert litellm_package.litellm_name(provider, model, base_url) == expected


@pytest.mark.usefixtures("package")
def test_a_name_that_litellm_cannot_know_says_what_to_write() -> None:
    with pytest.raises(ValueError, match="mygate/bedrock/claude, or the provider a `base_url`"):
        litellm_package.litellm_name("mygate", "claude", None)


@pytest.mark.parametrize(
    ("error", "kind", "retryable", "systemic"),
    [
        (litellm_error("AuthenticationError", 401), "authentication", False, True),
        (litellm_error("PermissionDeniedError", 403), "authentication", False, True),
        (litellm_error("NotFoundError", 404), "not_found", False, True),
        (litellm_error("BadRequestError", 400), "bad_request", False, False),
        (litellm_error("ContextWindowExceededError", 400, base="BadRequestError"), "too_large", False, False),
        (litellm_error("UnsupportedParamsError", 400, base="BadRequestError"), "bad_request", False, True),
        (litellm_error("RateLimitError", 429), "rate_limited", True, False),
        (litellm_error("Timeout", 408), "timeout", True, False),
        (litellm_error("APIConnectionError", 500), "connection", True, False),
        (litellm_error("InternalServerError", 500), "server", True, False),
        (litellm_error("ServiceUnavailableError", 503), "server", True, False),
        (litellm_error("APIResponseValidationError", 500), "bad_response", True, False),
        (ValueError("a bug in the vendor's adapter"), "server", False, False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
async def test_its_exceptions_become_ours(
    install: Callable[..., ModuleType], error: Exception, kind: str, retryable: bool, systemic: bool
) -> None:
    install(error)
    with pytest.raises(ProviderError) as raised:
        await ask()
    assert (raised.value.kind, raised.value.retryable, raised.value.systemic) == (kind, retryable, systemic)
    assert raised.value.message.startswith(f"anthropic: {error}")


async def test_closing_closes_what_litellm_opened(install: Callable[..., ModuleType]) -> None:
    closed: list[bool] = []

    async def close_clients() -> None:
        closed.append(True)

    install(answer()).close_litellm_async_clients = close_clients
    provider = LiteLLMProvider(ProviderSpec("anthropic"))
    await provider.close()
    assert closed == []
    await ask(provider)
    await provider.close()
    assert closed == [True]


async def test_a_filters_refusal_is_an_answer(install: Callable[..., ModuleType]) -> None:
    install(litellm_error("ContentPolicyViolationError", 400, "Output blocked", base="BadRequestError"))
    reply = await ask()
    assert (reply.text, reply.refusal, reply.finish_reason) == ("", "Output blocked", "content_filter")


async def test_the_wait_that_a_vendor_asks_for_is_read(install: Callable[..., ModuleType]) -> None:
    error = litellm_error("RateLimitError", 429)
    error.response = SimpleNamespace(headers={"Retry-After": "3"})
    install(error)
    with pytest.raises(ProviderError) as raised:
        await ask()
    assert raised.value.retry_after == 3


async def test_a_key_in_an_exception_is_masked(install: Callable[..., ModuleType]) -> None:
    install(litellm_error("AuthenticationError", 401, f"invalid key {KEY}"))
    with pytest.raises(ProviderError, match="key hidden") as raised:
        await ask()
    assert KEY not in str(raised.value)
    assert KEY not in repr(LiteLLMProvider(ProviderSpec("anthropic", api_key=KEY)))


async def test_a_hanging_vendor_ends_at_the_limit(install: Callable[..., ModuleType]) -> None:
    install(lambda: asyncio.sleep(60))
    with pytest.raises(ProviderError, match=r"No complete response within 0\.02 s") as raised:
        await ask(LiteLLMProvider(ProviderSpec("anthropic", timeouts=Timeouts(whole=0.02))))
    assert (raised.value.kind, raised.value.retryable) == ("timeout", True)


async def test_without_litellm_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    with pytest.raises(
        ProviderError, match=r"pip install --no-deps --require-hashes -r requirements-litellm\.txt"
    ) as raised:
        await ask()
    assert (raised.value.kind, raised.value.retryable, raised.value.systemic) == ("unsupported", False, True)


@pytest.mark.skipif(not INSTALLED, reason="LiteLLM is not installed (requirements-litellm.txt)")
async def test_the_real_litellm_reaches_an_endpoint() -> None:
    with serve({"2+2?": "4"}, models=["gpt-4o"], api_key=KEY) as server:
        provider = LiteLLMProvider(ProviderSpec("openai", api_key=KEY, base_url=server.url))
        request = ChatRequest("gpt-4o", [{"role": "user", "content": "2+2?"}])
        assert (await provider.complete(request)).text == "4"
        with pytest.raises(ProviderError) as raised:
            await LiteLLMProvider(ProviderSpec("openai", api_key="wrong-key-123", base_url=server.url)).complete(
                request
            )
        assert (raised.value.kind, raised.value.systemic) == ("authentication", True)
        assert "wrong-key-123" not in raised.value.message
        failing = ChatRequest("gpt-4o", [{"role": "user", "content": "[[fault:server_500]]"}])
        with pytest.raises(ProviderError) as raised:
            await provider.complete(failing)
        assert (raised.value.kind, raised.value.retryable) == ("server", True)
        assert server.stats.times_asked["[[fault:server_500]]"] == 1
        await provider.close()
