"""Checking whole datasets and single tasks that are already plain values, wherever those come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, cast

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.problems import Fault, Path, did_you_mean, format_path, quoted
from benchmarks.dataset_format.spec import DATASET, TASK, DatasetSpec, TaskSpec, ToolUse

FieldProblems = dict[str, list[str]]
"""Messages by the key they belong to; the key is empty where the whole is meant."""

_OPEN_ENDED = frozenset({"patternProperties", "allOf", "anyOf", "oneOf", "$ref", "if"})


def validate_task_fields(
    data: Mapping[str, Any], dataset_tools: Sequence[Mapping[str, Any]] = ()
) -> tuple[TaskSpec | None, FieldProblems]:
    """Check one task as loaded values, from a form or a request. Returns a task or problems by key, never both.

    ``dataset_tools`` are the tools of the dataset that the task belongs to (already checked): where the task has none
    of its own, its expected tools must be among them.
    """
    faults = list(islice(TASK.check(data, ()), limits.MAX_PROBLEMS))
    if not faults:
        task: TaskSpec = TASK.load(data)
        faults = list(_tool_faults(task, task.tools or dataset_tools, ()))
        if not faults:
            return task, {}
    return None, _by_key(faults, depth=1)


def validate_dataset_fields(data: object) -> tuple[DatasetSpec | None, FieldProblems]:
    """Check a dataset as loaded values. Problems are by path, such as ``tasks[3].id``."""
    faults = list(islice(dataset_faults(data), limits.MAX_PROBLEMS))
    if faults:
        return None, _by_key(faults, depth=None)
    return load_dataset(data), {}


def load_dataset(data: object) -> DatasetSpec:
    """Build the specification from values in which ``dataset_faults`` finds nothing."""
    return cast(DatasetSpec, DATASET.load(data))


def dataset_faults(data: object) -> Iterator[Fault]:
    """Yield every fault: first of the form, then of how tools fit together, in the tasks whose form is sound."""
    faults = list(islice(DATASET.check(data, ()), limits.MAX_PROBLEMS))
    yield from faults
    if isinstance(data, Mapping) and isinstance(data.get("tasks"), list | tuple):
        yield from _consistency_faults(data, {fault.path[:2] for fault in faults})


def _consistency_faults(data: Mapping[str, Any], faulty: set[Path]) -> Iterator[Fault]:
    if any(path[:1] in {("tools",), ("tool_results",)} for path in faulty):
        return
    offered = data.get("tools", ())
    named = _tool_names(offered)
    for index, values in enumerate(data["tasks"]):
        if ("tasks", index) not in faulty:
            task: TaskSpec = TASK.load(values)
            named |= _tool_names(task.tools) | {use.name for use in task.expected_tools}
            yield from _tool_faults(task, task.tools or offered, ("tasks", index))
    if not faulty:  # otherwise a faulty task may be the one that names the tool
        yield from _result_faults(data.get("tool_results", {}), named, ())


def _tool_names(tools: Iterable[Mapping[str, Any]]) -> set[str]:
    return {tool["function"]["name"] for tool in tools}


def _tool_faults(task: TaskSpec, offered: Sequence[Mapping[str, Any]], path: Path) -> Iterator[Fault]:
    """Yield expected calls that the offered tools do not allow: no model could ever make them."""
    functions = {tool["function"]["name"]: tool["function"] for tool in offered}
    for index, use in enumerate(task.expected_tools):
        where: Path = (*path, "expected_tools", index)
        if use.name in functions:
            yield from _argument_faults(use, functions[use.name].get("parameters", {}), (*where, "args"))
        elif functions:
            yield _not_offered(use.name, functions, (*where, "name"))
    names = functions.keys() or {use.name for use in task.expected_tools}
    yield from _result_faults(task.tool_results, names, path)


def _argument_faults(use: ToolUse, parameters: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    known = parameters.get("properties", {})
    closed = not parameters.get("additionalProperties") and not _OPEN_ENDED & parameters.keys()
    for name in use.args:
        if closed and name not in known:
            yield Fault((*path, name), f"{quoted(name)} is no argument of {use.name}{did_you_mean(name, known)}")
    for name in parameters.get("required", ()):
        if name not in use.args:
            yield Fault(path, f"lacks {quoted(name)}, which {use.name} requires")


def _result_faults(results: Mapping[str, Any], names: Iterable[str], path: Path) -> Iterator[Fault]:
    known = set(names)
    for name in results:
        if name not in known:
            yield _not_offered(name, known, (*path, "tool_results", name))


def _not_offered(name: str, known: Iterable[str], path: Path) -> Fault:
    names = sorted(known)
    listed = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    hint = did_you_mean(name, names) or f"; offered: {listed or 'none'}"
    return Fault(path, f"{quoted(name)} is not among the tools that are offered{hint}")


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
