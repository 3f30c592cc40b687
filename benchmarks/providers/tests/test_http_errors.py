from __future__ import annotations

import json
import time

import pytest

from benchmarks.providers.clean_text import shortened, without_secrets
from benchmarks.providers.http_errors import error_for_reply, error_in_good_reply, filter_message


@pytest.mark.parametrize(
    ("status", "kind", "retryable", "systemic"),
    [
        (300, "redirect", False, True),
        (418, "bad_request", False, False),
        (422, "bad_request", False, False),
        (500, "server", True, False),
        (529, "server", True, False),
        (599, "server", True, False),
    ],
)
def test_a_status_nobody_thought_of_has_a_meaning(status: int, kind: str, retryable: bool, systemic: bool) -> None:
    error = error_for_reply(status, {}, b"")
    assert (error.kind, error.retryable, error.systemic) == (kind, retryable, systemic)
    assert error.message.startswith(str(status))


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b'{"error": "plain text"}', "plain text"),
        (b'{"message": "at the top"}', "at the top"),
        (b'[{"error": {"code": 400, "message": "in a list", "status": "INVALID_ARGUMENT"}}]', "in a list"),
        (
            b'{"object": "error", "message": {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], '
            b'"msg": "Extra inputs are not permitted", "input": 1}]}, "type": "invalid_request_error"}',
            "body.seed: Extra inputs are not permitted",
        ),
        (b'{"detail": [{"loc": ["body", "messages", 0], "msg": "a"}, {"msg": "b"}]}', "body.messages.0: a; b"),
        (b'{"detail": [7, {"msg": 7}]}', '[7, {"msg": 7}]'),
        (b'{"message": {"why": "no idea"}}', "no idea"),
        (b'{"detail": "as FastAPI says it"}', "as FastAPI says it"),
        (b"upstream is gone", "upstream is gone"),
        (b'{"error": {"message": "a\\u0000b"}}', "a␀b"),
        (b"<html><body>secret internals</body></html>", "500 Internal Server Error"),
        (b"[1, 2]", "[1, 2]"),
    ],
)
def test_the_endpoints_own_words_are_found(body: bytes, says: str) -> None:
    message = error_for_reply(500, {}, body).message
    assert says in message
    assert "<html" not in message


def test_a_long_message_is_shortened_to_a_line() -> None:
    message = error_for_reply(500, {}, json.dumps({"error": {"message": "word \n" * 10_000}}).encode()).message
    assert len(message) < 400
    assert "\n" not in message


@pytest.mark.parametrize(
    ("code", "kind", "status"),
    [
        (429, "rate_limited", 429),
        ("503", "server", 503),
        ("oops", "server", 500),
        (7, "server", 500),
        (None, "server", 500),
    ],
)
def test_an_error_inside_a_good_status_counts_by_its_code(code: object, kind: str, status: int) -> None:
    error = error_in_good_reply({}, json.dumps({"error": {"message": "m", "code": code}}).encode())
    assert error is not None
    assert (error.kind, error.status, error.retryable) == (kind, status, True)


@pytest.mark.parametrize("body", [b"{}", b"[]", b"", b'{"error": null, "choices": []}'])
def test_a_good_status_without_an_error_object_has_no_error(body: bytes) -> None:
    assert error_in_good_reply({}, body) is None


def test_a_prompt_flagged_by_a_proxy_is_a_filters_doing_and_no_bad_key() -> None:
    assert filter_message({"code": 403, "message": "flagged", "metadata": {"flagged_input": "…"}}) == "flagged"
    assert filter_message({"code": "invalid_api_key", "message": "no"}) is None


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key: my-own-key-42",
        "Bearer abcdefghijk",
        "authorization: bearer abcdefghijk",
        "key sk-proj-abcdefgh12345678 is wrong",
        "key gsk_abcdefgh12345678 is wrong",
        "key AIzaSyA1234567890abcdefghijklm is wrong",
    ],
)
def test_keys_are_masked(text: str) -> None:
    masked = without_secrets(text, ["my-own-key-42", "my-own"])
    assert "[key hidden]" in masked
    for part in ("key-42", "abcdefgh", "A1234567890"):
        assert part not in masked


@pytest.mark.parametrize("text", ["risk-assessment failed", "the task none exists", "a bearer of news"])
def test_words_are_not_taken_for_keys(text: str) -> None:
    assert without_secrets(text, ["none", "", "a"]) == text


def test_a_short_text_stays_as_it_is_on_one_line() -> None:
    assert shortened("two\n lines") == "two lines"
    assert shortened("x" * 301) == "x" * 299 + "…"


def test_the_words_of_the_vendor_behind_a_proxy_are_shown() -> None:
    raw = json.dumps({"error": {"message": "Your credit balance is too low"}})
    for inner in (raw, "Your credit balance is too low"):
        error = {"code": 400, "message": "Provider returned error", "metadata": {"provider_name": "X", "raw": inner}}
        message = error_for_reply(400, {}, json.dumps({"error": error}).encode()).message
        assert "Provider returned error: Your credit balance is too low" in message


def test_geminis_delay_in_the_body_is_waited_for() -> None:
    details = [7, {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.4s"}]
    body = json.dumps([{"error": {"code": 429, "message": "quota", "details": details}}]).encode()
    assert error_for_reply(429, {}, body).retry_after == 34.4
    assert error_for_reply(429, {"Retry-After": "2"}, body).retry_after == 2.0
    assert error_for_reply(429, {}, b'{"error": {"details": [{"retryDelay": "soon"}]}}').retry_after is None


def test_the_reset_that_openrouter_quotes_is_waited_for() -> None:
    in_a_minute = str(round((time.time() + 60) * 1000))
    headers = {"X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": in_a_minute}
    for quoted, waits in ((headers, True), ({**headers, "X-RateLimit-Remaining": "1"}, False), ({7: []}, False)):
        error = {"message": "Rate limit exceeded", "code": 429, "metadata": {"headers": quoted}}
        delay = error_for_reply(429, {}, json.dumps({"error": error}).encode()).retry_after
        assert (delay is not None and 50 < delay < 61) == waits


def test_a_prompt_that_llama_cpp_finds_too_long_is_too_large() -> None:
    error = {"code": 400, "message": "request (9412 tokens) exceeds …", "type": "exceed_context_size_error"}
    assert error_for_reply(400, {}, json.dumps({"error": error}).encode()).kind == "too_large"


def test_groqs_status_of_an_error_in_a_stream_counts() -> None:
    error = error_in_good_reply({}, b'{"error": {"message": "m", "code": "no_such_thing", "status_code": 400}}')
    assert error is not None
    assert (error.kind, error.status, error.retryable) == ("bad_request", 400, False)
