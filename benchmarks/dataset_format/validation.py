"""Validation of datasets and tasks that are plain values, from YAML, a table, a form or another tool's file."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, cycle, islice
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.cross_checks import cross_faults, nameless, rubric_problem, tool_faults
from benchmarks.dataset_format.documents import keys_of
from benchmarks.dataset_format.expectations import (
    COUNTED,
    RANGES,
    TURN_EXPECTATIONS,
    Bounds,
    ConstraintSet,
    NthParagraph,
    RubricSpec,
    TurnSpec,
    UserSpec,
)
from benchmarks.dataset_format.messages import ending_faults, images_of
from benchmarks.dataset_format.problems import Fault, Path, did_you_mean, format_path, quoted
from benchmarks.dataset_format.records import Record
from benchmarks.dataset_format.scalars import unstorable
from benchmarks.dataset_format.spec import DATASET, GENERATOR, RUBRICS, TASK, DatasetSpec, GeneratorSpec, TaskSpec
from benchmarks.dataset_format.tools import (
    ExpectedRow,
    ForbiddenCall,
    Requirement,
    Rule,
    StateSpec,
    Tool,
    ToolFunction,
    ToolUse,
    WorldTables,
)
from benchmarks.dataset_format.world_checks import task_world_faults
from benchmarks.generators.long_context import CHARACTERS_PER_TOKEN
from benchmarks.generators.registry import GENERATORS, generate
from benchmarks.metrics import task_parts

FieldProblems = dict[str, list[str]]
"""Key → messages. The key is empty if the messages concern the whole."""

_RECORDS: dict[str, type[Record]] = {
    **{"tasks": TaskSpec, "turns": TurnSpec, "expected_tools": ToolUse, "tools": Tool, "function": ToolFunction},
    "generator": GeneratorSpec,
    **{"rubrics": RubricSpec, "rubric": RubricSpec},
    "user": UserSpec,
    **{"world": WorldTables, "rules": Rule, "require": Requirement},
    **{"final_state": StateSpec, "rows": ExpectedRow, "forbidden": ForbiddenCall},
    **{"constraints": ConstraintSet, **dict.fromkeys(RANGES, Bounds), **COUNTED, "nth_paragraph": NthParagraph},
}
"""Key → the record below it."""
_TOOL_KEYS = (("tools",), ("tool_results",), ("world",))
_ANY_TASK = TaskSpec(id="-", name="-", input="-", expected_output="")

Checked = TypeVar("Checked", TaskSpec, DatasetSpec, GeneratorSpec, tuple[task_parts.RubricValues, ...])


def validate_task_fields(
    data: Mapping[str, Any],
    dataset_tools: Sequence[task_parts.Tool] = (),
    dataset_world: task_parts.WorldTables | None = None,
    rubrics: Sequence[task_parts.RubricValues] = (),
) -> tuple[TaskSpec | None, FieldProblems]:
    """Check one task. Returns either the task, or problems by key.

    ``dataset_tools`` are the validated tools of the task's dataset: if the task has no tools of its own, its expected
    tools must be among them. ``dataset_world`` and ``rubrics`` are those of the dataset, validated.
    """
    task, faults = _checked_task(dict(data), ())
    if task is not None:
        offered = task.tools or dataset_tools
        faults = list(tool_faults(task, offered, ())) or list(task_world_faults(task, offered, dataset_world, ()))
        if problem := rubric_problem(task, [rubric["name"] for rubric in rubrics]):
            faults.append(Fault(("rubric",), problem))
    return (None, _by_key(faults, depth=1)) if faults else (task, {})


def validate_rubrics(data: object) -> tuple[list[task_parts.RubricValues], FieldProblems]:
    """Check rubrics that are no part of a dataset. Returns either their mappings, or problems by path."""
    rubrics, faults = rubrics_of_values(data)
    return rubrics, _by_key(faults, depth=None)


def rubrics_of_values(data: object) -> tuple[list[task_parts.RubricValues], list[Fault]]:
    """The same with the faults at their paths."""
    rubrics, faults = _validated(RUBRICS, data, RubricSpec)
    faults += [*_repeats(data, (), ("name",)), *nameless(rubrics or (), ())]
    return [] if faults else [rubric.copy() for rubric in rubrics or ()], faults


def validate_dataset_fields(data: object) -> tuple[DatasetSpec | None, FieldProblems]:
    """Check a dataset. Returns either the dataset, or problems by path, such as ``tasks[3].id``."""
    spec, faults = check_dataset(data)
    return spec, _by_key(faults, depth=None)


def check_dataset(data: object) -> tuple[DatasetSpec | None, list[Fault]]:
    """Check a dataset. Returns either the dataset, or its first ``MAX_PROBLEMS`` faults.

    Tools are compared across records only where the records themselves are valid.
    """
    if not isinstance(data, dict):
        return _validated(DATASET, data, DatasetSpec)
    if "generator" in data:
        data, generator_faults = _with_generated_tasks(data)
        if generator_faults:
            return None, generator_faults
    tasks: dict[int, TaskSpec] = {}
    task_faults: list[Fault] = []
    given = data.get("tasks")
    if isinstance(given, list | tuple):
        # One task at a time, because pydantic collects all errors of a value, and a hostile file has many.
        for index, values in enumerate(given):
            task, faults = _checked_task(values, ("tasks", index))
            task_faults += faults
            if task is not None:
                tasks[index] = task
            if len(task_faults) >= limits.MAX_PROBLEMS:
                break
        task_faults += _repeats(given, ("tasks",), ("id",))
        task_faults.sort(key=lambda fault: fault.path[1])
        # If every task has faults, any task will do: the list is not empty, and the result is not used.
        data = {**data, "tasks": tuple(tasks.values()) or (given and (_ANY_TASK,))}
    spec, faults = _validated(DATASET, data, DatasetSpec)
    if "tasks" not in data:
        faults.append(Fault(("tasks",), "is missing: the tasks, at least one; or enter a generator"))
    if sum(len(image) for task in tasks.values() for image in images_of(task.messages)) > limits.MAX_IMAGES_BYTES:
        message = f"have images of more than {limits.MAX_IMAGES_BYTES:,} bytes: make them smaller, or use https: URLs"
        faults.append(Fault(("tasks",), message))
    if len(splits := {task.split for task in tasks.values()} - {""}) > limits.MAX_SPLITS:
        message = f"have {len(splits):,} splits; the limit is {limits.MAX_SPLITS}: use metadata or tags instead"
        faults.append(Fault(("tasks",), message))
    faults += _repeats(data.get("tools"), ("tools",), ("function", "name"))
    faults += _repeats(data.get("metrics"), ("metrics",), ())
    faults += _repeats(data.get("rubrics"), ("rubrics",), ("name",))
    usable_tools = not any(fault.path[:1] in _TOOL_KEYS for fault in faults)
    faults += task_faults
    if usable_tools:
        faults += cross_faults(data, tasks, complete=not faults)
    return (None if faults else spec), faults[: limits.MAX_PROBLEMS]


def _with_generated_tasks(data: Mapping[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
    """The dataset with the tasks that its generator makes, or the faults of the generator."""
    if "tasks" in data:
        return {}, [Fault(("generator",), "does not go together with tasks: remove one of the two")]
    generator, faults = _validated(GENERATOR, data["generator"], GeneratorSpec)
    below = [replace(fault, path=("generator", *fault.path)) for fault in faults]
    if generator is None:
        return {}, below
    if fault := _generator_fault(generator):
        return {}, [fault]
    try:
        tasks = list(generate(generator.name, generator.seed, generator.tasks, generator.tokens))
    except ValueError as error:
        return {}, [Fault(("generator", "tasks"), str(error))]
    except Exception as error:  # whatever the code of a package raises
        return {}, [Fault(("generator", "name"), f"failed: {type(error).__name__}: {error}")]
    if generator.dev:
        tasks = [{**task, "split": "dev" if place < generator.dev else "test"} for place, task in enumerate(tasks)]
    generated = {**GENERATORS[generator.name].shared, **data, "generator": generator, "tasks": tasks}
    if isinstance(data.get("description"), str):
        generated["description"] = f"{data['description'].rstrip()} Generated from seed {generator.seed}."
    return generated, []


def _generator_fault(generator: GeneratorSpec) -> Fault | None:
    """What in its keys does not go together."""
    if bool(generator.tokens) != (takes := GENERATORS[generator.name].takes_tokens):
        takers = " and ".join(name for name, each in GENERATORS.items() if each.takes_tokens)
        message = "is missing: enter lengths, as in [8000]" if takes else f"is only for {takers}: remove it"
        return Fault(("generator", "tokens"), message)
    if generator.dev >= generator.tasks:
        return Fault(("generator", "dev"), f"leaves no task for test: enter fewer than {generator.tasks:,}")
    if CHARACTERS_PER_TOKEN * sum(islice(cycle(generator.tokens), generator.tasks)) > limits.MAX_BYTES * 0.9:
        message = f"makes more than {limits.MAX_BYTES:,} bytes: enter fewer tasks or shorter lengths"
        return Fault(("generator", "tasks"), message)
    return None


def _checked_task(data: object, path: Path) -> tuple[TaskSpec | None, list[Fault]]:
    """The task, or its faults with paths below ``path``."""
    task, faults = _validated(TASK, data, TaskSpec)
    if isinstance(data, dict):
        faults += _question_faults(data)
        for key in ("expected_output", "tags", "choices"):
            faults += _repeats(data.get(key), (key,), ())
        faults += _repeats(data.get("tools"), ("tools",), ("function", "name"))
    # The task was checked alone, so its paths start at the task.
    below = [replace(fault, path=path + fault.path, first=fault.first and path + fault.first) for fault in faults]
    return (None if faults else task), below


def _question_faults(data: Mapping[str, object]) -> Iterator[Fault]:
    """Yield what is wrong with the choice between ``input``, ``messages`` and ``turns``, and with their ends."""
    field = "turns" if data.get("turns") else "messages" if "messages" in data else ""
    if not field:
        if "input" not in data and "turns" not in data:
            advice = "or enter messages or turns"
            yield Fault(("input",), f"is missing: what the model is asked, exactly as it is sent; {advice}")
        return
    if data.get("user") and field == "turns":
        yield Fault(("user",), "does not go together with turns: begin with input or messages, which the user follows")
    for key, advice in (("input", "use one of the two"), ("context", f"put the passages into the {field}")):
        if data.get(key):
            yield Fault((key,), f"does not go together with {field}: {advice}")
    for fault in ending_faults(data.get("messages"), before_turns=field == "turns"):
        yield replace(fault, path=("messages", *fault.path))
    yield from _turn_faults(data.get("turns"))


def _turn_faults(turns: object) -> Iterator[Fault]:
    """Yield repeated answers of turns, and expectations of the last turn, which are those of the task."""
    rows = turns[: limits.MAX_TURNS] if isinstance(turns, list | tuple) else ()
    for place, turn in enumerate(rows):
        if not isinstance(turn, Mapping):
            continue
        for key in ("expected_output", "choices"):
            yield from _repeats(turn.get(key), ("turns", place, key), ())
        if place == len(rows) - 1:
            for key in TURN_EXPECTATIONS:
                if key in turn:
                    message = f"belongs to the last turn: enter it as {key} of the task, beside turns"
                    yield Fault(("turns", place, key), message)


def _validated(adapter: TypeAdapter[Checked], data: object, record: type[Record]) -> tuple[Checked | None, list[Fault]]:
    try:
        return adapter.validate_python(data), []
    except ValidationError as error:
        faults = chain.from_iterable(_faults(each, record) for each in error.errors(include_url=False))
        return None, list(islice(faults, limits.MAX_PROBLEMS))


def _faults(error: ErrorDetails, root: type[Record]) -> list[Fault]:
    """What one error of pydantic means in a dataset. ``root`` is the record that was validated."""
    path: Path = error["loc"]
    value, context, message = error["input"], error.get("ctx", {}), error["msg"]
    match error["type"]:
        case "value_error":  # an ``Invalid``, as all checks raise it
            return [replace(fault, path=path + fault.path) for fault in context["error"].faults]
        case "missing":
            doc = next(key.doc for key in keys_of(_record_at(path, root)) if key.name == path[-1])
            message = f"is missing: {doc[0].lower()}{doc[1:]}"
        case "unexpected_keyword_argument" | "invalid_key":  # the latter: a key that is not text
            name = str(path[-1])
            path = (*path[:-1], name)
            message = f"unknown key {quoted(name)}{_known_keys(name, _record_at(path, root))}"
        case "finite_number":
            message = "must be a finite number"
        case "greater_than_equal":
            message = f"is {value:g}: it must be at least {context['ge']:g}"
        case "less_than_equal":
            message = f"is {value:,}: it must be at most {context['le']:,}"
        case "literal_error":
            hint = did_you_mean(value, re.findall(r"'(\w+)'", context["expected"]))
            options = context["expected"].replace("'", "")
            message = f"{quoted(value)} is not an allowed value: use {options}{hint}"
        case "string_pattern_mismatch" if not value.strip():
            message = "is empty: enter text"
        case "string_pattern_mismatch":
            message = f"{quoted(value)} is not allowed: use 1 to 64 letters, digits, _ or -, as model providers require"
        case "string_too_long":
            message = f"has {len(value):,} characters; the limit is {context['max_length']:,}: shorten it"
        case "string_unicode":
            message = unstorable(value) or "is not valid Unicode"
        case "too_short":
            message = f"is too short: enter at least {context['min_length']}"
    return [Fault(path, message)]


def _record_at(path: Path, root: type[Record]) -> type[Record]:
    """The record that the last step of the path is a key of."""
    above = [step for step in path[:-1] if isinstance(step, str)]
    return _RECORDS[above[-1]] if above else root


def _known_keys(name: str, record: type[Record]) -> str:
    word = name.strip().lower()
    known = [key.name for key in keys_of(record)]
    for key, synonyms in record.synonyms.items():
        if word in synonyms:
            return f" (did you mean {key}?)"
    return did_you_mean(name, known) or f"; valid keys: {', '.join(known)}"


def _repeats(items: object, path: Path, below: Sequence[str]) -> Iterator[Fault]:
    """Yield texts that occur twice in a list, or look the same, ``below`` their items. Works on invalid items too."""
    seen: dict[str, tuple[Path, str]] = {}
    for index, item in enumerate(items if isinstance(items, list | tuple) else ()):
        name = item
        for step in below:
            name = name.get(step) if isinstance(name, Mapping) else None
        here = (*path, index, *below)
        if not isinstance(name, str):
            continue
        first, earlier = seen.setdefault(_as_seen(name), (here, name))
        if first != here:
            how = "occurs twice" if name == earlier else "looks like another one, written with other characters"
            yield Fault(here, f"{quoted(name)} {how}", first=first)


def _as_seen(name: str) -> str:
    """The name without what nobody can see: Unicode's composed form, and no format characters."""
    composed = unicodedata.normalize("NFC", name)
    return "".join(sign for sign in composed if unicodedata.category(sign) != "Cf") or name


def _by_key(faults: Iterable[Fault], depth: int | None) -> FieldProblems:
    """Group messages by the first ``depth`` steps of their paths (all steps for ``None``)."""
    problems: FieldProblems = {}
    for fault in faults:
        below = format_path(fault.path[depth:]) if depth is not None else ""
        message = f"{below}: {fault.message}" if below else fault.message
        if fault.first is not None:
            message += f", first at {format_path(fault.first)}"
        problems.setdefault(format_path(fault.path[:depth]), []).append(message)
    return problems
