"""Vendors' own words for a refused parameter, and errors that are about something else."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.providers.http_errors import error_for_reply


def openai(message: str, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


LIMIT = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
DEFAULT_ONLY = (
    "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."
)


def forbidden(name: str) -> dict[str, Any]:
    return {"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted", "input": 1}


def anthropic(message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": "invalid_request_error", "message": message}, "request_id": "req_1"}


def gemini(*names: str) -> list[dict[str, Any]]:
    says = [f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.' for name in names]
    violations = [{"description": line} for line in says]
    details = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations}]
    return [{"error": {"code": 400, "message": "\n".join(says), "status": "INVALID_ARGUMENT", "details": details}}]


REFUSALS: list[tuple[int, Any, tuple[str, ...]]] = [
    # Bodies as found at the addresses in refusals.yaml: GPT-5 and the o series, with and without a code
    (400, openai(DEFAULT_ONLY, "temperature", "unsupported_value"), ("temperature",)),
    (
        400,
        openai("Unsupported parameter: 'temperature' is not supported with this model.", "temperature"),
        ("temperature",),
    ),
    (400, openai("Unsupported parameter: 'top_p' is not supported with this model."), ("top_p",)),
    (400, openai(LIMIT, "max_tokens", "unsupported_parameter"), ("max_tokens",)),
    (400, openai("…", "messages[0].role", "unsupported_value"), ("system_role",)),
    # System prompts: vLLM, llama.cpp, Gemma at Google; streamed replies only: Codex, Fireworks
    (400, {"object": "error", "message": "System role not supported", "code": 400}, ("system_role",)),
    (500, {"error": {"code": 500, "message": "Value is not callable: System role not supported"}}, ("system_role",)),
    (400, {"error": {"code": 400, "message": "Developer instruction is not enabled for models/g"}}, ("system_role",)),
    (400, {"detail": "Stream must be set to true"}, ("stream",)),
    (400, openai("Requests with max_tokens > 4096 must have stream=true", "max_tokens", "BAD_REQUEST"), ("stream",)),
    (
        400,
        openai(
            "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
            "response_format",
        ),
        ("response_format",),
    ),
    (
        400,
        openai("Invalid parameter: 'text.format' of type 'json_schema' is not supported with model version `gpt-4`."),
        ("response_format",),
    ),
    (400, openai("This model does not support response format `json_schema`."), ("response_format",)),
    # Claude
    (400, anthropic("`temperature` is deprecated for this model."), ("temperature",)),
    (
        400,
        anthropic("`temperature` may only be set to 1 when thinking is enabled or in adaptive mode."),
        ("temperature",),
    ),
    (400, anthropic("`top_k` must be unset when thinking is enabled. Please consult our documentation"), ("top_k",)),
    (
        400,
        {"message": "The model returned the following errors: top_p must be unset when thinking is enabled."},
        ("top_p",),
    ),
    (
        400,
        anthropic("`temperature` and `top_p` cannot both be specified for this model. Please use only one."),
        ("top_p",),
    ),
    # DeepSeek, LM Studio, Groq, Ollama
    (400, openai("This response_format type is unavailable now", None, "invalid_request_error"), ("response_format",)),
    (422, openai("response_format: response_format.type `json_schema` is unavailable now"), ("response_format",)),
    (400, {"error": "'response_format.type' must be 'json_schema' or 'text'"}, ("response_format",)),
    (
        400,
        openai(
            "'response_format' : one of the following must be satisfied[('response_format.type' : value is not one of "
            "the allowed values ['text']) OR ('response_format.name' : property 'name' is missing)]"
        ),
        ("response_format",),
    ),
    (400, openai("property 'store' is unsupported, did you mean 'stop'?"), ("store",)),
    (400, openai('"llama3.1:8b" does not support thinking'), ("reasoning_effort",)),
    (400, openai("stablelm2:latest does not support tools"), ("tools",)),
    # xAI
    (
        400,
        {
            "code": "Client specified an invalid argument",
            "error": "Model grok-4 does not support parameter presencePenalty.",
        },
        ("presence_penalty",),
    ),
    (400, {"error": "Argument not supported on this model: stop"}, ("stop",)),
    (
        400,
        {
            "code": "Client specified an invalid argument",
            "error": "The response_format parameter is unsupported at the moment. Leave it unset.",
        },
        ("response_format",),
    ),
    # Mistral in four forms, vLLM, Fireworks
    (422, {"object": "error", "message": {"detail": [forbidden("seed")]}, "type": "invalid_request_error"}, ("seed",)),
    (422, {"object": "Error", "detail": [forbidden("seed")], "message": [forbidden("seed")], "code": 3001}, ("seed",)),
    (422, {"detail": [forbidden("seed"), forbidden("max_completion_tokens")]}, ("seed", "max_completion_tokens")),
    (422, {"object": "error", "message": json.dumps({"detail": [forbidden("seed")]}), "code": "1000"}, ("seed",)),
    (
        400,
        {
            "object": "error",
            "message": "[{'type': 'extra_forbidden', 'loc': ('body', 'max_completion_tokens'), 'msg': 'Extra inputs "
            "are not permitted', 'input': 800}]",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
        ("max_completion_tokens",),
    ),
    (400, {"error": {"message": "Extra inputs are not permitted, field: 'seed', value: 1"}}, ("seed",)),
    # Kimi, Qwen, Gemini (which names all at once), LiteLLM
    (400, openai("invalid temperature: only 1 is allowed for this model"), ("temperature",)),
    (
        400,
        openai(
            "parameter.enable_thinking must be set to false for non-streaming calls", None, "invalid_parameter_error"
        ),
        ("enable_thinking",),
    ),
    (400, gemini("seed"), ("seed",)),
    (400, gemini("frequency_penalty", "seed"), ("frequency_penalty", "seed")),
    (
        400,
        {"error": {"message": "litellm.UnsupportedParamsError: gpt-5 models don't support temperature=0.84."}},
        ("temperature",),
    ),
    # OpenRouter quotes the vendor
    (
        400,
        {"error": {"code": 400, "message": "Provider returned error", "metadata": {"raw": json.dumps(openai(LIMIT))}}},
        ("max_tokens",),
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
    for status, body, parameters in REFUSALS:
        error = error_for_reply(status, {}, json.dumps(body).encode())
        assert (error.refused, error.kind, error.systemic) == (parameters, "bad_request", True), body


def test_other_errors_are_not_taken_for_a_refusal() -> None:
    for status, body in OTHERS:
        assert error_for_reply(status, {}, json.dumps(body).encode()).refused == (), body


def test_a_refusal_of_what_a_run_sets_as_extra_says_where_it_stands() -> None:
    body = {"error": "Model grok-4 does not support parameter reasoningEffort."}
    error = error_for_reply(400, {}, json.dumps(body).encode())
    assert "Remove reasoning_effort from the extra parameters of the run, or from `params`" in error.message


def test_a_refusal_of_several_parameters_says_what_to_do_about_each() -> None:
    error = error_for_reply(400, {}, json.dumps(gemini("top_k", "seed")).encode())
    assert "Remove top_k from the extra parameters" in error.message
    assert "Do not set seed" in error.message
