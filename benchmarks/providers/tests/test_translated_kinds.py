"""Kinds whose requests and replies are translated: Anthropic's messages API and OpenAI's Responses API."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.providers.anthropic import DEFAULT_MAX_TOKENS, AnthropicProvider
from benchmarks.providers.base import ChatReply, ChatRequest, ProviderError, ProviderSpec
from benchmarks.providers.http_provider import NO_SEED, HTTPProvider
from benchmarks.providers.openai_responses import OpenAIResponsesProvider
from benchmarks.providers.reading import read_reply

KINDS: dict[str, type[HTTPProvider]] = {"anthropic": AnthropicProvider, "responses": OpenAIResponsesProvider}
CALL = {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2}'}}
BROKEN = {"id": "2", "type": "function", "function": {"name": "add", "arguments": "{broken"}}
SIGNED = {"type": "thinking", "thinking": "Adding.", "signature": "s"}
ENCRYPTED = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": {"type": "object"}, "strict": True}}


def provider(kind: str, url: str = "http://127.0.0.1:1/v1", **options: Any) -> HTTPProvider:
    return KINDS[kind](ProviderSpec("p", kind, url, **options))


def body(kind: str, *messages: Any, **fields: Any) -> dict[str, Any]:
    return provider(kind).body(ChatRequest("m", messages or [{"role": "user", "content": "2+2?"}], **fields))


def read(kind: str, document: Any) -> ChatReply:
    return read_reply(json.dumps(document).encode(), provider(kind).chat_completion, duration_ms=1.0)


async def asked(kind: str, content_type: str, reply: bytes, **options: Any) -> tuple[ChatReply, dict[str, Any]]:
    """The reply read from a server that answers with these bytes, and the body that it was sent."""
    bodies = []

    async def handle(request: web.BaseRequest) -> web.Response:
        bodies.append(json.loads(await request.read()))
        return web.Response(body=reply, content_type=content_type)

    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    chosen = provider(kind, f"http://127.0.0.1:{runner.addresses[0][1]}/v1", stream=True)
    try:
        return await chosen.complete(ChatRequest("m", [{"role": "user", "content": "2+2?"}], **options)), bodies[0]
    finally:
        await chosen.close()
        await runner.cleanup()


def stream(*events: dict[str, Any]) -> bytes:
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


def test_a_conversation_with_tools_in_anthropics_form() -> None:
    messages = body(
        "anthropic",
        {"role": "user", "content": [{"type": "text", "text": "2+2?"}]},
        {"role": "assistant", "content": None, "tool_calls": [CALL, BROKEN], "thinking_blocks": [SIGNED]},
        {"role": "tool", "tool_call_id": "1", "content": "4"},
        {"role": "tool", "tool_call_id": "2", "content": "error"},
    )["messages"]
    assert messages == [
        {"role": "user", "content": [{"type": "text", "text": "2+2?"}]},
        {
            "role": "assistant",
            "content": [
                SIGNED,
                {"type": "tool_use", "id": "1", "name": "add", "input": {"a": 2}},
                {"type": "tool_use", "id": "2", "name": "add", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "1", "content": "4"},
                {"type": "tool_result", "tool_use_id": "2", "content": "error"},
            ],
        },
    ]


def test_a_conversation_with_tools_as_input_items() -> None:
    items = body(
        "responses",
        {"role": "user", "content": "2+2?"},
        {"role": "assistant", "content": "Wait.", "tool_calls": [CALL], "reasoning_items": [ENCRYPTED]},
        {"role": "tool", "tool_call_id": "1", "content": "4"},
    )["input"]
    assert items == [
        {"role": "user", "content": "2+2?"},
        ENCRYPTED,
        {"role": "assistant", "content": "Wait."},
        {"type": "function_call", "call_id": "1", "name": "add", "arguments": '{"a": 2}'},
        {"type": "function_call_output", "call_id": "1", "output": "4"},
    ]


@pytest.mark.parametrize(
    ("kind", "url", "image"),
    [
        (
            "anthropic",
            "data:image/png;base64,QUJD",
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}},
        ),
        ("anthropic", "https://a/b.png", {"type": "image", "source": {"type": "url", "url": "https://a/b.png"}}),
        (
            "responses",
            "data:image/png;base64,QUJD",
            {"type": "input_image", "image_url": "data:image/png;base64,QUJD"},
        ),
    ],
)
def test_images_have_the_vendors_form(kind: str, url: str, image: Any) -> None:
    parts = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": url}}]
    sent = body(kind, {"role": "user", "content": parts})
    assert (sent.get("messages") or sent.get("input"))[0]["content"][1] == image


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        ("anthropic", {}, {"max_tokens": DEFAULT_MAX_TOKENS}),
        ("anthropic", {"max_tokens": 9, "temperature": 0.5, "top_p": 0.9}, {"max_tokens": 9, "temperature": 0.5}),
        ("anthropic", {"response_format": {"type": "json_object"}}, {"output_config": None}),
        (
            "anthropic",
            {"response_format": SCHEMA, "extra": {"output_config": {"effort": "low"}, "top_k": 5}},
            {
                "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}, "effort": "low"},
                "top_k": 5,
            },
        ),
        ("responses", {"max_tokens": 9, "top_p": 0.9}, {"max_output_tokens": 9, "top_p": 0.9, "max_tokens": None}),
        ("responses", {"extra": {"reasoning_effort": "low"}}, {"reasoning": {"effort": "low"}}),
        ("responses", {"response_format": {"type": "json_object"}}, {"text": {"format": {"type": "json_object"}}}),
        (
            "responses",
            {"response_format": SCHEMA},
            {"text": {"format": {"type": "json_schema", **SCHEMA["json_schema"]}}},  # type: ignore[dict-item]
        ),
    ],
)
def test_parameters_have_the_vendors_names(kind: str, fields: Any, expected: Any) -> None:
    sent = body(kind, **fields)
    assert {name: sent.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("kind", "document", "reason"),
    [
        ("anthropic", {"content": [], "stop_reason": "max_tokens"}, "length"),
        ("anthropic", {"content": [], "stop_reason": "refusal"}, "refusal"),
        ("anthropic", {"content": [], "stop_reason": "stop_sequence"}, "stop"),
        ("anthropic", {"content": [], "stop_reason": "new_reason"}, "new_reason"),
        (
            "responses",
            {"output": [], "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            "length",
        ),
        (
            "responses",
            {"output": [], "status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
            "content_filter",
        ),
        ("responses", {"output": [], "status": "completed"}, "stop"),
    ],
)
def test_the_end_of_an_answer_has_one_name(kind: str, document: Any, reason: str) -> None:
    assert read(kind, document).finish_reason == reason


def test_anthropics_explanation_of_a_refusal_is_shown() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "This request triggered restrictions."}
    reply = read("anthropic", {"content": [], "stop_reason": "refusal", "stop_details": details})
    assert (reply.refusal, reply.finish_reason) == ("This request triggered restrictions.", "refusal")


def test_a_refusal_of_the_responses_api_is_one() -> None:
    content = [{"type": "refusal", "refusal": "No."}]
    assert read("responses", {"output": [{"type": "message", "content": content}]}).refusal == "No."


async def test_a_streamed_message_of_anthropic_is_read_like_a_whole_one() -> None:
    def delta(index: int, **fields: Any) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": index, "delta": fields}

    def start(index: int, **block: Any) -> dict[str, Any]:
        return {"type": "content_block_start", "index": index, "content_block": block}

    usage = {"input_tokens": 10, "cache_read_input_tokens": 4, "output_tokens": 1}
    events = stream(
        {"type": "message_start", "message": {"model": "claude", "content": [], "usage": usage}},
        {"type": "ping"},
        start(0, type="thinking", thinking="", signature=""),
        delta(0, type="thinking_delta", thinking="Add"),
        delta(0, type="thinking_delta", thinking="ing."),
        delta(0, type="signature_delta", signature="s"),
        {"type": "content_block_stop", "index": 0},
        start(1, type="text", text=""),
        delta(1, type="text_delta", text="It is "),
        delta(1, type="text_delta", text="4"),
        start(2, type="tool_use", id="t1", name="add", input={}),
        delta(2, type="input_json_delta", partial_json='{"a"'),
        delta(2, type="input_json_delta", partial_json=": 2}"),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 25}},
        {"type": "message_stop"},
    )
    reply, sent = await asked("anthropic", "text/event-stream", events, seed=7)
    assert (sent["stream"], "seed" in sent, "stream_options" in sent) == (True, False, False)
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("It is 4", "Adding.", "tool_calls")
    assert [(call.id, call.name, call.arguments) for call in reply.tool_calls] == [("t1", "add", {"a": 2})]
    assert (reply.tokens_in, reply.tokens_out, reply.cached_tokens) == (14, 25, 4)
    assert reply.returned["thinking_blocks"] == [SIGNED]
    assert reply.first_token_ms is not None
    assert reply.notes == (NO_SEED,)


async def test_a_streamed_response_is_the_one_of_its_last_event() -> None:
    message = {"type": "message", "content": [{"type": "output_text", "text": "4"}]}
    usage = {"input_tokens": 3, "output_tokens": 2}
    events = stream(
        {"type": "response.created", "response": {"status": "in_progress", "output": []}},
        {"type": "response.output_text.delta", "delta": "4"},
        {"type": "response.completed", "response": {"status": "completed", "output": [message], "usage": usage}},
    )
    reply, _ = await asked("responses", "text/event-stream", events)
    assert (reply.text, reply.tokens_in, reply.tokens_out) == ("4", 3, 2)
    assert reply.first_token_ms is not None


OVERLOADED = {"type": "overloaded_error", "message": "Overloaded"}
FAILED = {"status": "failed", "output": [], "error": {"code": "server_error", "message": "Overloaded"}}


@pytest.mark.parametrize(
    ("kind", "content_type", "reply"),
    [
        ("anthropic", "text/event-stream", stream({"type": "error", "error": OVERLOADED})),
        ("anthropic", "application/json", json.dumps({"type": "error", "error": OVERLOADED}).encode()),
        ("responses", "text/event-stream", stream({"type": "response.failed", "response": FAILED})),
        ("responses", "text/event-stream", stream({"type": "error", "code": None, "message": "Overloaded"})),
        ("responses", "application/json", json.dumps(FAILED).encode()),
    ],
)
async def test_an_error_after_status_200_is_retried(kind: str, content_type: str, reply: bytes) -> None:
    with pytest.raises(ProviderError, match="Overloaded") as raised:
        await asked(kind, content_type, reply)
    assert (raised.value.kind, raised.value.retryable) == ("server", True)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["message", "tool_use", "text"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "content", "text", "thinking", "input", "summary", "usage", "id", "delta"]), inner
        )
    ),
)


@given(st.sampled_from(list(KINDS)), JSON, JSON, JSON)
def test_whatever_json_arrives_raises_nothing_but_a_provider_error(kind: str, one: Any, two: Any, three: Any) -> None:
    document = {"content": one, "output": one, "usage": two, "stop_reason": three, "incomplete_details": three}
    with contextlib.suppress(ProviderError):
        read(kind, document)
    with contextlib.suppress(ProviderError):
        read(kind, one)


@given(st.sampled_from(list(KINDS)), st.lists(st.tuples(JSON, JSON), max_size=4))
def test_whatever_events_arrive_raise_nothing_but_a_provider_error(kind: str, pairs: Any) -> None:
    types = ("message_start", "content_block_start", "content_block_delta", "message_delta", "response.completed")
    assembler = provider(kind).assembler()
    for place, (first, second) in enumerate(pairs):
        event = {"message": first, "content_block": first, "delta": second, "response": first, "usage": second}
        assembler.add({"type": types[place % len(types)], "index": place, **event})
    json.dumps(assembler.document())


def test_an_assembler_keeps_blocks_in_their_order() -> None:
    assembler = provider("anthropic").assembler()
    for index in (1, 0):
        block = {"type": "text", "text": str(index)}
        assembler.add({"type": "content_block_start", "index": index, "content_block": block})
    assert [block["text"] for block in assembler.document()["content"]] == ["0", "1"]
