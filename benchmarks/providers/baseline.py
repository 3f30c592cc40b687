"""The built-in ``baseline/`` models: scores that need no model. They answer at once, at no cost."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import orjson

from benchmarks.providers.base import BaselineContext, ChatReply, ChatRequest, Provider, ProviderError, ToolCall
from tasks_app.solver import Unsolvable, solve

BASELINE_MODELS: Mapping[str, str] = {
    "reference": "Gives the reference answer and makes the expected tool calls: the score of a perfect model",
    "random": "Picks a random answer of comparable tasks, the same again with the same seed: the score of guessing",
    "majority": "Always gives the most frequent answer of comparable tasks: the score of knowing only the answers",
    "blind": "Answers canvas questions by the best rule that does not see the canvas, others like majority",
    "empty": "Gives an empty answer: what a metric awards for nothing",
    "solver": "Solves canvas questions from the prompt's text by rules: what the text alone determines",
}
"""Model name → what it does, in one sentence for pages and documents."""
KNOWN_ANSWERS = "known-answers"
"""Replays the stored answer of a task. Only judge calibrations use it, so it is not in ``BASELINE_MODELS``."""


class BaselineProvider(Provider):
    """Answers from ``request.baseline``, or solves the last user message."""

    async def complete(self, request: ChatRequest) -> ChatReply:
        if request.model not in (*BASELINE_MODELS, KNOWN_ANSWERS):
            known = ", ".join(f"{self.name}/{model}" for model in BASELINE_MODELS)
            message = f"{self.name}: the built-in model {request.model!r} does not exist. Use one of: {known}"
            raise ProviderError("not_found", message, systemic=True)
        answer: Callable[[ChatRequest], ChatReply] = {
            "reference": _reference,
            "random": lambda request: _reply(request, _random_choice(_context(request))),
            "majority": lambda request: _reply(request, _context(request).majority),
            "blind": lambda request: _reply(request, _context(request).blind),
            "empty": lambda request: _reply(request, ""),
            "solver": _solved,
            KNOWN_ANSWERS: lambda request: _reply(request, _context(request).known_answer),
        }[request.model]
        return answer(request)


def _reference(request: ChatRequest) -> ChatReply:
    """The reference answer, with the expected tool calls until the conversation contains a tool result."""
    context = _context(request)
    if any(message.get("role") == "tool" for message in request.messages):
        return _reply(request, context.expected_output)
    calls = []
    for number, tool in enumerate(context.expected_tools):
        arguments = dict(tool.get("args") or {})
        calls.append(ToolCall(f"call_{number}", str(tool["name"]), arguments, orjson.dumps(arguments).decode()))
    return _reply(request, context.expected_output, tuple(calls))


def _solved(request: ChatRequest) -> ChatReply:
    """The solver's answer to the text of the last user message, without its images; a refusal if it has none."""
    contents = [message.get("content") for message in request.messages if message.get("role") == "user"]
    content = contents[-1] if contents else ""
    if not isinstance(content, str):
        content = "\n".join(part["text"] for part in content or () if part.get("type") == "text")
    try:
        return _reply(request, solve(content))
    except Unsolvable:
        return _reply(request, "", refusal="the prompt's text does not determine the answer")


def _reply(request: ChatRequest, text: str, calls: tuple[ToolCall, ...] = (), refusal: str | None = None) -> ChatReply:
    reason = "tool_calls" if calls else "stop"
    return ChatReply(text, calls, reason, refusal, tokens_in=0, tokens_out=0, model=request.model)


def _context(request: ChatRequest) -> BaselineContext:
    if request.baseline is None:
        raise ProviderError("bad_request", "a baseline model needs the request's baseline context", systemic=True)
    return request.baseline


def _random_choice(context: BaselineContext) -> str:
    if not context.choices:
        raise ProviderError("bad_request", "the random baseline needs at least one choice", systemic=True)
    # Sorted, so that the pick does not depend on the order in which a database returns the choices.
    return random.Random(context.salt).choice(sorted(context.choices))
