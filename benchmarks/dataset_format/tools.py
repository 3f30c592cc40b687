"""The keys about tools: functions, expected calls, worlds that tools read and change, and what must hold at the end."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    Field,
    GetPydanticSchema,
    PlainSerializer,
    SkipValidation,
    WithJsonSchema,
    WrapValidator,
)
from pydantic_core.core_schema import ValidatorFunctionWrapHandler

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.fields import TOOL_NAME, AnyText, Expects, Text, ToolName, list_of, mapping, text
from benchmarks.dataset_format.json_fields import JsonObject, Parameters, json_faults
from benchmarks.dataset_format.problems import REPORTED, Fault, Invalid
from benchmarks.dataset_format.records import Count, Record, Switch, kept
from benchmarks.metrics import task_parts
from benchmarks.metrics.worlds import OPERATORS


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
    task_parts.Tool,
    GetPydanticSchema(lambda source, handler: handler(_CHECKED_TOOL)),
    mapping(f"a function tool, {_TOOL_FORMAT}"),
]
Tools = Annotated[tuple[ToolMapping, ...], list_of("a list of function tools")]
ToolResults = Annotated[JsonObject, mapping("a mapping of tool names to results")]


def _accepted(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Check lists of accepted values. An empty one would make its argument always wrong."""
    faults = []
    for name, accepted in values.items():
        if not isinstance(accepted, list | tuple):
            reported = accepted is REPORTED
            faults.append(Fault((name,), "must be a list of accepted values", reported=reported))
        elif not 0 < len(accepted) <= limits.MAX_ANSWERS:
            faults.append(Fault((name,), f"has {len(accepted):,} values: enter 1 to {limits.MAX_ANSWERS}"))
    if faults:
        raise Invalid(*faults)
    return values


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse(Record):
    """A tool call that is expected of the model."""

    synonyms: ClassVar = {"name": ("tool", "function"), "args": ("arguments", "parameters", "input", "kwargs")}

    name: ToolName
    """Name of the tool to call"""
    args: JsonObject = field(default_factory=dict)
    """Arguments of the call; none by default"""
    accept: Annotated[
        JsonObject,
        AfterValidator(_accepted),
        WithJsonSchema(
            {
                "type": "object",
                "additionalProperties": {"type": "array", "minItems": 1, "maxItems": limits.MAX_ANSWERS},
            }
        ),
        mapping("a mapping of arguments to lists of values"),
    ] = field(default_factory=dict)
    """Further accepted values, as in `{unit: [mi]}`; an argument that is here and not in `args` may be left out"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForbiddenCall(Record):
    """A tool call that the model must not make."""

    synonyms: ClassVar = ToolUse.synonyms

    name: ToolName
    """Name of the tool"""
    args: JsonObject = field(default_factory=dict)
    """Arguments of the call; any by default"""


def _checked_tables(tables: Mapping[str, Any]) -> Mapping[str, Any]:
    faults = []
    for name, rows in tables.items():
        if not isinstance(name, str) or not re.fullmatch(TOOL_NAME, name):
            faults.append(Fault((str(name),), "is not allowed as a table's name: use 1 to 64 letters, digits, _ or -"))
        elif not isinstance(rows, list | tuple):
            faults.append(Fault((name,), "must be a list of rows", reported=rows is REPORTED))
        else:
            for index, row in enumerate(rows[: limits.MAX_ROWS]):
                if not isinstance(row, dict):
                    faults.append(Fault((name, index), "must be a mapping of columns", reported=row is REPORTED))
                elif row_faults := json_faults(row):
                    faults += [replace(fault, path=(name, index, *fault.path)) for fault in row_faults]
    if not faults and sum(map(len, tables.values())) > limits.MAX_ROWS:
        faults.append(Fault((), f"have more than {limits.MAX_ROWS:,} rows: remove some"))
    if faults:
        raise Invalid(*faults[: limits.MAX_PROBLEMS])
    return tables


def _checked_conditions(where: Mapping[str, Any]) -> Mapping[str, Any]:
    faults = [
        Fault((column, str(operator)), f"is not a comparison: use {', '.join(OPERATORS)}")
        for column, wanted in where.items()
        if isinstance(wanted, Mapping)
        for operator in (wanted or ("",))
        if operator not in OPERATORS
    ]
    if faults:
        raise Invalid(*faults[: limits.MAX_PROBLEMS])
    return where


Tables = Annotated[
    Mapping[str, Any],
    SkipValidation(),
    AfterValidator(_checked_tables),
    WithJsonSchema(
        {
            "type": "object",
            "propertyNames": {"pattern": TOOL_NAME},
            "additionalProperties": {"type": "array", "items": {"type": "object"}, "maxItems": limits.MAX_ROWS},
            "maxProperties": limits.MAX_TABLES,
        }
    ),
    Expects("a mapping of tables to lists of rows", (dict,), limits.MAX_TABLES),
]
Conditions = Annotated[
    JsonObject, AfterValidator(_checked_conditions), Expects("a mapping of columns", (dict,), limits.MAX_CONDITIONS)
]
Values = Annotated[JsonObject, Expects("a mapping of columns to values", (dict,), limits.MAX_CONDITIONS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement(Record):
    """What must hold before a rule applies."""

    synonyms: ClassVar = {"error": ("message", "otherwise"), "where": ("conditions",)}

    where: Conditions
    """Conditions on each row that the rule matches, or on some row of `table`"""
    table: Annotated[ToolName | None, text("a table's name")] = None
    """Table of which one row must match, in place of the rows of the rule"""
    absent: Switch = False
    """Whether the conditions must not hold"""
    error: Text
    """Error that the call returns otherwise"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(Record):
    """What a call of a tool does with a table. `$name` stands for an argument of the call."""

    synonyms: ClassVar = {
        "tool": ("name", "function"),
        "action": ("does", "type"),
        "where": ("conditions", "match"),
        "set": ("values",),
        "require": ("requires", "requirements"),
        "missing": ("not_found", "error"),
    }

    tool: ToolName
    """Tool whose calls it answers; several rules of one tool apply in order, all or none"""
    action: Annotated[Literal["read", "insert", "update", "delete"], text("read, insert, update or delete")]
    """What it does"""
    table: Annotated[ToolName, text("a table's name")]
    """Table that it reads or changes"""
    where: Conditions = field(default_factory=dict)
    """Rows to which it applies: `{id: $order_id, total: {min: 5}}`; comparisons are min, max, not, in and contains"""
    require: Annotated[
        tuple[Annotated[Requirement, mapping("a mapping with where and error", Requirement)], ...],
        list_of("a list of requirements", limits.MAX_CONDITIONS),
    ] = ()
    """Requirements; if one does not hold, the call returns an error and changes nothing"""
    set: Values = field(default_factory=dict)
    """New values of columns: `{status: paid, note: $note}`; in an insert, `$next` is the row's number"""
    add: Values = field(default_factory=dict)
    """Numbers to add to columns in an update: `{balance: -$amount}`"""
    columns: Annotated[tuple[Text, ...], list_of("a list of columns", limits.MAX_CONDITIONS)] = ()
    """Columns that the call returns; all by default"""
    missing: Annotated[Text | None, text()] = None
    """Error if no row matches; a read without it returns an empty list"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldTables(Record):
    """Tables, and rules by which tools read and change them."""

    tables: Tables = field(default_factory=dict)
    """Table → rows at the start: `{orders: [{id: A-1, status: open}]}`"""
    rules: Annotated[
        tuple[Annotated[Rule, mapping("a mapping with tool, action and table", Rule)], ...],
        list_of("a list of rules", limits.MAX_RULES),
    ] = ()
    """What the calls of tools do"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedRow(Record):
    """Rows that a table must have at the end."""

    table: Annotated[ToolName, text("a table's name")]
    """Table"""
    where: Conditions
    """Conditions on the row, as in rules"""
    count: Count = 1
    """Number of rows that match; 0 if none may remain"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSpec(Record):
    """What must hold in a world after the model's calls. Every other row must be as it was."""

    synonyms: ClassVar = {"rows": ("expected", "tables"), "max_steps": ("max_calls", "steps")}

    rows: Annotated[
        tuple[Annotated[ExpectedRow, mapping("a mapping with table and where", ExpectedRow)], ...],
        list_of("a list of {table, where}", limits.MAX_CONDITIONS),
    ] = ()
    """Rows that must exist at the end, mainly new and changed ones"""
    forbidden: Annotated[
        tuple[Annotated[ForbiddenCall, mapping("a mapping with name and args", ForbiddenCall)], ...],
        list_of("a list of {name, args}", limits.MAX_CONDITIONS),
    ] = ()
    """Calls that the model must not make, with the arguments that matter"""
    max_steps: Annotated[
        int | None, Field(ge=0, le=limits.MAX_STEPS), Expects("a whole number of at least 0", (int,))
    ] = None
    """Maximum number of calls"""


WorldMapping = Annotated[
    task_parts.WorldTables,
    GetPydanticSchema(lambda source, handler: handler(kept(WorldTables))),
    mapping("a mapping with tables and rules"),
]
StateMapping = Annotated[
    task_parts.FinalState,
    GetPydanticSchema(lambda source, handler: handler(kept(StateSpec))),
    mapping("a mapping with rows, forbidden or max_steps"),
]
