from __future__ import annotations

import pytest

from benchmarks.providers.base import ChatReply, ToolCall
from benchmarks.providers.clean_text import NOTE, full_sentence, keys_sent, without_keys, without_secrets

KEY = "planted-key-0123456789"


@pytest.mark.parametrize(
    ("api_key", "headers", "expected"),
    [
        (KEY, {}, {KEY}),
        (None, {"X-Api-Key": KEY}, {KEY}),
        (None, {"Authorization": f"Token {KEY}"}, {KEY, f"Token {KEY}"}),
        ("not-needed", {"X-Title": "CodeForge Benchmarks here", "Cookie": "a=b"}, set()),
        (None, {}, set()),
    ],
)
def test_what_is_secret_of_what_is_sent(api_key: str | None, headers: dict[str, str], expected: set[str]) -> None:
    assert set(keys_sent(api_key, headers)) == expected


@pytest.mark.parametrize(
    "reply",
    [
        ChatReply(f"It is {KEY}."),
        ChatReply("", refusal=f"no {KEY}"),
        ChatReply("", reasoning=f"they sent {KEY}"),
        ChatReply("", finish_reason=KEY),
        ChatReply("", model=KEY),
        ChatReply("", notes=(f"usage reports {KEY}",)),
        ChatReply("", tool_calls=(ToolCall(KEY, "f", None, ""),)),
        ChatReply("", tool_calls=(ToolCall("1", KEY, None, ""),)),
        ChatReply("", tool_calls=(ToolCall("1", "f", None, f"broken {KEY}"),)),
        ChatReply("", tool_calls=(ToolCall("1", "f", {"deep": [{"er": KEY}]}, "escaped"),)),
        ChatReply("", tool_calls=(ToolCall("1", "f", {KEY: 1}, "escaped"),)),
    ],
)
def test_a_key_is_hidden_wherever_the_endpoint_puts_it(reply: ChatReply) -> None:
    hidden = without_keys(reply, (KEY,))
    assert KEY not in repr(hidden)
    assert "[key hidden]" in repr(hidden)
    assert hidden.notes[-1] == NOTE


def test_an_answer_that_quotes_no_key_is_the_same_object() -> None:
    reply = ChatReply("An example: sk-0123456789abcdef", tool_calls=(ToolCall("1", "f", {"n": 1}, '{"n": 1}'),))
    assert without_keys(reply, (KEY,)) is reply


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abc",
        "x-api-key=abc",
        "Incorrect key provided: abc.",
        '{"Authorization": "abc"}',
        "no key abc",
    ],
)
def test_a_short_key_is_hidden_where_it_is_given_as_a_value(text: str) -> None:
    assert "abc" not in without_secrets(text, ("abc",))


def test_a_short_key_leaves_words_alone() -> None:
    text = "none of the abc models: abcde"
    assert without_secrets(text, ("abc",)) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It has the keys out", "It has the keys out."),
        ("It does not allow them.", "It does not allow them."),
        ("no.. ", "no."),
        ("Why?", "Why?"),
        ("It says “no.”", "It says “no.”"),
        ("It says “no”", "It says “no”."),
        ("cut o…", "cut o…"),
        ("", ""),
        (ValueError("line 3"), "line 3."),
    ],
)
def test_what_others_wrote_ends_with_one_full_stop(text: object, expected: str) -> None:
    assert full_sentence(text) == expected
