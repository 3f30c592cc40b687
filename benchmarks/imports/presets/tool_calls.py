"""BFCL: functions offered to the model, and the calls it should make."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice, product
from typing import Any

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.fields import TOOL_NAME
from benchmarks.imports.presets.base import Cells, LeftOutError, Preset, Task, labels
from benchmarks.imports.runs import ImportProblem
from benchmarks.metrics.json_match import same_json

_MISSING = object()
_TYPES = {"dict": "object", "float": "number", "tuple": "array", "list": "array", "bool": "boolean", "int": "integer"}
_ANY = ("any", "Any")
_KEYWORDS = frozenset({"type", "description", "properties", "required", "items", "enum", "minItems", "maxItems"})


def _bfcl(cells: Cells) -> Task:
    turns = cells.items("question")
    messages = turns[0] if len(turns) == 1 and isinstance(turns[0], list) else turns
    texts = [message.get("content") if isinstance(message, dict) else None for message in messages]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise ImportProblem("question: expected messages with texts")
    if len(messages) != 1:
        question: Task = {"messages": [{"role": each["role"], "content": each["content"]} for each in messages]}
    else:
        question = {"input": str(texts[0])}
    tools = [_tool(function) for function in cells.items("function")]
    required = {tool["function"]["name"]: tool["function"]["parameters"].get("required", []) for tool in tools}
    calls = [_call(call, required) for call in cells.items("ground_truth")]
    return {
        "id": cells.text("id"),
        "title": str(texts[-1]),
        **question,
        "expected_output": "",
        "tools": tools,
        "expected_tools": calls,
        "metadata": labels(category=cells.config.replace("_", " ")),
    }


def _tool(function: Any) -> dict[str, Any]:
    if not isinstance(function, dict) or not isinstance(function.get("parameters"), dict):
        raise ImportProblem("function: expected name, description and parameters")
    return {
        "type": "function",
        "function": {
            "name": _name(function.get("name")),
            "description": str(function.get("description", "")),
            "parameters": _schema(function["parameters"], 0),
        },
    }


def _name(name: Any) -> str:
    """Providers allow no dots in names of functions; BFCL replaces them too."""
    plain = name.replace(".", "_") if isinstance(name, str) else ""
    if not re.fullmatch(TOOL_NAME, plain):
        raise ImportProblem(f"the function {str(name)[:80]!r} has a name that providers do not accept")
    return plain


def _schema(schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
    """Python's names of types as JSON Schema has them; other keywords, such as ``default``, are descriptions."""
    if depth > 20:
        raise LeftOutError("whose functions nest too deeply")
    kept = {key: value for key, value in schema.items() if key in _KEYWORDS and value is not None}
    kind = kept.get("type")
    if kind in _ANY or not isinstance(kind, str):
        kept.pop("type", None)
    else:
        kept["type"] = _TYPES.get(kind, kind)
    if isinstance(kept.get("properties"), dict):
        kept["properties"] = {
            name: _schema(value, depth + 1) for name, value in kept["properties"].items() if isinstance(value, dict)
        }
    if isinstance(kept.get("items"), dict):
        kept["items"] = _schema(kept["items"], depth + 1)
    return kept


def _call(call: Any, required: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(call, dict) or len(call) != 1:
        raise ImportProblem("ground_truth: expected a function with its arguments")
    (name, arguments), *_ = call.items()
    if not isinstance(arguments, dict) or not all(isinstance(values, list) and values for values in arguments.values()):
        raise ImportProblem("ground_truth: expected a list of accepted values for each argument")
    name = _name(name)
    args, others = {}, {}
    for key, values in arguments.items():
        first, *more = _accepted(values)
        # An argument for which "" is accepted may be missing.
        if "" in values and key not in required.get(name, ()):
            others[key] = [first, *more]
        else:
            args[key] = first
            others |= {key: more} if more else {}
    return {"name": name, "args": args, **({"accept": others} if others else {})}


def _accepted(values: list[Any]) -> list[Any]:
    """The different accepted values, at most ``MAX_ANSWERS``; "", which stands for a missing argument, only alone."""
    accepted: list[Any] = []
    for value in [value for value in values if value != ""] or [""]:
        accepted += [plain for plain in _plain(value) if not any(same_json(plain, each) for each in accepted)]
    return accepted[: limits.MAX_ANSWERS]


def _plain(value: Any) -> list[Any]:
    """All values that are accepted by one: inside an object, each key has a list of accepted values again."""
    if isinstance(value, list):
        return [list(each) for each in islice(product(*map(_plain, value)), limits.MAX_ANSWERS)]
    if not isinstance(value, dict):
        return [value]
    inner = {key: each if isinstance(each, list) and each else [each] for key, each in value.items()}
    choices = [
        [(key, plain) for each in accepted for plain in (_plain(each) if each != "" else [_MISSING])]
        for key, accepted in inner.items()
    ]
    combined = islice(product(*choices), limits.MAX_ANSWERS)
    return [{key: each for key, each in pairs if each is not _MISSING} for pairs in combined]


PRESETS = (
    Preset(
        name="bfcl",
        title="BFCL v3, single turn",
        about="Function calls: one or several, with one function or several to choose from.",
        repository="gorilla-llm/Berkeley-Function-Calling-Leaderboard",
        revision="61fc0608cfd831fcfbbaa676ebdfef0ed963eeda",
        license="Apache 2.0",
        path="BFCL_v3_{config}.json",
        answers_path="possible_answer/BFCL_v3_{config}.json",
        configs=("simple", "multiple", "parallel", "parallel_multiple"),
        size=1000,
        metrics=("tool_calls_any_order",),
        difference=(
            "not in the harness; unlike in BFCL's own check, texts are compared with case and punctuation, and calls "
            "that are partly right score in part"
        ),
        task=_bfcl,
        group="category",
    ),
)
