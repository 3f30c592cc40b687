"""Turn the bytes of a chat completion into a ``ChatReply``. The bytes are hostile; only ``ProviderError`` is raised."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Unpack

import orjson

from benchmarks.providers.base import ChatReply, ListedModel, ProviderError, Times, ToolCall
from benchmarks.providers.clean_text import full_sentence, shortened, storable, storable_json
from benchmarks.providers.listed_prices import price_in_list

_BOM = "\ufeff"
_MOST_TOKENS = 2**31 - 1
"""More than any model can use, and the largest integer of the database column."""
_LONGEST_NAME = 200
_MOST_MODELS = 2_000
_LONGEST_CONTEXT = 10**9
_CONTEXT_FIELDS = ("context_length", "max_model_len", "context_window", "max_context_length", "inputTokenLimit")
"""What vendors call the context window in their lists: OpenRouter, vLLM, Groq, Mistral, Gemini."""
_THINKING_BEGINS = re.compile(r"\s*<(?:think|thinking)>", re.IGNORECASE)
_THINKING_ENDS = re.compile(r"</(?:think|thinking)>", re.IGNORECASE)
_FINISH_REASONS = {
    **dict.fromkeys(("eos", "eos_token", "stop_sequence"), "stop"),
    **dict.fromkeys(("model_length", "max_tokens"), "length"),
    **dict.fromkeys(("safety", "recitation", "blocklist", "prohibited_content", "spii"), "content_filter"),
}
"""What Together, TGI, Mistral and Gemini say, in lower case → OpenAI's word for it."""
_BROKEN_OFF = frozenset({"error", "abort"})
"""Finish reasons of an answer that the endpoint did not complete: Mistral, Together, OpenRouter, vLLM, SGLang."""
_RETURNED_FIELDS = ("reasoning_content", "reasoning_details", "thinking_blocks", "reasoning_items")
CUT_OFF_WHILE_THINKING = (
    "The model reached the limit of output tokens while it was thinking, so there is no answer. Raise max_tokens."
)


class Usage(NamedTuple):
    """Token counts of one reply; ``None`` is not reported."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None


def parse_json(body: bytes | str, *, with_nan: bool = False) -> Any:
    """Strict JSON, except for lone surrogates, a byte order mark and bytes that are not UTF-8, which occur in otherwise
    good answers, the last as ``surrogateescape`` decodes them, which ``storable`` notes; ``with_nan`` also accepts NaN
    and infinities, as some servers count tokens.

    Raises ``ValueError`` if it is not JSON, nests too deeply, or contains NaN or infinities.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        text = body.decode("utf-8", "surrogateescape") if isinstance(body, bytes) else body
    try:
        return json.loads(text.removeprefix(_BOM), parse_constant=None if with_nan else _refuse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_reply(body: bytes, chat_completion: Callable[[Any], Any], **times: Unpack[Times]) -> ChatReply:
    """The answer in a body with status 200, which ``chat_completion`` brings into OpenAI's form; ``times`` are the
    durations of a ``ChatReply``.

    Raises ``ProviderError`` (``bad_response``) if there is none.
    """
    try:
        document = parse_json(body, with_nan=True)
    except ValueError:
        raise bad_response(f"is not valid JSON: {_sketch(body)}") from None
    return reply_from(chat_completion(document), **times)


def reply_from(document: Any, **times: Unpack[Times]) -> ChatReply:
    """The answer in a decoded ``chat.completion``. Null content is an empty answer; no choice is an error."""
    message, finish_reason = _first_choice(document)
    notes: list[str] = []
    usage = read_usage(document.get("usage"), notes)
    text, thinking = _split_thinking(_text(message.get("content"), notes))
    thoughts = (*_thoughts(message, notes), thinking)
    reasoning = "\n\n".join(thought for thought in thoughts if thought) or None
    refusal = _optional_text(message.get("refusal"), notes)
    calls = message.get("tool_calls")
    calls = calls if isinstance(calls, list) else []
    if finish_reason == "length" and not (text.strip() or refusal or calls) and (reasoning or usage.reasoning_tokens):
        notes.append(CUT_OFF_WHILE_THINKING)
    return ChatReply(
        text=text,
        tool_calls=tuple(_tool_call(call, notes) for call in calls),
        finish_reason=finish_reason,
        refusal=refusal,
        reasoning=reasoning,
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        reasoning_tokens=usage.reasoning_tokens,
        cached_tokens=usage.cached_tokens,
        returned=_returned(message, _RETURNED_FIELDS) if calls else {},
        model=_name(document.get("model")),
        fingerprint=_name(document.get("system_fingerprint")),
        notes=tuple(notes),
        **times,
    )


def read_models(body: bytes) -> list[ListedModel]:
    """The models in the body of a list, sorted by name; entries without a usable name are left out.

    Lists are objects with ``data`` (OpenAI's form) or ``models``, or plain arrays. Raises ``ProviderError``
    (``bad_response``) for everything else.
    """
    try:
        document = parse_json(body)
    except ValueError:
        raise bad_response(f"is not valid JSON: {_sketch(body)}") from None
    entries = document
    if isinstance(document, dict):
        field = "data" if "data" in document else "models"
        # Ollama without a model sends null.
        entries = (document[field] or []) if field in document else None
    if not isinstance(entries, list):
        raise bad_response("is not a list of models")
    models = {}
    for entry in entries:
        name = (entry.get("id") or entry.get("name")) if isinstance(entry, dict) else None
        # A name that would have to be cut or changed is not one that a request can use.
        if isinstance(name, str) and name.isprintable() and name == name.strip() and 0 < len(name) <= _LONGEST_NAME:
            name = name.removeprefix("models/")  # Gemini's form
            context = next((entry[field] for field in _CONTEXT_FIELDS if field in entry), None)
            known = isinstance(context, int) and 0 < context <= _LONGEST_CONTEXT
            models[name] = ListedModel(name, context if known else None, price_in_list(entry.get("pricing")))
    return [models[name] for name in sorted(models)[:_MOST_MODELS]]


def _first_choice(document: Any) -> tuple[Mapping[str, object], str]:
    """Message and finish reason of the first choice."""
    if not isinstance(document, dict):
        raise bad_response(f"is a JSON {type(document).__name__}, not an object")
    choices = document.get("choices")
    if not isinstance(choices, list) or not choices:
        raise bad_response("has no choices")
    message = choices[0].get("message") if isinstance(choices[0], dict) else None
    if not isinstance(message, dict):
        raise bad_response("has a choice without a message")
    reason = _name(choices[0].get("finish_reason"))
    if reason in _BROKEN_OFF:
        raise bad_response("was broken off by the endpoint")
    return message, _FINISH_REASONS.get(reason.lower(), reason) or "stop"


def _text(content: Any, notes: list[str]) -> str:
    """Content as text. If it comes in parts, as from some vendors, the text parts are joined."""
    if content is None:
        return ""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        content = "".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str):
        raise bad_response(f"has content of type {type(content).__name__}")
    if content.startswith(_BOM):
        notes.append("a byte order mark at the beginning of the answer was removed")
    return storable(content.removeprefix(_BOM), notes)


def _thoughts(message: Mapping[str, object], notes: list[str]) -> list[str]:
    """Thinking that comes beside the answer: as a field, or as parts of the content (Mistral)."""
    thoughts = [_optional_text(message.get("reasoning_content") or message.get("reasoning"), notes)]
    content = message.get("content")
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and part.get("type") == "thinking":
            inner = part.get("thinking")
            thoughts.append(_text(inner, notes) if isinstance(inner, list | str) else None)
    return [thought for thought in thoughts if thought]


def _split_thinking(text: str) -> tuple[str, str]:
    """Answer and thinking of a text that begins with a ``<think>`` block, or holds the end of one that the chat
    template began. A block that does not end is all there is; tags later in an answer belong to it."""
    if "<" not in text:
        return text, ""
    opened = _THINKING_BEGINS.match(text)
    closed = _THINKING_ENDS.search(text, opened.end() if opened else 0)
    if opened and not closed:
        return "", text[opened.end() :].strip()
    if not closed or (not opened and _THINKING_BEGINS.search(text, 0, closed.start())):
        return text, ""
    return text[closed.end() :].lstrip(), text[opened.end() if opened else 0 : closed.start()].strip()


def _returned(source: Mapping[str, object], names: Sequence[str]) -> dict[str, object]:
    """The fields that a vendor demands back: DeepSeek its thinking, OpenRouter and Anthropic signed blocks, Gemini the
    signature of each call."""
    returned = {name: source[name] for name in names if source.get(name)}
    try:
        return storable_json(returned, []) if returned else returned
    except (ValueError, RecursionError):
        return {}


def _optional_text(value: Any, notes: list[str]) -> str | None:
    return storable(value, notes) if isinstance(value, str) and value else None


def _name(value: Any) -> str:
    return storable(value, [])[:_LONGEST_NAME] if isinstance(value, str) else ""


def _tool_call(call: Any, notes: list[str]) -> ToolCall:
    """One call; what cannot be parsed stays readable in ``raw_arguments``."""
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return ToolCall(id="", name="", arguments=None, raw_arguments=_as_json(call))
    given = function.get("arguments")
    raw = given if isinstance(given, str) else _as_json({} if given is None else given)
    return ToolCall(
        id=_name(call.get("id")),
        name=_name(function.get("name")),
        arguments=_arguments(raw, notes),
        raw_arguments=storable(raw, notes),
        returned=_returned(call, ("extra_content",)),
    )


def _as_json(value: Any) -> str:
    """The text of JSON that an endpoint sent in place of text; ASCII, so it is storable."""
    try:
        return json.dumps(value)
    except RecursionError:
        return "(nested too deeply to show)"


def _arguments(raw: str, notes: list[str]) -> dict[str, object] | None:
    """The arguments, or ``None`` if they are not a JSON object. Blank means none, as some endpoints send it."""
    if not raw.strip():
        return {}
    try:
        arguments = storable_json(parse_json(raw), notes)
    except (ValueError, RecursionError):
        return None
    return arguments if isinstance(arguments, dict) else None


def read_usage(usage: Any, notes: list[str]) -> Usage:
    """Token counts in OpenAI's form, or with the details beside them, as DeepSeek, Together, Moonshot and SGLang do.

    Some vendors (xAI, Gemini) count thinking in ``total_tokens`` but not in ``completion_tokens``. It is output and
    paid as such, so it is added.
    """
    if not isinstance(usage, dict):
        return Usage()
    tokens_in, tokens_out = _tokens(usage, "prompt_tokens", notes), _tokens(usage, "completion_tokens", notes)
    reasoning = _tokens(usage.get("completion_tokens_details"), "reasoning_tokens", notes)
    cached = _tokens(usage.get("prompt_tokens_details"), "cached_tokens", notes)
    if cached is None:
        cached = _tokens(
            usage, "prompt_cache_hit_tokens" if "prompt_cache_hit_tokens" in usage else "cached_tokens", notes
        )
    if reasoning is None:
        reasoning = _tokens(usage, "reasoning_tokens", notes)
    total = _tokens(usage, "total_tokens", notes)
    if tokens_in is not None and tokens_out is not None and total is not None:
        uncounted = total - tokens_in - tokens_out
        if uncounted > 0 and reasoning in (None, uncounted):
            tokens_out, reasoning = tokens_out + uncounted, uncounted
    # A part is never more than its whole: the price of the rest would be negative.
    return Usage(tokens_in, tokens_out, _at_most(reasoning, tokens_out), _at_most(cached, tokens_in))


def _at_most(part: int | None, whole: int | None) -> int | None:
    return None if part is None or whole is None else min(part, whole)


def _tokens(usage: Any, key: str, notes: list[str]) -> int | None:
    count = usage.get(key) if isinstance(usage, dict) else None
    if count is None:
        return None
    if type(count) is int and 0 <= count <= _MOST_TOKENS:
        return count
    notes.append(f"usage reports {key} as {shortened(repr(count), 40)}, which is not a token count")
    return None


def _sketch(body: bytes) -> str:
    """What a body that is not JSON seems to be."""
    if not body:
        return "empty"
    start = body[:200].lstrip().lower()
    if start.startswith((b"<!doctype", b"<html")):
        return "a web page. Check the base_url"
    return f"{len(body):,} bytes that break off or are malformed"


def bad_response(what: str) -> ProviderError:
    """The error that a reply with status 200 ``what``."""
    return ProviderError("bad_response", f"The response {full_sentence(what)}", status=200, retryable=True)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
