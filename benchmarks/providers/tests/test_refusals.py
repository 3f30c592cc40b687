"""Vendors' own words for a refused parameter, and errors that are about something else."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.providers.http_errors import error_for_reply


def openai(message: str, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


DEFAULT_ONLY = (
    "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."
)
EXTRA = {"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted", "input": 1}
REFUSALS: list[tuple[int, Any, str]] = [
    (400, openai(DEFAULT_ONLY, "temperature", "unsupported_value"), "temperature"),
    (400, openai("Unsupported parameter: 'top_p' is not supported with this model."), "top_p"),
    (400, openai("…", "max_tokens", "unsupported_parameter"), "max_tokens"),
    (400, openai("…", "messages[0].role", "unsupported_value"), "messages[0].role"),
    (
        400,
        openai(
            "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
            "response_format",
        ),
        "response_format",
    ),
    (
        400,
        {
            "type": "error",
            "error": {"type": "invalid_request_error", "message": "`temperature` is deprecated for this model."},
        },
        "temperature",
    ),
    (
        400,
        {"error": {"message": "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode."}},
        "temperature",
    ),
    (
        400,
        {
            "error": {
                "message": "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
            }
        },
        "top_p",
    ),
    (400, openai("This response_format type is unavailable now", None, "invalid_request_error"), "response_format"),
    (422, openai("response_format: response_format.type `json_schema` is unavailable now"), "response_format"),
    (400, {"error": "'response_format.type' must be 'json_schema' or 'text'"}, "response_format"),
    (
        400,
        {
            "code": "Client specified an invalid argument",
            "error": "Model grok-4 does not support parameter presencePenalty.",
        },
        "presence_penalty",
    ),
    (400, {"error": "Argument not supported on this model: stop"}, "stop"),
    (422, {"object": "error", "message": {"detail": [EXTRA]}, "type": "invalid_request_error"}, "seed"),
    (422, {"detail": [EXTRA]}, "seed"),
    (422, {"object": "error", "message": json.dumps({"detail": [EXTRA]}), "type": "internal_error_proxy"}, "seed"),
    (400, openai("invalid temperature: only 1 is allowed for this model"), "temperature"),
    (
        400,
        [{"error": {"code": 400, "message": 'Invalid JSON payload received. Unknown name "seed": Cannot find field.'}}],
        "seed",
    ),
]
OTHERS: list[tuple[int, Any]] = [
    (400, openai("max_tokens is too large: 99999999", "max_tokens", "invalid_value")),
    (400, openai("This model's maximum context length is 8192 tokens", "messages", "context_length_exceeded")),
    (401, openai(DEFAULT_ONLY, "temperature", "unsupported_value")),
    (422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "messages", 0, "user", "name"], "msg": "Extra"}]}),
    (400, "Unsupported"),
]


def test_a_refused_parameter_is_recognized_in_the_words_of_each_vendor() -> None:
    for status, body, parameter in REFUSALS:
        error = error_for_reply(status, {}, json.dumps(body).encode())
        assert (error.refused, error.kind, error.systemic) == (parameter, "bad_request", True), body


def test_other_errors_are_not_taken_for_a_refusal() -> None:
    for status, body in OTHERS:
        assert error_for_reply(status, {}, json.dumps(body).encode()).refused is None, body


def test_a_refusal_of_what_a_run_sets_as_extra_says_where_it_stands() -> None:
    body = {"error": "Model grok-4 does not support parameter reasoningEffort."}
    error = error_for_reply(400, {}, json.dumps(body).encode())
    assert "Remove reasoning_effort from the extra parameters of the run, or from `params`" in error.message
