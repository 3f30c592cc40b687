"""What a dataset is. These records drive validation, the editors' JSON Schema, the documentation and the written YAML.

The docstring below a field is its description. Pydantic validates what comes from outside (``validation``); records
made in code or from the database are not validated again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import ConfigDict, Field, GetPydanticSchema, PlainSerializer, TypeAdapter, WrapValidator
from pydantic_core.core_schema import ValidatorFunctionWrapHandler

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.fields import (
    AnyText,
    Expects,
    JsonObject,
    JsonSchema,
    Name,
    Number,
    Parameters,
    PythonSource,
    Regex,
    Text,
    ToolName,
    list_of,
    mapping,
    text,
)
from benchmarks.dataset_format.problems import Fault, Invalid

Difficulty = Literal["easy", "medium", "hard"]
DIFFICULTIES: tuple[str, ...] = get_args(Difficulty)


class Record:
    """A mapping with the declared keys and no others."""

    __slots__ = ()
    __pydantic_config__ = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    synonyms: ClassVar[dict[str, tuple[str, ...]]] = {}
    """Key → words that authors use instead of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFunction(Record):
    """A function that a model may call."""

    synonyms: ClassVar = {"parameters": ("args", "arguments", "input_schema")}

    name: ToolName
    """Name of the function"""
    description: AnyText = ""
    """What it does, as the model is told"""
    parameters: Parameters = field(default_factory=dict)
    """JSON Schema of its arguments"""
    strict: Annotated[bool, Expects("true or false", (bool,))] = False
    """Whether the provider must make the model follow the schema"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Record):
    """A function tool in the format of OpenAI's chat API."""

    type: Annotated[Literal["function"], text("function")]
    """Always `function`"""
    function: Annotated[ToolFunction, mapping("a mapping with the function's name, description and parameters")]
    """The function"""


_TOOL_FORMAT = "{type: function, function: {name, description, parameters}}"


def _checked_tool(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """Validate a ``Tool``, but keep the mapping, because providers get it unchanged."""
    if isinstance(value, dict) and "name" in value and "function" not in value:
        raise Invalid(Fault((), f"is not wrapped: use {_TOOL_FORMAT}"))
    validate(value)
    return value


_CHECKED_TOOL = Annotated[Tool, WrapValidator(_checked_tool), PlainSerializer(dict)]
ToolMapping = Annotated[
    Mapping[str, Any],
    GetPydanticSchema(lambda source, handler: handler(_CHECKED_TOOL)),
    mapping(f"a function tool, {_TOOL_FORMAT}"),
]
Tools = Annotated[tuple[ToolMapping, ...], list_of("a list of function tools")]
ToolResults = Annotated[JsonObject, mapping("a mapping of tool names to results")]
Texts = Annotated[tuple[Text, ...], list_of("a list of texts")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse(Record):
    """A tool call that is expected of the model."""

    synonyms: ClassVar = {"name": ("tool", "function"), "args": ("arguments", "parameters", "input", "kwargs")}

    name: ToolName
    """Name of the tool to call"""
    args: JsonObject = field(default_factory=dict)
    """Arguments of the call; none by default"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec(Record):
    """One thing that a model is asked."""

    synonyms: ClassVar = {
        "id": ("key", "task_id"),
        "name": ("title", "label"),
        "input": ("prompt", "question", "query", "instruction"),
        "expected_output": ("answer", "output", "expected", "reference", "target", "solution", "ground_truth"),
        "difficulty": ("level",),
        "expected_tools": ("expected_tool_calls", "tool_calls"),
        "context": ("contexts", "retrieval_context", "documents", "passages"),
        "tools": ("functions",),
        "tests": ("test",),
        "schema": ("json_schema",),
        "choices": ("options",),
        "pattern": ("regex",),
    }

    id: Name
    """Identifier, unique in the file; results are compared by it, so do not change it"""
    name: Name
    """Short title for people"""
    input: Text
    """What the model is asked, exactly as it is sent"""
    expected_output: Annotated[AnyText, text('text (`""` for none)')]
    """The reference answer; `""` if only the tool calls matter"""
    difficulty: Annotated[Difficulty, text("easy, medium or hard")] = "medium"
    """How hard the task is, for breakdowns"""
    expected_tools: Annotated[
        tuple[Annotated[ToolUse, mapping("a mapping with name and args", ToolUse)], ...],
        list_of("a list of {name, args}"),
    ] = ()
    """Tool calls the model should make, in order"""
    context: Texts = ()
    """Passages retrieved for the task, sent along with the input"""
    tools: Tools = ()
    """Tools for this task instead of the dataset's; without either they are inferred from `expected_tools`"""
    tool_results: ToolResults = field(default_factory=dict)
    """What a call of each tool returns in this task, by the tool's name"""
    tests: Annotated[PythonSource | None, text("Python source")] = None
    """Python that raises if the answer's code is wrong, for `code_tests`"""
    schema: Annotated[JsonSchema | None, mapping("a JSON Schema")] = None
    """JSON Schema that the answer must satisfy, for `json_schema`"""
    choices: Annotated[Texts, Field(min_length=2, json_schema_extra={"uniqueItems": True})] = ()
    """The answers to choose from, for `multiple_choice`"""
    pattern: Annotated[Regex | None, text("a regular expression")] = None
    """Regular expression (RE2 syntax) that the answer must match, for `regex`"""
    tolerance: Annotated[Number | None, Expects("a number of at least 0", (int, float))] = None
    """How far the answer may be off, for `numeric`"""


AnyTask = Annotated[TaskSpec, mapping("a mapping that begins with `id:`", TaskSpec)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSpec(Record):
    """A whole dataset: what one YAML file holds."""

    synonyms: ClassVar = {
        "name": ("title",),
        "description": ("about",),
        "tools": ("functions",),
        "tasks": ("items", "questions", "examples", "cases"),
    }

    name: Name
    """Title for people; the file's name is the dataset's identifier"""
    description: Text
    """What the dataset measures and where its tasks come from"""
    tools: Tools = ()
    """Tools the model is offered in every task that names none itself"""
    tool_results: ToolResults = field(default_factory=dict)
    """What a call of each tool returns, by the tool's name"""
    tasks: Annotated[tuple[AnyTask, ...], Field(min_length=1), list_of("a list of tasks", limits.MAX_NODES)]
    """The tasks, at least one"""


TASK: TypeAdapter[TaskSpec] = TypeAdapter(AnyTask)
DATASET: TypeAdapter[DatasetSpec] = TypeAdapter(
    Annotated[DatasetSpec, mapping("a mapping with name, description and tasks", DatasetSpec)]
)


def as_mapping(record: TaskSpec | DatasetSpec) -> dict[str, Any]:
    """The record as plain mappings and lists, in declared order, without keys that have their default value."""
    adapter: TypeAdapter[Any] = TASK if isinstance(record, TaskSpec) else DATASET
    # Without warnings: records made from database rows have lists in place of tuples, which are dumped alike.
    plain: dict[str, Any] = adapter.dump_python(record, mode="json", exclude_defaults=True, warnings=False)
    return plain
