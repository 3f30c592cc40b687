"""Rows of datasets that other tools export, and of their traces, with the columns that a table of ours has.

Phoenix: CSV with ``example_id``, ``input_…``, ``output_…``, ``metadata_…``. Langfuse: items of a dataset as CSV, JSON
or JSON Lines. Traces: OTLP in JSON, with spans of the conventions for generative AI. Rows of OpenAI evals and for
fine-tuning have a conversation in a column (``conversation``), and are tables like others.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.json_fields import LABEL_KEY
from benchmarks.dataset_format.problems import printable
from benchmarks.imports.chats import content_of
from benchmarks.imports.runs import ImportProblem
from benchmarks.imports.tables import Row
from benchmarks.providers.clean_text import storable

INPUTS = ("input", "question", "query", "prompt", "text", "content", "message")
OUTPUTS = ("output", "answer", "expected", "expected_output", "response", "text", "content", "label")
"""Keys of an input or a reference that is an object: its text is at the first of them, or at its only key."""
MAX_LITERAL = 200_000
"""Characters of a value in Python's notation, which takes many times as much memory to read."""
_SYSTEM_ROLES = ("system", "developer")
_SHAREGPT = {"human": "user", "gpt": "assistant"}


def of_tools(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows with the columns ``id``, ``input`` and ``expected_output``, and what else the task has, if the first one
    is of another tool; otherwise as they are."""
    rows = iter(rows)
    first = next((row for row in rows), None)
    if first is None:
        return
    convert = _converter(first.values)
    for row in chain([first], rows):
        if convert is None or row.problem:
            yield row
            continue
        try:
            for values in convert(row.values):
                yield _row(row.line, values)
        except ImportProblem as problem:
            yield Row(row.line, {}, str(problem))
        except RecursionError:
            yield Row(row.line, {}, "the row is nested too deeply")


def _row(line: int, task: dict[str, Any]) -> Row:
    """The fields of a task that are columns of a table, with what the tool has besides (``left``), and the others."""
    columns = {name: task.pop(name, "") for name in ("id", "input")}
    left = task.pop("left", {})
    expected = task.pop("expected_output")
    if isinstance(expected, list):
        task["expected_output"] = expected
    return Row(line, {**columns, "expected_output": "" if isinstance(expected, list) else expected, **left}, "", task)


def _converter(names: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], Iterator[dict[str, Any]]] | None:
    if "resourceSpans" in names:
        return _spans
    if "expectedOutput" in names and names.keys() & {"datasetName", "datasetId", "sourceTraceId"}:
        return _langfuse_item
    if "example_id" in names and any(name.startswith("input_") for name in names):
        return _phoenix_example
    return None


def conversation(value: Any) -> list[Mapping[str, Any]] | None:
    """The messages in a cell, also as JSON or Python text and in the form of ShareGPT; ``None`` if it has none."""
    messages = _parsed(value)
    if not isinstance(messages, list):
        return None
    if all(isinstance(each, Mapping) and isinstance(each.get("from"), str) for each in messages):
        said = ((each["from"], each.get("value")) for each in messages)
        messages = [{"role": _SHAREGPT.get(role, role), "content": content} for role, content in said]
    return messages if all(_role(message) for message in messages) else None


def asked(messages: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], str]:
    """``input`` or ``messages`` of a task, and the reply of the assistant at the end, which is not asked."""
    reply = ""
    if messages and _role(messages[-1]) == "assistant":
        *messages, last = messages
        reply = _text_of(last.get("content"))
    return _asked(messages), reply


def ends_with_reply(value: Any) -> bool:
    """Whether a cell has a conversation whose last message is the assistant's."""
    messages = conversation(value)
    return messages is not None and bool(messages) and _role(messages[-1]) == "assistant"


def _langfuse_item(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """An item of a dataset. Archived items are left out, as Langfuse leaves them out of its runs."""
    if row.get("status") == "ARCHIVED":
        return
    given = {name: _parsed(row.get(name)) for name in ("input", "expectedOutput", "metadata")}
    yield {
        "id": row.get("id"),
        **_asked(given["input"]),
        "expected_output": _reference(given["expectedOutput"]),
        **_labels(given["metadata"]),
        "left": {
            **{name: value for name, value in row.items() if name not in (*given, "id", "status")},
            **_not_labels(given["metadata"]),
        },
    }


def _phoenix_example(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """An example as Phoenix writes it to CSV: nested values are as Python writes them."""

    def below(prefix: str) -> dict[str, Any]:
        cells = {name.removeprefix(prefix): value for name, value in row.items() if name.startswith(prefix)}
        return {name: _parsed(value) for name, value in cells.items() if value not in (None, "")}

    yield {
        "id": row.get("example_id"),
        **_asked(below("input_")),
        "expected_output": _reference(below("output_")),
        **_labels(below("metadata_")),
        "left": {
            **{
                name: value
                for name, value in row.items()
                if not name.startswith(("input_", "output_", "metadata_")) and name != "example_id"
            },
            **_not_labels(below("metadata_")),
        },
    }


def _spans(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The requests to models in traces, each with what the model answered as the reference."""
    for resource in _list(document.get("resourceSpans")):
        for scope in _list(resource.get("scopeSpans")):
            for span in _list(scope.get("spans")):
                yield from _span(span)


def _span(span: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    attributes = _attributes(span)
    events = {str(event.get("name")): _attributes(event) for event in _list(span.get("events"))}
    question = _first(
        attributes.get("gen_ai.input.messages"),
        events.get("gen_ai.client.inference.operation.details", {}).get("gen_ai.input.messages"),
        events.get("gen_ai.content.prompt", {}).get("gen_ai.prompt"),
        _numbered(attributes, "gen_ai.prompt"),
        attributes.get("gen_ai.prompt"),
    )
    if question is None:
        return  # a span of something else, such as a tool or a database
    answered = _first(
        attributes.get("gen_ai.output.messages"),
        events.get("gen_ai.client.inference.operation.details", {}).get("gen_ai.output.messages"),
        events.get("gen_ai.content.completion", {}).get("gen_ai.completion"),
        _numbered(attributes, "gen_ai.completion"),
        attributes.get("gen_ai.completion"),
    )
    instructions = _first(attributes.get("gen_ai.system_instructions"))
    messages = question if isinstance(question, list) else [{"role": "user", "content": question}]
    if instructions is not None:
        messages = [{"role": "system", "parts": instructions}, *messages]
    answers = _list(answered)
    yield {
        "id": "-".join(str(part) for part in (span.get("traceId"), span.get("spanId")) if part),
        **_asked(messages),
        "expected_output": _text_of(_content(answers[-1]))
        if answers
        else answered
        if isinstance(answered, str)
        else "",
        **_labels({"model": attributes.get("gen_ai.request.model"), "span": span.get("name")}),
    }


def _attributes(owner: Mapping[str, Any]) -> dict[str, Any]:
    """Name → value of OTLP's list of attributes."""
    return {str(each.get("key")): _any_value(each.get("value")) for each in _list(owner.get("attributes"))}


def _any_value(value: Any) -> Any:
    """The plain value of an ``AnyValue`` of OTLP's JSON encoding."""
    if not isinstance(value, Mapping):
        return None
    if isinstance(items := value.get("arrayValue"), Mapping):
        return [_any_value(item) for item in _list(items.get("values"), of=object)]
    if isinstance(members := value.get("kvlistValue"), Mapping):
        return {str(each.get("key")): _any_value(each.get("value")) for each in _list(members.get("values"))}
    return next(
        (value[name] for name in ("stringValue", "intValue", "doubleValue", "boolValue") if name in value), None
    )


def _numbered(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]] | None:
    """Messages in attributes such as ``gen_ai.prompt.0.role``, as OpenLLMetry writes them."""
    messages: list[dict[str, Any]] = []
    while len(messages) < limits.MAX_MESSAGES and f"{prefix}.{len(messages)}.content" in attributes:
        at = f"{prefix}.{len(messages)}"
        messages.append({"role": attributes.get(f"{at}.role", "user"), "content": attributes[f"{at}.content"]})
    return messages or None


def _first(*given: Any) -> Any:
    """The first that is there; text that is a JSON list or object is read."""
    return next((_parsed(value) for value in given if value not in (None, "", [])), None)


def _list(value: Any, of: Any = Mapping) -> list[Any]:
    """The items of a list that are of a kind; none if it is not a list."""
    return [item for item in value if isinstance(item, of)] if isinstance(value, list) else []


def _parsed(value: Any) -> Any:
    """A cell that is text with a JSON or Python list or object, read; anything else as it is."""
    if not isinstance(value, str) or value[:1] not in ("{", "[", '"'):
        return value
    for read in (json.loads, ast.literal_eval)[: 2 if len(value) <= MAX_LITERAL else 1]:
        try:
            return read(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return value


def _asked(given: Any) -> dict[str, Any]:
    """``messages`` of a conversation, ``input`` of a single question."""
    if isinstance(given, Mapping):
        given = given["messages"] if isinstance(given.get("messages"), list) else _inner(given, INPUTS)
    if not (isinstance(given, list) and given and all(_role(message) for message in given)):
        return {"input": _text_of(given)}
    messages = [_message(message) for message in given]
    if len(messages) == 1 and messages[0]["role"] == "user" and isinstance(messages[0]["content"], str):
        return {"input": messages[0]["content"]}
    systems = [message["content"] for message in messages if message["role"] == "system"]
    others = [message for message in messages if message["role"] != "system"]
    joined = [{"role": "system", "content": "\n\n".join(systems)}] if systems else []
    return {"messages": [*joined, *others]}


def _role(message: Any) -> str:
    role = message.get("role") if isinstance(message, Mapping) else None
    return role if isinstance(role, str) else ""


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    role = _role(message)
    if role in ("tool", "function") or message.get("tool_calls"):
        raise ImportProblem("the conversation has calls of tools, which messages of a task cannot have. Leave it out")
    content = _content(message)
    parts = content_of(content) if isinstance(content, list) else None
    has_image = role == "user" and parts is not None and any("image" in part for part in parts)
    return {"role": "system" if role in _SYSTEM_ROLES else role, "content": parts if has_image else _text_of(content)}


def _content(message: Mapping[str, Any]) -> Any:
    return message["parts"] if "parts" in message else message.get("content")


def _text_of(value: Any) -> str:
    """Text as it is, the texts of a message's parts together, anything else as JSON."""
    if isinstance(value, str):
        return storable(value, [])
    if value is None or value == []:
        return ""
    if isinstance(value, list) and all(isinstance(part, Mapping) and "type" in part for part in value):
        texts = [part.get("text", part.get("content")) for part in value if part["type"] in ("text", "input_text")]
        if len(texts) < len(value):
            kinds = ", ".join(sorted({printable(str(part["type"])) for part in value}))
            raise ImportProblem(f"the message has parts that are not text ({kinds}). Leave it out")
        return "\n".join(_text_of(text) for text in texts)
    return storable(json.dumps(value, ensure_ascii=False), [])


def _inner(given: Mapping[str, Any], names: Sequence[str]) -> Any:
    """The value of an object with one key, or at the first of the names that it has; the object itself otherwise."""
    if len(given) == 1:
        return next(iter(given.values()))
    inner = next((given[name] for name in names if name in given), None)
    return given if inner is None else inner


def _reference(given: Any) -> Any:
    """The text of a reference; several accepted texts as a list."""
    if isinstance(given, Mapping):
        messages = given.get("messages")
        given = messages if isinstance(messages, list) else _inner(given, OUTPUTS)
    if isinstance(given, list) and given and all(_role(message) for message in given):
        given = _content(given[-1])
    elif isinstance(given, Mapping) and _role(given):
        given = _content(given)
    if isinstance(given, list) and given and all(isinstance(text, str) for text in given):
        return given
    return _text_of(given)


def _labels(given: Any) -> dict[str, Any]:
    """``metadata`` and ``tags``: short texts in one line, numbers and switches, which are what tasks can have."""
    if not isinstance(given, Mapping):
        return {}
    short = {name: value for name, value in given.items() if _is_label(name, value)}
    tags = [tag for tag in _list(given.get("tags"), of=str) if _is_short(tag)]
    return {
        "metadata": dict(list(short.items())[: limits.MAX_LABELS]),
        "tags": list(dict.fromkeys(tags))[: limits.MAX_LABELS],
    }


def _not_labels(given: Any) -> dict[str, Any]:
    """What of the metadata no task can have, as columns that the import shows."""
    if not isinstance(given, Mapping):
        return {} if given in (None, "") else {"metadata": given}
    return {f"metadata.{name}": value for name, value in given.items() if name != "tags" and not _is_label(name, value)}


def _is_label(name: object, value: Any) -> bool:
    if not isinstance(name, str) or name == "tags" or not re.fullmatch(LABEL_KEY, name):
        return False
    return isinstance(value, bool | int | float) or _is_short(value)


def _is_short(value: Any) -> bool:
    return (
        isinstance(value, str) and 0 < len(value) <= limits.MAX_LABEL and value.isprintable() and value == value.strip()
    )
