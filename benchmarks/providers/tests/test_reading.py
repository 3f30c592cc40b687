from __future__ import annotations

import contextlib
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.providers.base import ChatReply, ProviderError
from benchmarks.providers.reading import CUT_OFF_WHILE_THINKING, parse_json, read_models, read_reply


def unchanged(document: Any) -> Any:
    return document


def read(message: Any, **fields: Any) -> ChatReply:
    body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], **fields})
    return read_reply(body.encode(), unchanged, duration_ms=1.0, first_byte_ms=None)


def tool_calls(*calls: Any) -> list[tuple[str, Any, str]]:
    return [(call.name, call.arguments, call.raw_arguments) for call in read({"tool_calls": list(calls)}).tool_calls]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_but_a_provider_error(body: bytes) -> None:
    with contextlib.suppress(ProviderError):
        read_reply(body, unchanged, duration_ms=0, first_byte_ms=None)


@given(JSON, JSON, JSON, JSON)
def test_whatever_is_read_can_be_stored(content: Any, arguments: Any, usage: Any, refusal: Any) -> None:
    call = {"id": "\0", "function": {"name": "\ud800", "arguments": arguments}}
    with contextlib.suppress(ProviderError):
        reply = read({"content": content, "refusal": refusal, "tool_calls": [call, arguments]}, usage=usage)
        texts = [reply.text, reply.refusal or "", *reply.notes]
        for call in reply.tool_calls:
            texts += [call.id, call.name, call.raw_arguments]
            arguments_text = json.dumps(call.arguments, ensure_ascii=False, allow_nan=False)
            assert "\\u0000" not in arguments_text.replace("\\\\", "")
            texts.append(arguments_text)
        for text in texts:
            assert "\0" not in text
            text.encode()
        for tokens in (reply.tokens_in, reply.tokens_out):
            assert tokens is None or 0 <= tokens < 2**31


@pytest.mark.parametrize(
    ("arguments", "read_as"),
    [
        ('{"x": 1}', {"x": 1}),
        ({"x": 1}, {"x": 1}),
        ("", {}),
        (None, {}),
        ("[1]", None),
        ("{x: 1}", None),
        ('{"x": NaN}', None),
        ('{"x": 1e999}', None),
        ("[" * 5000, None),
        ('{"x": "a\\u0000b"}', {"x": "a␀b"}),
        ('{"x": "\\ud800"}', {"x": "\ufffd"}),
    ],
)
def test_arguments_are_read_as_an_object_or_kept_raw(arguments: Any, read_as: Any) -> None:
    ((name, parsed, raw),) = tool_calls({"id": "1", "function": {"name": "f", "arguments": arguments}})
    assert (name, parsed) == ("f", read_as)
    if isinstance(arguments, str):
        assert raw == arguments


@pytest.mark.parametrize("call", [7, None, "f", [], {}, {"function": 3}])
def test_a_call_that_is_none_is_kept_as_malformed(call: Any) -> None:
    (read_call,) = read({"tool_calls": [call]}).tool_calls
    assert read_call.malformed
    assert json.loads(read_call.raw_arguments) == call


def test_content_in_parts_is_joined_without_what_is_no_text() -> None:
    parts = [{"type": "thinking", "text": "hm"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}, 3]
    assert read({"content": parts}).text == "ab"


@pytest.mark.parametrize(
    ("usage", "tokens", "notes"),
    [
        ({"prompt_tokens": 0, "completion_tokens": 2}, (0, 2), 0),
        ({"prompt_tokens": 3}, (3, None), 0),
        ({"prompt_tokens": True, "completion_tokens": "2"}, (None, None), 2),
        ({"prompt_tokens": -1, "completion_tokens": 2**31}, (None, None), 2),
        ([], (None, None), 0),
        (None, (None, None), 0),
    ],
)
def test_usage_is_believed_where_it_counts_tokens(usage: Any, tokens: tuple[Any, Any], notes: int) -> None:
    reply = read({"content": "x"}, usage=usage)
    assert (reply.tokens_in, reply.tokens_out) == tokens
    assert len(reply.notes) == notes


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "[" * 100_000, "", "{", b"\xff"])
def test_what_is_no_json_is_a_value_error(text: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - its message depends on the parser that gave up
        parse_json(text)


def test_numbers_too_large_for_a_double_do_not_pass_as_infinite_arguments() -> None:
    assert tool_calls({"function": {"name": "f", "arguments": '{"x": -1e999}'}})[0][1] is None
    assert math.isinf(parse_json("1e999"))


@pytest.mark.parametrize(
    ("message", "answer", "thinking"),
    [
        ({"content": "4", "reasoning_content": "2+2"}, "4", "2+2"),
        ({"content": "4", "reasoning": "2+2"}, "4", "2+2"),
        ({"content": "4", "reasoning": ["2+2"]}, "4", None),
        ({"content": "<think>2+2</think>\n\n4"}, "4", "2+2"),
        ({"content": "\n<Thinking>2+2</Thinking>4"}, "4", "2+2"),
        ({"content": "<think>2+2, so"}, "", "2+2, so"),
        ({"content": "2+2</think>4"}, "4", "2+2"),
        ({"content": "</think>4"}, "4", None),
        ({"content": "Use the <think> tag"}, "Use the <think> tag", None),
        ({"content": "4: <think>late</think>"}, "4: <think>late</think>", None),
        ({"content": "<think>b</think>4", "reasoning_content": "a"}, "4", "a\n\nb"),
        (
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "2+2"}]},
                    {"type": "text", "text": "4"},
                ]
            },
            "4",
            "2+2",
        ),
        ({"content": [{"type": "thinking", "thinking": 7}, {"type": "text", "text": "4"}]}, "4", None),
        ({"content": [{"type": "thinking", "thinking": "2+2"}]}, "", "2+2"),
    ],
)
def test_thinking_is_kept_apart_from_the_answer(message: Any, answer: str, thinking: str | None) -> None:
    reply = read(message)
    assert (reply.text, reply.reasoning) == (answer, thinking)


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 12,
                "total_tokens": 21,
                "completion_tokens_details": {"reasoning_tokens": 5},
                "prompt_tokens_details": {"cached_tokens": 8},
            },
            (9, 12, 5, 8),
        ),
        ({"prompt_tokens": 9, "completion_tokens": 12, "prompt_cache_hit_tokens": 4}, (9, 12, None, 4)),
        # xAI and Gemini leave thinking out of completion_tokens, but not out of the total.
        (
            {
                "prompt_tokens": 32,
                "completion_tokens": 9,
                "total_tokens": 135,
                "completion_tokens_details": {"reasoning_tokens": 94},
            },
            (32, 103, 94, None),
        ),
        ({"prompt_tokens": 5, "completion_tokens": 8, "total_tokens": 130}, (5, 125, 117, None)),
        ({"prompt_tokens": 5, "completion_tokens": 8, "total_tokens": 3}, (5, 8, None, None)),
        ({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 50}}, (5, None, None, 5)),
        ({"prompt_tokens_details": [], "completion_tokens_details": {"reasoning_tokens": 3}}, (None, None, None, None)),
    ],
)
def test_thinking_and_cached_tokens_are_parts_of_what_is_paid(usage: Any, counts: tuple[Any, ...]) -> None:
    reply = read({"content": "x"}, usage=usage)
    assert (reply.tokens_in, reply.tokens_out, reply.reasoning_tokens, reply.cached_tokens) == counts


@pytest.mark.parametrize(
    ("message", "usage", "noted"),
    [
        ({"content": "", "reasoning_content": "hm"}, {}, True),
        ({"content": "<think>hm"}, {}, True),
        ({"content": None}, {"completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 9}}, True),
        ({"content": None}, {}, False),
        ({"content": "The ans", "reasoning_content": "hm"}, {}, False),
    ],
)
def test_a_reply_cut_off_while_thinking_says_so(message: Any, usage: Any, noted: bool) -> None:
    body = {"choices": [{"message": message, "finish_reason": "length"}], "usage": usage}
    reply = read_reply(json.dumps(body).encode(), unchanged, duration_ms=1.0, first_byte_ms=None)
    assert (CUT_OFF_WHILE_THINKING in reply.notes) is noted


def test_what_a_vendor_wants_back_with_its_tool_calls_is_kept() -> None:
    signature = {"google": {"thought_signature": "abc"}}
    call = {"id": "1", "function": {"name": "f", "arguments": "{}"}, "extra_content": signature}
    reply = read({"reasoning_content": "hm", "other": 1, "tool_calls": [call]})
    assert reply.returned == {"reasoning_content": "hm"}
    assert reply.tool_calls[0].returned == {"extra_content": signature}
    assert read({"content": "4", "reasoning_content": "hm"}).returned == {}


@given(st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_no_list_of_models_raises_anything_but_a_provider_error(body: bytes) -> None:
    with contextlib.suppress(ProviderError):
        assert all(model.name.isprintable() for model in read_models(body))


def test_lists_of_models_are_read_in_every_vendors_form() -> None:
    long = "x" * 201
    for document, names in (
        ({"data": [{"id": "b"}, {"id": "a", "max_model_len": 4096}]}, [("a", 4096), ("b", None)]),
        ({"models": [{"name": "models/gemini", "inputTokenLimit": 7}]}, [("gemini", 7)]),
        ([{"id": "bare", "context_length": "many"}], [("bare", None)]),
        (
            {"data": [{"id": 7}, None, {"id": ""}, {"id": long}, {"id": "a\nb"}, {"id": " a"}, {"id": "ok"}]},
            [("ok", None)],
        ),
        ({"data": [{"id": "same"}, {"id": "same"}]}, [("same", None)]),
        ({"data": []}, []),
        ({"object": "list", "data": None}, []),
        ({"error": "no"}, None),
        ({"data": {"id": "a"}}, None),
        ("text", None),
    ):
        body = json.dumps(document).encode()
        if names is None:
            with pytest.raises(ProviderError, match="is not a list of models"):
                read_models(body)
        else:
            assert [(model.name, model.context_length) for model in read_models(body)] == names, document


def test_a_huge_list_of_models_is_cut() -> None:
    body = json.dumps({"data": [{"id": f"model-{number}"} for number in range(5_000)]}).encode()
    assert len(read_models(body)) == 2_000


def test_an_answer_survives_byte_order_marks_and_numbers_that_json_does_not_have() -> None:
    body = b'\xef\xbb\xbf{"choices": [{"message": {"content": "\\ufeff4"}}], "usage": {"prompt_tokens": NaN, '
    body += b'"completion_tokens": 2, "total_tokens": Infinity}}'
    reply = read_reply(body, unchanged, duration_ms=1.0, first_byte_ms=None)
    assert (reply.text, reply.tokens_in, reply.tokens_out) == ("4", None, 2)
    assert reply.notes == (
        "usage reports prompt_tokens as nan, which is not a token count",
        "usage reports total_tokens as inf, which is not a token count",
        "a byte order mark at the beginning of the answer was removed",
    )


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("model_length", "length"),  # Mistral
        ("eos", "stop"),  # Together
        ("stop_sequence", "stop"),  # TGI
        ("SAFETY", "content_filter"),  # Gemini
        ("MAX_TOKENS", "length"),
        ("something_new", "something_new"),
        (None, "stop"),
    ],
)
def test_vendors_own_finish_reasons_are_read(theirs: str | None, ours: str) -> None:
    body = json.dumps({"choices": [{"message": {"content": "4"}, "finish_reason": theirs}]}).encode()
    assert read_reply(body, unchanged).finish_reason == ours


@pytest.mark.parametrize("reason", ["error", "abort"])
def test_an_answer_that_the_endpoint_broke_off_is_no_answer(reason: str) -> None:
    body = json.dumps({"choices": [{"message": {"content": "The ans"}, "finish_reason": reason}]}).encode()
    with pytest.raises(ProviderError, match="broken off") as caught:
        read_reply(body, unchanged)
    assert caught.value.retryable
