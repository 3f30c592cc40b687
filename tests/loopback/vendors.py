"""An endpoint that refuses what vendors refuse, with the bodies that their endpoints answer.

A model is refused by the first part of its name: ``gpt-5``, ``o3``, ``claude``, ``deepseek``, ``mistral``.
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
    """GPT-5 and the o series."""
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


def _openai_error(message: str, param: str | None, code: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


VENDORS: Mapping[str, Callable[[Body], tuple[int, Any] | None]] = {
    "gpt-5": _openai,
    "o3": _openai,
    "claude": _anthropic,
    "deepseek": _deepseek,
    "mistral": _mistral,
}
"""First part of a model's name → the status and body that refuse a request; ``None`` if it is accepted."""
