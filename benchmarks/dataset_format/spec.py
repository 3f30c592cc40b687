"""What a dataset is. These records drive validation, the editors' JSON Schema, the documentation and the written YAML.

The docstring below a field is its description. Pydantic validates what comes from outside (``validation``); records
made in code or from the database are not validated again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import AfterValidator, ConfigDict, Field, SkipValidation, TypeAdapter, WithJsonSchema

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.expectations import (
    Choices,
    Constraints,
    OwnRubric,
    Rubrics,
    Tolerance,
    TurnSpec,
    UserMapping,
)
from benchmarks.dataset_format.fields import (
    SPLIT,
    TAGS,
    Answers,
    ClusterName,
    Expects,
    MetricName,
    Name,
    PythonSource,
    Regex,
    SchemaNow,
    SplitName,
    Tag,
    Text,
    Weight,
    list_of,
    mapping,
    text,
)
from benchmarks.dataset_format.json_fields import JsonSchema, Metadata
from benchmarks.dataset_format.messages import SCHEMA, as_text, checked, user_messages
from benchmarks.dataset_format.problems import Fault, Invalid, did_you_mean, quoted
from benchmarks.dataset_format.records import Record, Texts
from benchmarks.dataset_format.tools import StateMapping, ToolResults, Tools, ToolUse, WorldMapping
from benchmarks.generators.registry import GENERATORS, LARGEST_SEED, MAX_TASKS, MAX_TOKENS, MIN_TOKENS
from benchmarks.metrics.task_parts import FinalState, RubricValues, WorldTables

Difficulty = Literal["easy", "medium", "hard"]
DIFFICULTIES: tuple[str, ...] = get_args(Difficulty)
Messages = Annotated[
    tuple[Mapping[str, Any], ...],
    SkipValidation(),
    AfterValidator(checked),
    WithJsonSchema(SCHEMA),
    list_of("a list of {role, content}", limits.MAX_MESSAGES),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec(Record):
    """One thing that a model is asked."""

    __pydantic_config__ = ConfigDict(
        extra="forbid",
        use_attribute_docstrings=True,
        defer_build=True,
        json_schema_extra={"anyOf": [{"required": [key]} for key in ("input", "messages", "turns")]},
    )
    synonyms: ClassVar = {
        "id": ("key", "task_id"),
        "name": ("title", "label"),
        "messages": ("conversation", "chat"),
        "turns": ("dialog", "dialogue", "script", "user_turns"),
        "user": ("simulated_user", "user_simulator"),
        "input": ("prompt", "question", "query", "instruction"),
        "expected_output": ("answer", "output", "expected", "reference", "target", "solution", "ground_truth"),
        "difficulty": ("level",),
        "split": ("subset", "fold", "partition"),
        "cluster": ("passage_id", "template", "document"),
        "weight": ("points", "importance"),
        "tags": ("labels", "categories"),
        "metadata": ("meta", "extra"),
        "expected_tools": ("expected_tool_calls", "tool_calls"),
        "context": ("contexts", "retrieval_context", "documents", "passages"),
        "expected_context": ("expected_passages", "gold_context", "relevant_passages"),
        "tools": ("functions",),
        "tests": ("test",),
        "schema": ("json_schema",),
        "choices": ("options",),
        "pattern": ("regex",),
    }
    describing: ClassVar = frozenset({"name", "difficulty", "split", "cluster", "weight", "tags", "metadata"})
    """Keys that say what a task is about, and change neither what is asked nor what is expected"""

    id: Name
    """Identifier, unique in the file; results are compared by it, so do not change it"""
    name: Name
    """Short title for people"""
    input: Text = ""
    """What the model is asked, exactly as it is sent; required without `messages` and `turns`"""
    messages: Messages = ()
    """A conversation in place of `input`: roles `system`, `user`, `assistant`; content is text or parts"""
    turns: Annotated[
        tuple[Annotated[TurnSpec, mapping("a mapping that begins with `user:`", TurnSpec)], ...],
        Field(min_length=1),
        list_of("a list of turns", limits.MAX_TURNS),
    ] = ()
    """What the user says turn by turn, in place of `input`; the model answers each before the next is sent"""
    user: UserMapping = field(default_factory=dict)
    """A simulated user who continues after `input` or `messages`: `{goal: Cancel order A-1, max_turns: 6}`"""
    expected_output: Answers
    """The reference answer (to the last of `turns`), or a list of accepted ones (the best counts); `""` for none"""
    difficulty: Annotated[Difficulty, text("easy, medium or hard")] = "medium"
    """How hard the task is, for breakdowns"""
    split: SplitName = ""
    """Part of the dataset that the task belongs to, such as `train` or `test`; a run may ask one split only"""
    cluster: ClusterName = ""
    """Name that tasks share which use one text, template or document: their answers count as one sample, not several"""
    weight: Weight = 1.0
    """Weight of the task in the weighted mean of a run, from 0.001 to 1,000"""
    tags: Annotated[
        tuple[Tag, ...], Field(json_schema_extra={"uniqueItems": True}), list_of("a list of texts", limits.MAX_LABELS)
    ] = ()
    """What the task is about, for breakdowns and filters"""
    metadata: Metadata = field(default_factory=dict)
    """Further properties, such as `{source: gsm8k, hops: 2}`, for breakdowns and filters"""
    expected_tools: Annotated[
        tuple[Annotated[ToolUse, mapping("a mapping with name and args", ToolUse)], ...],
        list_of("a list of {name, args}"),
    ] = ()
    """Tool calls the model should make, in order"""
    context: Texts = ()
    """Passages retrieved for the task, sent along with the input"""
    expected_context: Texts = ()
    """Passages that a system which looks up its own should find, for `retrieval_recall` and `retrieval_precision`"""
    tools: Tools = ()
    """Tools for this task instead of the dataset's; without either they are inferred from `expected_tools`"""
    tool_results: ToolResults = field(default_factory=dict)
    """What a call of each tool returns in this task, by the tool's name"""
    world: WorldMapping = field(default_factory=WorldTables)
    """Tables and rules of this task, which replace the dataset's of the same names"""
    final_state: StateMapping = field(default_factory=FinalState)
    """State of the world that the tool calls must reach, for `final_state`"""
    tests: Annotated[PythonSource | None, text("Python source")] = None
    """Python that raises if the answer's code is wrong, for `code_tests`"""
    schema: Annotated[JsonSchema | None, mapping("a JSON Schema")] = None
    """JSON Schema that the answer must satisfy, for `json_schema`"""
    choices: Choices = ()
    """The answers to choose from, for `multiple_choice`"""
    pattern: Annotated[Regex | None, text("a regular expression")] = None
    """Regular expression (RE2 syntax) that the answer must match, for `regex`"""
    constraints: Constraints = field(default_factory=dict)
    """What the answer must follow, such as `{words: {max: 50}, include: [sea]}`, for `constraints`"""
    must_refuse: Annotated[bool | None, Expects("true or false", (bool,))] = None
    """Whether the model must refuse the task, or must not, for `safe_refusal`"""
    tolerance: Tolerance = None
    """How far the answer may be off, for `numeric`"""
    rubric: OwnRubric | None = None
    """Rubric of this task, for `rubric`: the name of one of `rubrics`, or a mapping with criteria"""

    @property
    def question(self) -> str:
        """What the model is asked, as text for people and judges."""
        if not self.turns:
            return as_text(self.messages) if self.messages else self.input
        return as_text((*self.messages, *user_messages(turn.user for turn in self.turns)))

    def states(self, name: str) -> bool:
        """Whether the task, or one of its turns, has a value of this key."""
        return any(getattr(each, name, None) not in (None, "", (), {}) for each in (self, *self.turns))

    @property
    def labels(self) -> list[str]:
        """Tags, the split and metadata as ``key: value``. The split counts before a key ``split`` of the metadata."""
        split = {SPLIT: self.split} if self.split else {}
        properties = {**split, **self.metadata, **split}  # first, and over one in the metadata
        shown = {key: value if isinstance(value, str) else json.dumps(value) for key, value in properties.items()}
        return [*(f"{TAGS}: {tag}" for tag in self.tags), *(f"{key}: {value}" for key, value in shown.items())]

    @property
    def accepted_answers(self) -> tuple[str, ...]:
        """The accepted answers, the first of which stands for all where only one fits."""
        return (self.expected_output,) if isinstance(self.expected_output, str) else tuple(self.expected_output)


TASK_KEYS = tuple(field.name for field in fields(TaskSpec))
AnyTask = Annotated[TaskSpec, mapping("a mapping that begins with `id:`", TaskSpec)]


def _checked_generator_name(name: str) -> str:
    if name not in GENERATORS:
        hint = did_you_mean(name, GENERATORS) or f": choose from {', '.join(GENERATORS)}"
        raise Invalid(Fault((), f"{quoted(name)} is not a generator{hint}"))
    return name


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorSpec(Record):
    """What makes the tasks of a generated dataset. A parsed dataset has its tasks as well."""

    synonyms: ClassVar = {"tasks": ("count", "number", "n", "size")}

    name: Annotated[
        str, AfterValidator(_checked_generator_name), SchemaNow(lambda: {"enum": [*GENERATORS]}), text("a generator")
    ]
    """Generator that makes the tasks"""
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED), Expects("a whole number of at least 0", (int,))]
    """Seed; equal seeds make equal tasks"""
    tasks: Annotated[int, Field(ge=1, le=MAX_TASKS), Expects("a whole number of at least 1", (int,))]
    """Number of tasks; levels and kinds alternate"""
    tokens: Annotated[
        tuple[
            Annotated[int, Field(ge=MIN_TOKENS, le=MAX_TOKENS), Expects("a whole number of at least 500", (int,))], ...
        ],
        list_of("a list of whole numbers", 20),
    ] = ()
    """Context lengths in tokens of three characters, used in turn; required for `long-context`, and only there"""
    dev: Annotated[int, Field(ge=0), Expects("a whole number of at least 0", (int,))] = 0
    """Number of tasks, from the first, that form the split `dev`, to try prompts on; the others form `test`"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSpec(Record):
    """A whole dataset: what one YAML file holds."""

    __pydantic_config__ = ConfigDict(
        extra="forbid",
        use_attribute_docstrings=True,
        defer_build=True,
        json_schema_extra={"oneOf": [{"required": ["tasks"]}, {"required": ["generator"]}]},
    )
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
    metrics: Annotated[
        tuple[MetricName, ...], Field(json_schema_extra={"uniqueItems": True}), list_of("a list of metrics")
    ] = ()
    """Metrics of runs that name none; the first decides the outcome"""
    tools: Tools = ()
    """Tools for every task that has none of its own"""
    tool_results: ToolResults = field(default_factory=dict)
    """What a call of each tool returns, by the tool's name"""
    world: WorldMapping = field(default_factory=WorldTables)
    """Tables and rules by which tools answer; each task starts from them"""
    rubrics: Rubrics = ()
    """Rubrics: each is the metric `rubric:NAME`, and tasks may name one in `rubric`"""
    generator: Annotated[GeneratorSpec | None, mapping("a mapping with name, seed and tasks", GeneratorSpec)] = None
    """Generator of the tasks, in place of `tasks`: `{name: reasoning, seed: 1, tasks: 300}`"""
    tasks: Annotated[tuple[AnyTask, ...], Field(min_length=1), list_of("a list of tasks", limits.MAX_NODES)] = ()
    """The tasks, at least one; required without `generator`"""


TASK: TypeAdapter[TaskSpec] = TypeAdapter(AnyTask)
RUBRICS: TypeAdapter[tuple[RubricValues, ...]] = TypeAdapter(Rubrics)
GENERATOR: TypeAdapter[GeneratorSpec] = TypeAdapter(
    Annotated[GeneratorSpec, mapping("a mapping with name, seed and tasks", GeneratorSpec)]
)
DATASET: TypeAdapter[DatasetSpec] = TypeAdapter(
    Annotated[DatasetSpec, mapping("a mapping with name, description and tasks", DatasetSpec)]
)


def resolved_rubric(rubric: str | RubricValues | None, rubrics: Iterable[RubricValues]) -> RubricValues:
    """A task's rubric, which may be the name of one of its dataset's ``rubrics``; empty without one."""
    if not isinstance(rubric, str):
        return rubric or RubricValues()
    return next((each for each in rubrics if each["name"] == rubric), RubricValues())


def as_mapping(record: TaskSpec | DatasetSpec) -> dict[str, Any]:
    """The record as plain mappings and lists, in declared order. It lacks keys that have their default value, and the
    generator of tasks that are there."""
    adapter: TypeAdapter[Any] = TASK if isinstance(record, TaskSpec) else DATASET
    # Without warnings: records made from database rows have lists in place of tuples, which are dumped alike.
    plain: dict[str, Any] = adapter.dump_python(record, mode="json", exclude_defaults=True, warnings=False)
    if "tasks" in plain:
        plain.pop("generator", None)
    return plain
