"""The parts of a task that are JSON, as metrics and prompts read them. ``dataset_format`` says what each means, and has
checked them; a tool is sent to the provider as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

Row = Mapping[str, object]
Conditions = Mapping[str, object]


class Arguments(TypedDict, total=False):
    """What is read of the JSON Schema of a tool's arguments."""

    type: str
    properties: Mapping[str, Mapping[str, object]]
    required: Sequence[str]


class ToolFunction(TypedDict):
    name: str
    description: NotRequired[str]
    parameters: NotRequired[Arguments]


class Tool(TypedDict):
    type: str
    function: ToolFunction


class Call(TypedDict):
    name: str
    args: NotRequired[Mapping[str, object]]


class ExpectedCall(Call):
    accept: NotRequired[Mapping[str, Sequence[object]]]


class Requirement(TypedDict):
    where: Conditions
    error: str
    table: NotRequired[str | None]
    absent: NotRequired[bool]


class Rule(TypedDict):
    tool: str
    action: str
    table: str
    where: NotRequired[Conditions]
    require: NotRequired[Sequence[Requirement]]
    set: NotRequired[Row]
    add: NotRequired[Row]
    columns: NotRequired[Sequence[str]]
    missing: NotRequired[str | None]


class WorldTables(TypedDict, total=False):
    tables: Mapping[str, Sequence[Row]]
    rules: Sequence[Rule]


class ExpectedRow(TypedDict):
    table: str
    where: Conditions
    count: NotRequired[int]


class FinalState(TypedDict, total=False):
    rows: Sequence[ExpectedRow]
    forbidden: Sequence[Call]
    max_steps: int


class RubricValues(TypedDict, total=False):
    """A valid rubric without its defaults; all have criteria. One that a run stores has a hash, too."""

    name: str
    criteria: str | Sequence[str]
    steps: Sequence[str]
    scale: str
    sees: Sequence[str]
    threshold: float
    hash: str
