"""What a dataset is. These declarations drive the checks, the editor's schema, the documents and the written YAML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.kinds import Choice, JsonObject, ListOf, Number, Text
from benchmarks.dataset_format.records import Record, key
from benchmarks.dataset_format.sources import TOOL_NAME, JsonSchema, PythonSource, RegexSource, Tool

DIFFICULTIES = ("easy", "medium", "hard")
DEFAULT_DIFFICULTY = "medium"

_NAME = Text(one_line=True, max_length=limits.MAX_NAME, label="text in one line")
_TOOLS = ListOf(Tool(), "a list of function tools", unique=("function", "name"))
_TOOL_RESULTS = JsonObject(label="a mapping of tool names to results")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """One tool call that is expected of the model."""

    name: str = key(TOOL_NAME, "Name of the tool to call", also=("tool", "function"))
    args: Mapping[str, Any] = key(
        JsonObject(),
        "Arguments of the call; without it none are expected",
        default_factory=dict,
        also=("arguments", "parameters", "input", "kwargs"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """One thing a model is asked. ``line`` is where it stands in its file, 0 where it comes from none."""

    id: str = key(
        _NAME, "Identifier, unique in the file; results are compared by it, so keep it", also=("key", "task_id")
    )
    name: str = key(_NAME, "Short title for people", also=("title", "label"))
    input: str = key(
        Text(), "What the model is asked, exactly as it is sent", also=("prompt", "question", "query", "instruction")
    )
    expected_output: str = key(
        Text(blank=True, label='text (`""` for none)'),
        'The reference answer; `""` where only the tool calls matter',
        also=("answer", "output", "expected", "reference", "target", "solution", "ground_truth"),
    )
    difficulty: str = key(
        Choice(DIFFICULTIES), "How hard the task is, for breakdowns", default=DEFAULT_DIFFICULTY, also=("level",)
    )
    expected_tools: tuple[ToolUse, ...] = key(
        ListOf(Record(ToolUse, "a mapping with name and args"), "a list of {name, args}"),
        "Tool calls the model should make, in order",
        default=(),
        also=("expected_tool_calls", "tool_calls"),
    )
    context: tuple[str, ...] = key(
        ListOf(Text(), "a list of texts"),
        "Passages retrieved for the task, sent along with the input",
        default=(),
        also=("contexts", "retrieval_context", "documents", "passages"),
    )
    tools: tuple[Mapping[str, Any], ...] = key(
        _TOOLS,
        "Tools the model is offered for this task, instead of the dataset's; without either they are inferred from "
        "`expected_tools`",
        default=(),
        also=("functions",),
    )
    tool_results: Mapping[str, Any] = key(
        _TOOL_RESULTS, "What a call of each tool brings in this task, by the tool's name", default_factory=dict
    )
    tests: str | None = key(
        PythonSource(),
        "Python that raises where the answer's code is wrong, for `code_tests`",
        default=None,
        also=("test",),
    )
    schema: Mapping[str, Any] | None = key(
        JsonSchema(), "JSON Schema that the answer must satisfy, for `json_schema`", default=None, also=("json_schema",)
    )
    choices: tuple[str, ...] = key(
        ListOf(Text(), "a list of texts", minimum=2, unique=()),
        "The answers to choose from, for `multiple_choice`",
        default=(),
        also=("options",),
    )
    pattern: str | None = key(
        RegexSource(),
        "Regular expression (Python) that the answer must match, for `regex`",
        default=None,
        also=("regex",),
    )
    tolerance: float | None = key(
        Number(0, "a number of at least 0"), "How far the answer may be off, for `numeric`", default=None
    )
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSpec:
    """A whole dataset: what one YAML file holds."""

    name: str = key(_NAME, "Title for people; the file's name is the dataset's identifier", also=("title",))
    description: str = key(Text(), "What the dataset measures and where its tasks come from", also=("about",))
    tools: tuple[Mapping[str, Any], ...] = key(
        _TOOLS, "Tools the model is offered in every task that names none itself", default=(), also=("functions",)
    )
    tool_results: Mapping[str, Any] = key(
        _TOOL_RESULTS, "What a call of each tool brings, by the tool's name", default_factory=dict
    )
    tasks: tuple[TaskSpec, ...] = key(
        ListOf(Record(TaskSpec, "a mapping that begins with `id:`"), "a list of tasks", minimum=1, unique=("id",)),
        "The tasks, at least one",
        also=("items", "questions", "examples", "cases"),
    )


TASK = Record(TaskSpec, "a task with id, name, input and expected_output")
DATASET = Record(DatasetSpec, "a mapping with name, description and tasks")
