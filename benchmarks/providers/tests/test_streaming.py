from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import pytest
from aiohttp import StreamReader
from aiohttp.base_protocol import BaseProtocol
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.providers.base import ProviderError, Timeouts
from benchmarks.providers.reading import reply_from
from benchmarks.providers.streaming import ChatAssembler, read_stream
from benchmarks.providers.tests.test_openai_compatible import KEY, ask, provider_for, question
from tests.loopback import Fault, Reply, serve

PATIENT = Timeouts(connect=5, first_byte=5, stream_silence=5, whole=5)


async def streamed(*chunks: bytes, ends: bool = True, timeouts: Timeouts = PATIENT, most: int = 10_000) -> Any:
    """The document of a stream of these bytes, and its first token by a clock that counts its calls."""
    loop = asyncio.get_running_loop()
    protocol = BaseProtocol(loop)
    protocol.transport = asyncio.Transport()
    content = StreamReader(protocol, 2**16, loop=loop)
    for chunk in chunks:
        content.feed_data(chunk)
    if ends:
        content.feed_eof()
    raw, first_token = await read_stream(content, ChatAssembler(), timeouts, most, lambda: 1.0)
    return json.loads(raw), first_token


def event(delta: Any = None, finish_reason: str | None = None, **fields: Any) -> bytes:
    document = {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish_reason}], **fields}
    return b"data: " + json.dumps(document).encode() + b"\n\n"


END = event(finish_reason="stop") + b"data: [DONE]\n\n"


async def message_of(*events: bytes) -> dict[str, Any]:
    document, _ = await streamed(*events, END)
    message: dict[str, Any] = document["choices"][0]["message"]
    return message


async def test_pieces_become_one_reply() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    last = b'data: {"choices": [], "usage": ' + json.dumps(usage).encode() + b"}\n\n"
    pieces = event({"role": "assistant", "content": ""}, model="m") + event({"reasoning_content": "hm"})
    document, first_token = await streamed(pieces, event({"content": "An"}) + event({"content": "swer"}), last, END)
    assert document["choices"] == [
        {"message": {"content": "Answer", "reasoning_content": "hm"}, "finish_reason": "stop"}
    ]
    assert (document["model"], document["usage"], first_token) == ("m", usage, 1.0)


@pytest.mark.parametrize("cut", [1, 5, 6, 7, 20])
async def test_events_may_arrive_in_any_pieces(cut: int) -> None:
    stream = b": comment\r\n\r\nevent: x\r\n" + event({"content": "ä€"}).replace(b"\n", b"\r\n") + END
    chunks = [stream[start : start + cut] for start in range(0, len(stream), cut)]
    document, _ = await streamed(*chunks)
    assert document["choices"][0]["message"] == {"content": "ä€"}


async def test_the_pieces_of_tool_calls_belong_together_by_index() -> None:
    def call(index: Any, **fields: Any) -> bytes:
        return event({"tool_calls": [{"index": index, **fields}]})

    message = await message_of(
        call(0, id="a", function={"name": "f", "arguments": ""}),
        call(1, id="b", function={"name": "g", "arguments": "{}"}, extra_content={"google": 1}),
        call(0, function={"arguments": '{"x":'}),
        call(0, function={"arguments": " 1}"}),
        call(None, id="c", function={"name": "h", "arguments": "{"}),
        call(None, function={"arguments": "}"}),
        event({"tool_calls": [7, {"index": 0, "function": 7}]}),
    )
    assert message["tool_calls"] == [
        {"id": "a", "function": {"name": "f", "arguments": '{"x": 1}'}},
        {"id": "b", "function": {"name": "g", "arguments": "{}"}, "extra_content": {"google": 1}},
        {"id": "c", "function": {"name": "h", "arguments": "{}"}},
    ]


async def test_mistrals_parts_are_thinking_and_answer() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "2+"}]}
    message = await message_of(
        event({"content": [thinking]}), event({"content": [thinking, {"type": "text", "text": "4"}, 7]})
    )
    assert message == {"content": "4", "reasoning": "2+2+"}


async def test_an_error_in_the_stream_takes_the_place_of_the_reply() -> None:
    document, _ = await streamed(event({"content": "x"}), b'data: {"error": {"code": 502, "message": "gone"}}\n\n')
    assert document == {"error": {"code": 502, "message": "gone"}}
    document, _ = await streamed(b'data: {"type": "error", "message": "gone"}\n\n')
    assert document == {"error": {"type": "error", "message": "gone"}}


@pytest.mark.parametrize(
    ("chunks", "ends", "kind", "says"),
    [
        ([event({"content": "x"})], True, "connection", "ended before the answer was complete"),
        ([], True, "connection", "ended before the answer was complete"),
        ([b"data: {broken\n\n"], True, "bad_response", "not JSON"),
        ([b"data: " + b"x" * 10_000], False, "too_large", "exceeds"),
        ([b": keep-alive\n\n" * 1000], False, "too_large", "exceeds"),
        ([b": keep-alive\n\n"], False, "timeout", "No first event within 0.01 s"),
        ([event({"content": "x"})], False, "timeout", "stalled: no event within 0.02 s"),
    ],
)
async def test_a_stream_that_cannot_be_read_is_an_error(chunks: list[bytes], ends: bool, kind: str, says: str) -> None:
    quick = Timeouts(first_byte=0.01, stream_silence=0.02)
    with pytest.raises(ProviderError, match=says) as raised:
        await streamed(*chunks, ends=ends, timeouts=PATIENT if ends else quick)
    assert (raised.value.kind, raised.value.retryable) == (kind, kind != "too_large")


@given(st.lists(st.binary(max_size=40) | st.sampled_from([b"data: ", b"\n\n", event([]), event(7), END]), max_size=8))
def test_no_bytes_raise_anything_but_a_provider_error(chunks: list[bytes]) -> None:
    with contextlib.suppress(ProviderError):
        asyncio.run(streamed(*chunks))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3)
)


@given(JSON, JSON, JSON, JSON)
def test_whatever_json_an_event_has_is_survived(content: Any, calls: Any, usage: Any, choices: Any) -> None:
    delta = {"content": content, "tool_calls": calls, "reasoning_content": calls, "reasoning_details": content}
    odd = b"data: " + json.dumps({"choices": choices, "usage": usage}).encode() + b"\n\n"
    asyncio.run(streamed(event(delta, usage=usage), odd, END))


async def test_a_streamed_answer_has_the_time_of_its_first_token() -> None:
    script = {"script": {"go": Reply("one two three four", reasoning="hm", reasoning_tokens=9)}, "token_ms": 10}
    reply = await ask("go", script, stream=True)
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("one two three four", "hm", "stop")
    assert (reply.tokens_in, reply.tokens_out, reply.reasoning_tokens) == (1, 13, 9)
    assert reply.first_token_ms is not None
    assert reply.first_token_ms + 30 <= reply.duration_ms


async def test_streamed_tool_calls_and_refusals_arrive_whole() -> None:
    reply = await ask("go", {"script": {"go": Reply(None, [("f", '{"x": 1}')], "tool_calls")}}, stream=True)
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("f", {"x": 1})]
    assert (await ask("go", {"script": {"go": Reply(None, refusal="no")}}, stream=True)).refusal == "no"


async def test_an_endpoint_that_does_not_stream_is_read_as_usual() -> None:
    reply = await ask("[[fault:length]]", stream=True)
    assert (reply.text, reply.first_token_ms) == ("The ans", None)


async def test_a_streamed_request_asks_for_usage_until_the_endpoint_rejects_that() -> None:
    body = b'{"message": {"detail": [{"loc": ["body", "stream_options", "include_usage"], "msg": "Extra inputs"}]}}'

    def rejects(asked: Any) -> Any:
        return Fault("rejects", 422, lambda _: body) if "stream_options" in asked.body else Reply("4")

    with serve(rejects) as server:
        async with provider_for(server, stream=True) as provider:
            with pytest.raises(ProviderError) as raised:
                await provider.complete(question())
            assert (raised.value.status, raised.value.retryable, raised.value.systemic) == (422, True, False)
            assert (await provider.complete(question())).text == "4"
        assert [body.get("stream_options") for body in server.stats.bodies] == [{"include_usage": True}, None]


async def test_a_key_in_a_stream_is_masked() -> None:
    assert (await ask("go", {"script": {"go": f"I saw {KEY} here"}}, stream=True)).text == "I saw [key hidden] here"


async def test_thinking_that_vendors_do_not_take_back_is_not_returned_with_a_call() -> None:
    call = {"index": 0, "id": "a", "function": {"name": "add", "arguments": "{}"}}
    for field, returned in (("reasoning", {}), ("reasoning_content", {"reasoning_content": "hm"})):
        document, _ = await streamed(event({field: "hm"}), event({"tool_calls": [call]}), END)
        reply = reply_from(document)
        assert (reply.reasoning, reply.returned) == ("hm", returned)


async def test_an_error_after_the_end_of_a_reply_does_not_take_it_back() -> None:
    late = event(
        {"content": ""}, error={"code": 400, "message": "Token limit reached"}, usage={"completion_tokens": 10}
    )
    document, _ = await streamed(event({"content": "An"}, "length"), late, b"data: [DONE]\n\n")
    reply = reply_from(document)
    assert (reply.text, reply.finish_reason, reply.tokens_out) == ("An", "length", 10)
    document, _ = await streamed(event({"content": "An"}), late, b"data: [DONE]\n\n")
    assert document["error"]["message"] == "Token limit reached"
