from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from benchmarks import __version__
from benchmarks.providers.base import ChatReply, ChatRequest, ProviderError, ProviderSpec, Timeouts, ToolCall
from benchmarks.providers.openai_compatible import OpenAICompatibleProvider, request_body
from tests.loopback import FAULTS, LoopbackServer, Reply, serve
from tests.loopback.faults import HUGE_ANSWER_CHARS

KEY = "sk-loopback-0123456789abcdef"
QUICK = Timeouts(connect=5, first_byte=0.05, whole=5)


@asynccontextmanager
async def provider_for(server: LoopbackServer, **options: Any) -> AsyncIterator[OpenAICompatibleProvider]:
    provider = OpenAICompatibleProvider(ProviderSpec("loopback", base_url=server.url, **{"api_key": KEY, **options}))
    try:
        yield provider
    finally:
        await provider.close()


def question(text: str = "What is 2+2?", **fields: Any) -> ChatRequest:
    return ChatRequest("m", [{"role": "user", "content": text}], **fields)


async def ask(text: str, server_options: dict[str, Any] | None = None, **options: Any) -> ChatReply:
    with serve(**(server_options or {})) as server:
        async with provider_for(server, **options) as provider:
            return await provider.complete(question(text))


async def error_for(fault: str, **options: Any) -> ProviderError:
    with pytest.raises(ProviderError) as raised:
        await ask(f"[[fault:{fault}]]", {"retry_after_s": 7, "drip_ms": 5}, **options)
    return raised.value


ERRORS = [
    # fault, kind, status, retryable, systemic, what the message must say
    ("rate_limited", "rate_limited", 429, True, False, "Rate limit reached"),
    ("rate_limited_seconds", "rate_limited", 429, True, False, "Slow down"),
    ("rate_limited_date", "rate_limited", 429, True, False, "Slow down"),
    ("quota_exhausted", "rate_limited", 429, False, True, "waiting does not help"),
    ("request_timeout_408", "timeout", 408, True, False, "408 Request Timeout"),
    ("conflict_409", "server", 409, True, False, "409 Conflict"),
    ("server_500", "server", 500, True, False, "The server had an error"),
    ("bad_gateway_502", "server", 502, True, False, "502 Bad Gateway"),
    ("overloaded_503", "server", 503, True, False, "503 Service Unavailable: Overloaded"),
    ("reset_before_reply", "connection", None, True, False, "before a response arrived"),
    ("reset_mid_body", "connection", None, True, False, "during the response"),
    ("closed_mid_body", "connection", None, True, False, "during the response"),
    ("hang", "timeout", None, True, False, "No response within 0.05 s"),
    ("hang_mid_body", "timeout", None, True, False, "The response stalled for 0.05 s."),
    ("truncated_json", "bad_response", 200, True, False, "break off"),
    ("empty_body", "bad_response", 200, True, False, "empty"),
    ("html_instead_of_json", "bad_response", 200, True, False, "a web page. Check the base_url"),
    ("json_list", "bad_response", 200, True, False, "a JSON list, not an object"),
    ("deep_json", "bad_response", 200, True, False, "is not valid JSON"),
    ("error_in_200", "server", 502, True, False, "Upstream failed"),
    ("no_choices", "bad_response", 200, True, False, "has no choices"),
    ("no_message", "bad_response", 200, True, False, "a choice without a message"),
    ("number_content", "bad_response", 200, True, False, "content of type int"),
    ("oversized_body", "too_large", 200, False, False, "exceeds 16 MiB"),
    ("gzip_bomb", "too_large", 200, False, False, "exceeds 16 MiB"),
    ("redirect", "redirect", 302, False, True, "Set base_url to the final address"),
    ("bad_request_400", "bad_request", 400, False, False, "messages: too few"),
    ("key_in_400", "bad_request", 400, False, False, "[key h"),
    ("refused_parameter_400", "bad_request", 400, False, True, "Do not set temperature"),
    ("context_length_400", "too_large", 400, False, False, "Shorten the prompt"),
    ("unauthorized_401", "authentication", 401, False, True, "Check the provider's API key"),
    ("no_credit_402", "authentication", 402, False, True, "Add credit"),
    ("forbidden_403", "authentication", 403, False, True, "Country not supported"),
    ("not_found_404", "not_found", 404, False, True, "Check the model's name"),
    ("too_large_413", "too_large", 413, False, False, "Shorten the prompt"),
]
ANSWERS = {
    "wrong_content_type": {"finish_reason": "stop"},
    "null_content": {"text": ""},
    "refusal": {"text": "", "refusal": "I can't help with that."},
    "content_filter": {"text": "", "finish_reason": "content_filter"},
    "content_filter_400": {
        "finish_reason": "content_filter",
        "refusal": "The prompt was filtered due to the content management policy",
    },
    "key_in_answer": {
        "text": "You sent me [key hidden].",
        "reasoning": "You sent me [key hidden].",
        "notes": ("a key that the endpoint quoted replaced by [key hidden]",),
    },
    "key_in_call": {
        "tool_calls": (ToolCall("call_0", "look_up", {"query": "[key hidden]"}, '{"query": "[key hidden]"}'),)
    },
    "hostile_text": {
        "text": "a␀b\ufffdc \ufffdd \U0001f600",
        "notes": (
            "1 NUL character in the response replaced by ␀",
            "2 lone surrogates in the response replaced by \ufffd",
        ),
    },
    "invalid_utf8": {
        "text": "caf\ufffd",
        "notes": ("1 byte that is not UTF-8 in the response replaced by \ufffd",),
    },
    "length": {"text": "The ans", "finish_reason": "length"},
    "no_usage": {"tokens_in": None, "tokens_out": None},
    "absurd_usage": {"tokens_in": None, "tokens_out": None},
}
TESTED_ALONE = {"huge_answer", "slow_drip", "malformed_tool_call"}


@pytest.mark.parametrize("row", ERRORS, ids=lambda row: row[0])
async def test_a_fault_is_the_right_error(row: tuple[str, str, int | None, bool, bool, str]) -> None:
    fault, kind, status, retryable, systemic, says = row
    timeouts = QUICK if fault.startswith("hang") else Timeouts(connect=5, first_byte=5, whole=5)
    error = await error_for(fault, timeouts=timeouts)
    assert (error.kind, error.status, error.retryable, error.systemic) == (kind, status, retryable, systemic)
    assert says in error.message
    assert error.message.startswith("loopback: ")
    assert len(error.message) < 600


@pytest.mark.parametrize(("fault", "expected"), ANSWERS.items())
async def test_an_odd_answer_is_still_an_answer(fault: str, expected: dict[str, Any]) -> None:
    reply = await ask(f"[[fault:{fault}]]")
    assert {name: getattr(reply, name) for name in expected} == expected
    reply.text.encode()


def test_every_fault_is_in_a_table() -> None:
    assert {row[0] for row in ERRORS} | ANSWERS.keys() | TESTED_ALONE == FAULTS.keys()


async def test_an_answer_of_10_mb_is_read_whole() -> None:
    assert (await ask("[[fault:huge_answer]]")).text == "x" * HUGE_ANSWER_CHARS


async def test_a_dripping_reply_ends_at_the_limit_for_the_whole() -> None:
    error = await error_for("slow_drip", timeouts=Timeouts(connect=5, first_byte=1, whole=0.04))
    assert (error.kind, error.retryable) == ("timeout", True)
    assert "No complete response within 0.04 s" in error.message


async def test_broken_arguments_of_a_tool_call_are_kept_raw() -> None:
    (call,) = (await ask("[[fault:malformed_tool_call]]")).tool_calls
    assert call.malformed
    assert (call.name, call.arguments, call.raw_arguments) == ("look_up", None, '{"query": "unfinished')


@pytest.mark.parametrize(
    ("fault", "low", "high"),
    [("rate_limited_seconds", 7, 7), ("rate_limited_date", 5, 8.1), ("overloaded_503", 7, 7)],
)
async def test_the_wait_that_the_endpoint_asks_for_is_read(fault: str, low: float, high: float) -> None:
    error = await error_for(fault)
    assert error.retry_after is not None
    assert low <= error.retry_after <= high


async def test_no_wait_is_made_up() -> None:
    assert (await error_for("rate_limited")).retry_after is None


async def test_an_answer_brings_text_usage_model_and_times() -> None:
    reply = await ask("What is 2+2?", {"script": {"What is 2+2?": Reply("4", reasoning="2+2=4")}, "delay_ms": 20})
    assert (reply.text, reply.reasoning, reply.finish_reason, reply.model) == ("4", "2+2=4", "stop", "m")
    assert (reply.tokens_in, reply.tokens_out, reply.refusal, reply.notes) == (3, 1, None, ())
    assert reply.first_byte_ms is not None
    assert 20 <= reply.first_byte_ms <= reply.duration_ms < 5000


async def test_tool_calls_keep_their_order() -> None:
    calls = [("b", '{"x": 1}'), ("a", "{}"), ("b", "")]
    reply = await ask("go", {"script": {"go": Reply(None, calls, "tool_calls")}})
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("b", {"x": 1}), ("a", {}), ("b", {})]
    assert reply.finish_reason == "tool_calls"


async def test_what_is_asked_arrives_as_it_was_given() -> None:
    tools = [{"type": "function", "function": {"name": "f"}}]
    request = question(temperature=0.5, top_p=0.9, max_tokens=7, seed=3, tools=tools, extra={"logit_bias": {"1": 2}})
    with serve() as server:
        async with provider_for(server, headers={"X-Team": "bench"}) as provider:
            await provider.complete(request)
        assert server.stats.bodies[0] == {
            "model": "m",
            "messages": [{"role": "user", "content": "What is 2+2?"}],
            "temperature": 0.5,
            "top_p": 0.9,
            "max_tokens": 7,
            "seed": 3,
            "tools": tools,
            "logit_bias": {"1": 2},
        }
        assert server.stats.headers[0]["authorization"] == f"Bearer {KEY}"
        assert server.stats.headers[0]["x-team"] == "bench"
        assert server.stats.headers[0]["user-agent"] == f"CodeForge-Benchmarks/{__version__}"


async def test_a_provider_without_a_key_sends_none() -> None:
    with serve() as server:
        async with provider_for(server, api_key=None) as provider:
            await provider.complete(question())
        assert "authorization" not in server.stats.headers[0]


def test_parameters_that_are_not_set_are_not_sent() -> None:
    assert request_body(question()).keys() == {"model", "messages"}


def test_limits_and_seeds_have_the_names_that_the_endpoint_knows() -> None:
    request = question(max_tokens=5, seed=3, names={"max_tokens": "max_completion_tokens", "seed": "random_seed"})
    assert request_body(request) | {"messages": []} == {
        "model": "m",
        "messages": [],
        "max_completion_tokens": 5,
        "random_seed": 3,
    }


async def test_a_prompt_that_is_no_text_is_the_requests_fault() -> None:
    with pytest.raises(ProviderError, match="cannot be written as JSON") as raised:
        await ask("\ud800")
    assert (raised.value.kind, raised.value.retryable) == ("bad_request", False)


async def test_a_prompt_of_2_mb_arrives_whole() -> None:
    text = "x" * 2**21
    with serve() as server:
        async with provider_for(server) as provider:
            await provider.complete(question(text))
        assert server.stats.bodies[0]["messages"][0]["content"] == text


async def test_a_key_is_nowhere_to_be_read(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    error = await error_for("unauthorized_401")
    assert "[key hidden]" in error.message
    provider = OpenAICompatibleProvider(
        ProviderSpec("p", base_url="http://127.0.0.1:1/v1?api-version=secret-version", api_key=KEY)
    )
    for text in (str(error), repr(error), repr(provider), caplog.text):
        assert KEY not in text
        assert "secret-version" not in text


async def test_a_closed_port_is_retryable_and_concerns_every_request() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: nobody else can answer there
        provider = OpenAICompatibleProvider(ProviderSpec("p", base_url=f"http://127.0.0.1:{taken.getsockname()[1]}/v1"))
        with pytest.raises(ProviderError, match="Check that the endpoint is running") as raised:
            await provider.complete(question())
        await provider.close()
    assert (raised.value.kind, raised.value.retryable, raised.value.systemic) == ("connection", True, True)


@pytest.mark.parametrize(("errno", "retryable"), [(socket.EAI_NONAME, False), (socket.EAI_AGAIN, True)])
async def test_an_unknown_host_concerns_every_request(
    errno: int, retryable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def resolve(*args: object, **options: object) -> None:
        raise socket.gaierror(errno, "no such host")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
    provider = OpenAICompatibleProvider(ProviderSpec("p", base_url="http://nowhere.invalid/v1"))
    with pytest.raises(ProviderError, match=r"Host nowhere\.invalid not found") as raised:
        await provider.complete(question())
    await provider.close()
    assert (raised.value.kind, raised.value.retryable, raised.value.systemic) == ("connection", retryable, True)


async def test_a_server_without_tls_is_an_error_that_says_so() -> None:
    with serve() as server:
        provider = OpenAICompatibleProvider(ProviderSpec("p", base_url=server.url.replace("http:", "https:")))
        with pytest.raises(ProviderError, match="Cannot open a trusted TLS connection") as raised:
            await provider.complete(question())
        await provider.close()
    assert (raised.value.kind, raised.value.systemic) == ("connection", True)


@pytest.mark.parametrize(
    "base_url", ["", "api.openai.com/v1", "ftp://host/v1", "http://", "http://[bad/v1", "http://user:pass@host/v1"]
)
def test_an_address_that_cannot_work_is_refused_at_once(base_url: str) -> None:
    with pytest.raises(ValueError, match="provider p: base_url"):
        OpenAICompatibleProvider(ProviderSpec("p", base_url=base_url))


async def test_connections_are_kept_for_the_next_request() -> None:
    with serve() as server:
        async with provider_for(server) as provider:
            for i in range(5):
                await provider.complete(question(f"{i}"))
            assert server.http is not None
            assert len(server.http.connections) == 1


async def test_many_requests_are_in_flight_at_once() -> None:
    with serve(delay_ms=30) as server:
        async with provider_for(server) as provider:
            await asyncio.gather(*(provider.complete(question(f"{i}")) for i in range(150)))
        assert server.stats.most_in_flight > 100
        assert server.stats.asked_again == {}


def test_a_closed_provider_can_be_used_on_another_loop() -> None:
    async def once(provider: OpenAICompatibleProvider) -> str:
        try:
            return (await provider.complete(question())).text
        finally:
            await provider.close()

    with serve({"What is 2+2?": "4"}) as server:
        provider = OpenAICompatibleProvider(ProviderSpec("p", base_url=server.url))
        assert [asyncio.run(once(provider)) for _ in range(2)] == ["4", "4"]


async def test_an_open_provider_refuses_another_loop() -> None:
    with serve() as server:
        async with provider_for(server) as provider:
            await provider.complete(question())
            with pytest.raises(RuntimeError, match="belongs to another event loop"):
                await asyncio.to_thread(asyncio.run, provider.complete(question()))


async def test_a_cancelled_request_leaves_the_provider_usable() -> None:
    with serve() as server:
        async with provider_for(server) as provider:
            hanging = asyncio.create_task(provider.complete(question("[[fault:hang]]")))
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(hanging, 0.03)
            assert server.stats.requests == 1
            assert (await provider.complete(question())).text
