"""What the loopback endpoint answers: scripted replies, or deterministic ones made from the request alone."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from tests.loopback.faults import Fault


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as a script sees it. ``attempt`` counts from 1 the times this same question was asked."""

    prompt: str
    body: Mapping[str, Any]
    attempt: int

    @property
    def after_tools(self) -> bool:
        """Whether the conversation already holds a tool's result."""
        return any(message.get("role") == "tool" for message in self.body["messages"])


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. ``tool_calls`` are pairs of a name and its arguments as text, which need not be JSON."""

    text: str | None = ""
    tool_calls: Sequence[tuple[str, str]] = ()
    finish_reason: str = "stop"
    refusal: str | None = None
    reasoning: str | None = None
    reports_usage: bool = True
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    fingerprint: str | None = None


Script = Callable[[Asked], Reply | Fault | str | None] | Mapping[str, Reply | Fault | str]
"""A function or a table by prompt; ``None`` or a missing prompt means the default answer."""


def scripted(script: Script | None, asked: Asked) -> Reply | Fault:
    """The script's reply to a request, else the default one."""
    reply: Reply | Fault | str | None = None
    if isinstance(script, Mapping):
        reply = script.get(asked.prompt)
    elif script is not None:
        reply = script(asked)
    if reply is None:
        return default_reply(asked)
    return Reply(reply) if isinstance(reply, str) else reply


def default_reply(asked: Asked) -> Reply:
    """A reply that depends on the request alone: a tool call, JSON of the wanted form, a judge's verdict, or a text."""
    tools = asked.body.get("tools")
    if tools and not asked.after_tools:
        return Reply(None, [_call_to(_tool_for(asked.prompt, tools))], "tool_calls")
    schema = _wanted_schema(asked.body.get("response_format"))
    if schema is not None:
        return Reply(orjson.dumps(example_of(schema, number_from(asked.prompt))).decode())
    if "json" in asked.prompt.lower():
        return Reply(_judge_reply(asked.prompt))
    return Reply(f"Answer {number_from(asked.prompt)}")


def number_from(prompt: str) -> int:
    """0 to 999,999, the same for the same prompt on every machine."""
    return int.from_bytes(hashlib.blake2b(prompt.encode("utf-8", "replace"), digest_size=4).digest()) % 1_000_000


def example_of(schema: Mapping[str, Any], number: int) -> Any:
    """A value that fits a JSON schema of common form; numbers are within the bounds, 0 to 10 where there are none."""
    if schema.get("enum"):
        return schema["enum"][number % len(schema["enum"])]
    kind = schema.get("type")
    kind = str(kind[0] if isinstance(kind, list) and kind else kind)
    if kind == "object":
        return {key: example_of(value, number) for key, value in schema.get("properties", {}).items()}
    if kind == "array":
        return [example_of(schema.get("items", {}), number + i) for i in range(schema.get("minItems", 1))]
    scalars = {
        "integer": _number_within(schema, number),
        "number": float(_number_within(schema, number)),
        "boolean": number % 2 == 0,
        "null": None,
    }
    return scalars.get(kind, f"text {number}")


def completion(reply: Reply, model: str, number: int, prompt: str) -> dict[str, Any]:
    """A whole ``chat.completion`` document. Tokens are counted as a quarter of the characters, at least one."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.tool_calls:
        message["tool_calls"] = [
            {"id": f"call_{number}_{i}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for i, (name, arguments) in enumerate(reply.tool_calls)
        ]
    if reply.refusal is not None:
        message["refusal"] = reply.refusal
    if reply.reasoning is not None:
        message["reasoning_content"] = reply.reasoning
    tokens_in, tokens_out = max(1, len(prompt) // 4), max(1, len(reply.text or "") // 4)
    tokens_out += reply.reasoning_tokens or 0
    usage: dict[str, Any] = {
        "prompt_tokens": tokens_in,
        "completion_tokens": tokens_out,
        "total_tokens": tokens_in + tokens_out,
    }
    if reply.reasoning_tokens is not None:
        usage["completion_tokens_details"] = {"reasoning_tokens": reply.reasoning_tokens}
    if reply.cached_tokens is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": reply.cached_tokens}
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish_reason}],
        "usage": usage if reply.reports_usage else None,
        **({"system_fingerprint": reply.fingerprint} if reply.fingerprint else {}),
    }


def chunks(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The events of a streamed reply: thinking, then the text word by word, tool calls, the finish reason, usage."""
    choice = document["choices"][0]
    message = choice["message"]
    deltas = [{"role": "assistant"}]
    if "reasoning_content" in message:
        deltas.append({"reasoning_content": message["reasoning_content"]})
    deltas += [{"content": word} for word in re.findall(r"\s*\S+\s*$|\s*\S+", message["content"] or "")]
    deltas += [{name: message[name]} for name in ("refusal",) if name in message]
    calls = message.get("tool_calls", ())
    deltas += [{"tool_calls": [{"index": place, **call}]} for place, call in enumerate(calls)]
    frame = {"id": document["id"], "object": "chat.completion.chunk", "model": document["model"]}
    frame |= {name: document[name] for name in ("system_fingerprint",) if name in document}
    for delta in deltas:
        yield {**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    yield {**frame, "choices": [], "usage": document["usage"]}


def _number_within(schema: Mapping[str, Any], number: int) -> int:
    low = schema.get("minimum", 0)
    high = schema.get("maximum", low + 10)
    return int(low + number % (int(high - low) + 1))


def _wanted_schema(response_format: Any) -> Mapping[str, Any] | None:
    if not isinstance(response_format, Mapping) or response_format.get("type") != "json_schema":
        return None
    wanted = response_format.get("json_schema", {}).get("schema")
    return wanted if isinstance(wanted, Mapping) else None


def _tool_for(prompt: str, tools: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The offered tool that the prompt names, else the first."""
    functions: list[Mapping[str, Any]] = [tool["function"] for tool in tools]
    return next((function for function in functions if function["name"] in prompt), functions[0])


def _call_to(function: Mapping[str, Any]) -> tuple[str, str]:
    arguments = example_of(function.get("parameters") or {"type": "object"}, number_from(function["name"]))
    return function["name"], orjson.dumps(arguments).decode()


def _judge_reply(prompt: str) -> str:
    """A judge's reply to a wish for JSON in words: evaluation steps where it names them, else a score with a reason."""
    if '"steps"' in prompt:
        return '{"steps": ["Read the expected answer.", "Compare the facts.", "Give a score."]}'
    score = number_from(prompt) % 11
    return orjson.dumps({"score": score, "reason": f"The answer agrees in {score} of 10 points."}).decode()
