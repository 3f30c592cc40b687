"""Kinds whose content is written in another language: Python, regular expressions, JSON Schema, function tools.

The content is parsed, never run: Python only to a syntax tree, a pattern only compiled, a schema only compared with
its metaschema. References of a schema to other documents are refused, so nothing is ever fetched for it.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import best_match
from jsonschema.validators import validator_for

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.kinds import Choice, JsonObject, Kind, Text
from benchmarks.dataset_format.problems import Fault, Path, printable, quoted
from benchmarks.dataset_format.records import Record, key

_REGEX_FORMAT = FormatChecker(formats=["regex"])
_HOLDS_NO_SCHEMAS = frozenset({"const", "default", "enum", "examples"})


@dataclass(frozen=True, slots=True)
class PythonSource(Text):
    """Python source that parses."""

    max_length: int | None = limits.MAX_TESTS
    label: str = "Python source"

    def text_faults(self, text: str, path: Path) -> Iterator[Fault]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about odd escapes and the like, which are no mistakes
                ast.parse(text)
        except SyntaxError as error:
            line = error.lineno or 1
            yield Fault(path, f"is no Python: {printable(error.msg)} in its line {line}", inner_line=line)
        except (RecursionError, MemoryError, ValueError):  # what the parser raises for absurdly nested code
            yield Fault(path, "is no Python that can be parsed: it is nested too deeply")


@dataclass(frozen=True, slots=True)
class RegexSource(Text):
    """A regular expression in the syntax of Python's ``re``."""

    max_length: int | None = limits.MAX_PATTERN
    label: str = "a regular expression"

    def text_faults(self, text: str, path: Path) -> Iterator[Fault]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                re.compile(text)
        except re.error as error:
            at = "" if error.pos is None else f" at character {error.pos + 1}"
            yield Fault(path, f"is no regular expression: {printable(error.msg)}{at}; put \\ before a literal sign")
        except (RecursionError, OverflowError, MemoryError):
            yield Fault(path, "is no regular expression that can be compiled: it repeats or nests too much")


@dataclass(frozen=True, slots=True)
class JsonSchema(JsonObject):
    """A JSON Schema (draft 2020-12 unless ``$schema`` says otherwise) that refers to nothing outside itself."""

    label: str = "a JSON Schema"

    def faults(self, value: object, path: Path) -> Iterator[Fault]:
        clean = True
        for fault in JsonObject.faults(self, value, path):
            clean = False
            yield fault
        if clean and isinstance(value, Mapping):
            yield from self.schema_faults(value, path)

    def schema_faults(self, schema: Mapping[str, Any], path: Path) -> Iterator[Fault]:
        if _count_nodes(schema) > limits.MAX_SCHEMA_NODES:
            yield Fault(path, f"is too large a schema: at most {limits.MAX_SCHEMA_NODES:,} values are allowed")
            return
        if fault := _metaschema_fault(schema, path):
            yield fault
        yield from _reference_faults(schema, schema, path)

    def schema(self) -> dict[str, Any]:
        return {"$ref": Draft202012Validator.META_SCHEMA["$id"]}


def _count_nodes(value: object) -> int:
    match value:
        case Mapping():
            return 1 + sum(map(_count_nodes, value.values()))
        case list() | tuple():
            return 1 + sum(map(_count_nodes, value))
    return 1


def _metaschema_fault(schema: Mapping[str, Any], path: Path) -> Fault | None:
    validator = validator_for(schema, default=Draft202012Validator)
    try:
        error = best_match(validator(validator.META_SCHEMA, format_checker=_REGEX_FORMAT).iter_errors(schema))
    except RecursionError:
        return Fault(path, "is nested too deeply for a schema: flatten it")
    if error is None:
        return None
    return Fault((*path, *error.absolute_path), f"is no JSON Schema: {printable(error.message)}")


def _reference_faults(part: object, schema: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    if isinstance(part, list | tuple):
        for index, item in enumerate(part):
            yield from _reference_faults(item, schema, (*path, index))
    elif isinstance(part, Mapping):
        for name, item in part.items():
            if name in ("$ref", "$dynamicRef") and isinstance(item, str):
                yield from _reference_fault(item, schema, (*path, name))
            elif name not in _HOLDS_NO_SCHEMAS:
                yield from _reference_faults(item, schema, (*path, name))


def _reference_fault(reference: str, schema: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    if not reference.startswith("#"):
        yield Fault(path, f"{quoted(reference)} is outside the schema: put it into $defs and refer to #/$defs/…")
    elif reference.startswith("#/") and not _leads_somewhere(reference, schema):
        yield Fault(path, f"{quoted(reference)} leads nowhere in the schema")


def _leads_somewhere(pointer: str, schema: Mapping[str, Any]) -> bool:
    part: object = schema
    for step in pointer[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(part, Mapping) and name in part:
            part = part[name]
        elif isinstance(part, list | tuple) and name.isdecimal() and int(name[:9]) < len(part):
            part = part[int(name[:9])]
        else:
            return False
    return True


@dataclass(frozen=True, slots=True)
class Parameters(JsonSchema):
    """The arguments of a function: a schema of type object, or an empty mapping for a function without any."""

    label: str = "a JSON Schema of type object"

    def schema_faults(self, schema: Mapping[str, Any], path: Path) -> Iterator[Fault]:
        if schema and schema.get("type") != "object":
            where = (*path, "type") if "type" in schema else path
            yield Fault(where, "must be a schema of `type: object`, with the arguments under `properties`")
        else:
            yield from JsonSchema.schema_faults(self, schema, path)


@dataclass(frozen=True, slots=True)
class Boolean(Kind):
    label: str = "true or false"

    def faults(self, value: object, path: Path) -> Iterator[Fault]:
        if not isinstance(value, bool):
            yield self.mismatch(value, path)

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


TOOL_NAME = Text(
    one_line=True,
    pattern=r"[A-Za-z0-9_-]{1,64}",
    pattern_means="1 to 64 letters, digits, _ or -, which is what model providers accept",
    label="a tool's name",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFunction:
    name: str = key(TOOL_NAME, "Name of the function")
    description: str = key(Text(blank=True), "What it does, as the model is told", default="")
    parameters: Mapping[str, Any] = key(
        Parameters(), "JSON Schema of its arguments", default_factory=dict, also=("args", "arguments", "input_schema")
    )
    strict: bool = key(Boolean(), "Whether the provider must hold the model to the schema", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSchema:
    type: str = key(Choice(("function",)), "Always `function`")
    function: Mapping[str, Any] = key(
        Record(ToolFunction, "a mapping with the function's name, description and parameters"), "The function"
    )


@dataclass(frozen=True, slots=True)
class Tool(Record):
    """A function a model may call, as OpenAI's chat API takes it; it stays the mapping that is sent."""

    record: type = ToolSchema
    label: str = "a function tool, {type: function, function: {name, description, parameters}}"
    stays_mapping: bool = True

    def faults(self, value: object, path: Path) -> Iterator[Fault]:
        if isinstance(value, Mapping) and "name" in value and "function" not in value:
            yield Fault(path, f"is not wrapped: write {self.label.partition(', ')[2]}")
        else:
            yield from Record.faults(self, value, path)
