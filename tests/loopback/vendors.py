"""An endpoint that refuses what vendors refuse, with the bodies that their endpoints answer.

A model is refused by the first part of its name: ``gpt-5``, ``o3``, ``gpt-4``, ``claude``, ``deepseek``, ``mistral``,
``gemini``; ``gemma`` and ``o1-mini`` (no system prompt); ``qwq`` (streamed replies only). The bodies were seen at the
addresses in ``benchmarks/providers/refusals.yaml``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from tests.loopback.faults import Fault
from tests.loopback.replies import Asked, Reply

Body = Mapping[str, Any]
Answers = Callable[[Asked], Reply | Fault | str | None]


def refusing(answers: Answers) -> Answers:
    """A script that refuses what the model's vendor refuses, and otherwise answers as ``answers`` does."""

    def script(asked: Asked) -> Reply | Fault | str | None:
        vendor = next((refuse for name, refuse in VENDORS.items() if asked.body["model"].startswith(name)), None)
        refused = vendor(asked.body) if vendor else None
        if refused is None:
            return answers(asked)
        status, document = refused
        return Fault("a refused parameter", status, lambda ordinary: orjson.dumps(document))

    return script


def _openai(body: Body) -> tuple[int, Any] | None:
    """GPT-5 and the o series, by chat completions and by the Responses API."""
    if "input" in body:
        refused = next((name for name in ("temperature", "top_p") if name in body), None)
        message = f"Unsupported parameter: '{refused}' is not supported with this model."
        return (400, _openai_error(message, refused, None)) if refused else None
    if "max_tokens" in body:
        message = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
        return 400, _openai_error(message, "max_tokens", "unsupported_parameter")
    if body.get("temperature", 1) != 1:
        message = (
            f"Unsupported value: 'temperature' does not support {body['temperature']:g} with this model. "
            "Only the default (1) value is supported."
        )
        return 400, _openai_error(message, "temperature", "unsupported_value")
    if "top_p" in body:
        message = "Unsupported parameter: 'top_p' is not supported with this model."
        return 400, _openai_error(message, "top_p", "unsupported_parameter")
    return None


def _older_openai(body: Body) -> tuple[int, Any] | None:
    """Models before structured outputs, as Azure still deploys them."""
    responses = "input" in body
    form = body.get("text", {}).get("format") if responses else body.get("response_format")
    if not form:
        return None
    name, by = ("text.format", f"model version `{body['model']}`") if responses else ("response_format", "this model")
    message = f"Invalid parameter: '{name}' of type '{form['type']}' is not supported with {by}."
    return 400, _openai_error(message, name, None)


def _gemini(body: Body) -> tuple[int, Any] | None:
    """The compatible address, which names all that it does not know at once."""
    unknown = [name for name in ("seed", "frequency_penalty", "top_k") if name in body]
    says = [f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.' for name in unknown]
    error = {"code": 400, "message": "\n".join(says), "status": "INVALID_ARGUMENT"}
    return (400, [{"error": error}]) if unknown else None


def _anthropic(body: Body) -> tuple[int, Any] | None:
    """Claude from Opus 4.7 on."""
    for name in ("temperature", "top_p", "top_k"):
        if name in body:
            error = {"type": "invalid_request_error", "message": f"`{name}` is deprecated for this model."}
            return 400, {"type": "error", "error": error, "request_id": "req_011CZz"}
    return None


def _deepseek(body: Body) -> tuple[int, Any] | None:
    form = (body.get("response_format") or {}).get("type")
    if form == "json_schema":
        message = "This response_format type is unavailable now"
        return 400, _openai_error(message, None, "invalid_request_error")
    if form == "json_object" and "json" not in str(body["messages"]).lower():
        message = "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'."
        return 400, _openai_error(message, None, "invalid_request_error")
    return None


def _mistral(body: Body) -> tuple[int, Any] | None:
    known = {"model", "messages", "temperature", "top_p", "max_tokens", "random_seed", "response_format", "tools"}
    if unknown := sorted(body.keys() - known):
        detail = [
            {
                "type": "extra_forbidden",
                "loc": ["body", name],
                "msg": "Extra inputs are not permitted",
                "input": body[name],
            }
            for name in unknown
        ]
        return 422, {
            "object": "error",
            "message": {"detail": detail},
            "type": "invalid_request_error",
            "param": None,
            "code": None,
        }
    return None


def _gemma(body: Body) -> tuple[int, Any] | None:
    """The chat template of Gemma in vLLM."""
    if body["messages"][0]["role"] == "system":
        return 400, {"object": "error", "message": "System role not supported", "type": "BadRequestError", "code": 400}
    return None


def _o1_mini(body: Body) -> tuple[int, Any] | None:
    if body["messages"][0]["role"] == "system":
        message = "Unsupported value: 'messages[0].role' does not support 'system' with this model."
        return 400, _openai_error(message, "messages[0].role", "unsupported_value")
    return _openai(body)


def _qwq(body: Body) -> tuple[int, Any] | None:
    """QwQ at Alibaba."""
    if not body.get("stream"):
        message = "This model only support stream mode, please enable the stream parameter to access the model. "
        return 400, _openai_error(message, None, "invalid_parameter_error")
    return None


def _openai_error(message: str, param: str | None, code: str | None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


VENDORS: Mapping[str, Callable[[Body], tuple[int, Any] | None]] = {
    "gpt-5": _openai,
    "o3": _openai,
    "gpt-4": _older_openai,
    "claude": _anthropic,
    "deepseek": _deepseek,
    "mistral": _mistral,
    "gemini": _gemini,
    "gemma": _gemma,
    "o1-mini": _o1_mini,
    "qwq": _qwq,
}
"""First part of a model's name → the status and body that refuse a request; ``None`` if it is accepted."""
