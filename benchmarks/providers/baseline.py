"""The built-in ``baseline/`` models: what a score is worth that needs no model. They answer at once, at no cost."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from benchmarks.providers.base import BaselineContext, ChatReply, ChatRequest, Provider, ProviderError, ToolCall

Solver = Callable[[str], str | None]
"""From a prompt's text to its answer, or ``None`` where the text does not determine one."""

BASELINE_MODELS: Mapping[str, str] = {
    "reference": "Gives the reference answer and makes the expected tool calls: the score that a perfect model gets",
    "random": "Picks one of the answers that occur in comparable tasks, evenly and repeatably: the score of guessing",
    "majority": "Always gives the most frequent answer of comparable tasks: the score of knowing only the answers",
    "empty": "Gives an empty answer: what a metric awards for nothing",
    "solver": "Works out questions about canvases from the prompt's text by rules: what the text alone determines",
}
"""Model name → what it does, in a sentence for pages and documents."""


class BaselineProvider(Provider):
    """Answers from ``request.baseline``, or with ``solver`` from the last message of the user."""

    def __init__(self, name: str = "baseline", solver: Solver | None = None) -> None:
        self.name = name
        self._solver = solver

    async def complete(self, request: ChatRequest) -> ChatReply:
        match request.model:
            case "reference":
                return _reference(request)
            case "random":
                context = _context(request)
                return _answer(request, random.Random(context.salt).choice(_choices(context)))
            case "majority":
                return _answer(request, _context(request).majority)
            case "empty":
                return _answer(request, "")
            case "solver" if self._solver is not None:
                return _solved(request, self._solver)
        known = ", ".join(f"{self.name}/{model}" for model in BASELINE_MODELS if model != "solver" or self._solver)
        message = f"{self.name}: no built-in model is named {request.model!r}; there are {known}"
        raise ProviderError("not_found", message, systemic=True)


def _reference(request: ChatRequest) -> ChatReply:
    """The reference answer, with the expected tool calls until the conversation holds a tool's result."""
    context = _context(request)
    called = any(message.get("role") == "tool" for message in request.messages)
    calls = () if called else tuple(_tool_call(i, tool) for i, tool in enumerate(context.expected_tools))
    return _answer(request, context.expected_output, calls)


def _tool_call(number: int, tool: Mapping[str, Any]) -> ToolCall:
    arguments = dict(tool.get("args") or {})
    return ToolCall(f"call_{number}", str(tool["name"]), arguments, orjson.dumps(arguments).decode())


def _solved(request: ChatRequest, solver: Solver) -> ChatReply:
    answer = solver(_prompt(request))
    if answer is None:
        return _answer(request, "", refusal="the prompt's text does not determine the answer")
    return _answer(request, answer)


def _prompt(request: ChatRequest) -> str:
    """The text of the last message of the user, without its pictures."""
    contents = [message.get("content") for message in request.messages if message.get("role") == "user"]
    content = contents[-1] if contents else ""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or () if part.get("type") == "text")


def _answer(request: ChatRequest, text: str, calls: tuple[ToolCall, ...] = (), refusal: str | None = None) -> ChatReply:
    reason = "tool_calls" if calls else "stop"
    return ChatReply(text, calls, reason, refusal, tokens_in=0, tokens_out=0, model=request.model)


def _context(request: ChatRequest) -> BaselineContext:
    if request.baseline is None:
        raise ProviderError("bad_request", "a baseline model needs the request's baseline context", systemic=True)
    return request.baseline


def _choices(context: BaselineContext) -> list[str]:
    """The choices in an order of their own, so that the pick does not depend on the order they came in."""
    if not context.choices:
        raise ProviderError("bad_request", "the random baseline needs at least one choice", systemic=True)
    return sorted(context.choices)
