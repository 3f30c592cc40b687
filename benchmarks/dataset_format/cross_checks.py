"""What the parts of a dataset must be beside each other: rubrics, metrics, tools and their arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.dataset_format.problems import Fault, Path, did_you_mean, quoted
from benchmarks.dataset_format.spec import TaskSpec
from benchmarks.dataset_format.tools import ToolUse
from benchmarks.dataset_format.world_checks import dataset_world_faults, task_world_faults
from benchmarks.metrics.base import ALWAYS_THERE, FROM_SYSTEMS
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.metrics.rubrics import PREFIX, RubricMetric, rubric_metric
from benchmarks.metrics.task_parts import Arguments, RubricValues, Tool

_OPEN_ENDED = frozenset({"patternProperties", "allOf", "anyOf", "oneOf", "$ref", "if"})


def cross_faults(data: Mapping[str, Any], tasks: Mapping[int, TaskSpec], *, complete: bool) -> Iterator[Fault]:
    """Yield expected calls and results that fit no tool. ``complete`` says that all records are valid."""
    offered = data.get("tools", ())
    named = _tool_names(offered)
    for index, task in tasks.items():
        named |= _tool_names(task.tools) | {use.name for use in task.expected_tools}
        yield from tool_faults(task, task.tools or offered, ("tasks", index))
        if complete:
            yield from task_world_faults(task, task.tools or offered, data.get("world"), ("tasks", index))
    if complete:  # otherwise an invalid task may be the one that names the tool
        yield from _result_faults(data.get("tool_results", {}), named, ())
        yield from dataset_world_faults(data.get("world"), offered, named)
        yield from _rubric_faults(data.get("rubrics", ()), tasks)
        yield from _metric_faults(data.get("metrics", ()), data.get("rubrics", ()), list(tasks.values()))


def _rubric_faults(rubrics: Sequence[RubricValues], tasks: Mapping[int, TaskSpec]) -> Iterator[Fault]:
    """Yield rubrics without a name, and tasks that name no rubric of the dataset."""
    yield from nameless(rubrics, ("rubrics",))
    named = [rubric["name"] for rubric in rubrics if rubric.get("name")]
    for index, task in tasks.items():
        if problem := rubric_problem(task, named):
            yield Fault(("tasks", index, "rubric"), problem)


def nameless(rubrics: Sequence[RubricValues], path: Path) -> Iterator[Fault]:
    for index, rubric in enumerate(rubrics):
        if not rubric.get("name"):
            yield Fault((*path, index, "name"), "is missing: the metric is `rubric:NAME`")


def rubric_problem(task: TaskSpec, named: Sequence[str]) -> str:
    """What is wrong with the rubric that the task names, if its dataset has those ``named``; empty if nothing is."""
    if not isinstance(task.rubric, str) or task.rubric in named:
        return ""
    hint = did_you_mean(task.rubric, named) or f"; rubrics: {', '.join(named[:8]) or 'none'}"
    return f"{quoted(task.rubric)} is not one of the dataset's rubrics{hint}"


def _metric_faults(
    metrics: Sequence[str], rubrics: Sequence[RubricValues], tasks: Sequence[TaskSpec]
) -> Iterator[Fault]:
    """Yield metrics that could score no task."""
    own = {rubric["name"]: rubric for rubric in rubrics if rubric.get("name")}
    for index, name in enumerate(metrics):
        metric = REGISTERED_METRICS.get(name) or rubric_metric(name, own)
        if metric is None or (isinstance(metric, RubricMetric) and metric.rubric is None):
            hint = did_you_mean(name, [PREFIX + each for each in own]) or "; list it in `rubrics`"
            yield Fault(("metrics", index), f"{name} is not one of the dataset's rubrics{hint}")
            continue
        needs = sorted(metric.needs - ALWAYS_THERE - FROM_SYSTEMS.keys())
        if missing := [field for field in needs if not any(task.states(field) for task in tasks)]:
            reason = "scores only canvases" if "group" in missing else f"needs {missing[0]}, which no task has"
            yield Fault(("metrics", index), f"{name} {reason}: remove it")


def _tool_names(tools: Iterable[Tool]) -> set[str]:
    return {tool["function"]["name"] for tool in tools}


def tool_faults(task: TaskSpec, offered: Sequence[Tool], path: Path) -> Iterator[Fault]:
    """Yield expected calls that the available tools do not allow: no model could make them."""
    functions = {tool["function"]["name"]: tool["function"] for tool in offered}
    for index, use in enumerate(task.expected_tools):
        where: Path = (*path, "expected_tools", index)
        if use.name in functions:
            yield from _argument_faults(use, functions[use.name].get("parameters", {}), where)
        elif functions:
            yield _not_available(use.name, functions, (*where, "name"))
    # Without tools, a run infers them from the expected calls.
    names = functions.keys() or {use.name for use in task.expected_tools}
    yield from _result_faults(task.tool_results, names, path)


def _argument_faults(use: ToolUse, parameters: Arguments, path: Path) -> Iterator[Fault]:
    known = parameters.get("properties", {})
    # Additional arguments are allowed only if the schema says so, in any of the ways it can.
    closed = not parameters.get("additionalProperties") and not _OPEN_ENDED & parameters.keys()
    for key, names in (("args", use.args), ("accept", use.accept)):
        for name in names:
            if closed and name not in known:
                hint = did_you_mean(name, known)
                yield Fault((*path, key, name), f"{quoted(name)} is not an argument of {use.name}{hint}")
    for name in parameters.get("required", ()):
        if name not in use.args:
            yield Fault((*path, "args"), f"is missing {quoted(name)}, which {use.name} requires")


def _result_faults(results: Mapping[str, object], names: Iterable[str], path: Path) -> Iterator[Fault]:
    known = set(names)
    for name in results:
        if name not in known:
            yield _not_available(name, known, (*path, "tool_results", name))


def _not_available(name: str, known: Iterable[str], path: Path) -> Fault:
    names = sorted(known)
    listed = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    hint = did_you_mean(name, names) or f"; available: {listed or 'none'}"
    return Fault(path, f"{quoted(name)} is not one of the available tools{hint}")
