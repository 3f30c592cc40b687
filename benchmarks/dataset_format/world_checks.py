"""Checks of worlds across records: tables, columns, tools and arguments that rules name, and the expected calls."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from benchmarks.dataset_format.problems import Fault, Path, did_you_mean, quoted
from benchmarks.dataset_format.spec import TaskSpec
from benchmarks.metrics.base import shortened
from benchmarks.metrics.task_parts import Arguments, Conditions, Row, Rule, Tool, WorldTables
from benchmarks.metrics.worlds import NEXT, World, described, merged_world, references, world_spec

_OPEN = frozenset({"patternProperties", "allOf", "anyOf", "oneOf", "$ref", "if"})


def dataset_world_faults(world: WorldTables | None, tools: Sequence[Tool], named: Collection[str]) -> Iterator[Fault]:
    """Yield what is wrong with the rules of a dataset. Its tables may be those of its tasks, so they are not asked for.

    ``named`` are all tools that the dataset or one of its tasks has.
    """
    parameters = _parameters(tools)
    for index, rule in enumerate((world or WorldTables()).get("rules", ())):
        path: Path = ("world", "rules", index)
        yield from _tool_fault(rule["tool"], named, path)
        yield from _argument_faults(rule, parameters, path)


def task_world_faults(
    task: TaskSpec, tools: Sequence[Tool], dataset_world: WorldTables | None, path: Path
) -> Iterator[Fault]:
    """Yield what keeps the world of a task from working, and its final state from being reached by its own calls."""
    world = merged_world(dataset_world, task.world)
    if not world:
        if task.final_state:
            yield Fault((*path, "final_state"), "needs a world: enter `world` with tables and rules")
        return
    parameters, tables = _parameters(tools), world["tables"]
    faults = []
    for index, rule in enumerate(task.world.get("rules", ())):
        here = (*path, "world", "rules", index)
        faults += [*_tool_fault(rule["tool"], parameters, here), *_argument_faults(rule, parameters, here)]
    for rule in world["rules"]:
        if rule["tool"] not in parameters:
            continue  # a rule for the tools of another task
        own = [*task.world.get("rules", ())]
        here = (*path, "world", *(("rules", own.index(rule)) if rule in own else ()))
        faults += [*_table_faults(rule["table"], rule.get("where", {}), tables, here)]
        for place, requirement in enumerate(rule.get("require", ())):
            table = requirement.get("table", rule["table"]) or ""
            at = (*here, "require", place) if rule in own else here
            faults += _table_faults(table, requirement["where"], tables, at)
    for index, row in enumerate(task.final_state.get("rows", ())):
        faults += _table_faults(row["table"], row["where"], tables, (*path, "final_state", "rows", index))
    for index, call in enumerate(task.final_state.get("forbidden", ())):
        faults += _tool_fault(call["name"], parameters, (*path, "final_state", "forbidden", index), "name")
    yield from faults
    if not faults and task.final_state and task.expected_tools:
        yield from _reference_faults(task, World(world_spec(world, tools)), path)


def _reference_faults(task: TaskSpec, world: World, path: Path) -> Iterator[Fault]:
    """Yield where the expected calls of the task do not lead to its final state."""
    for index, use in enumerate(task.expected_tools):
        result = world.call(use.name, use.args) if world.answers(use.name) else ""
        if isinstance(result, str) and result.startswith("error: "):
            yield Fault((*path, "expected_tools", index), f"fails in the world: {shortened(result[7:], 200)}")
            return
    state = task.final_state
    rows = state.get("rows", ())
    for index, row in enumerate(rows):
        if not world.holds(row):
            call = described({"name": row["table"], "args": row["where"]})
            message = f"does not hold after the expected_tools: {call}"
            yield Fault((*path, "final_state", "rows", index), message)
    for change in world.unexpected(rows)[:1]:
        message = f"does not expect what the expected_tools do ({change}): add that row"
        yield Fault((*path, "final_state", *(("rows",) if rows else ())), message)
    if "max_steps" in state and len(task.expected_tools) > state["max_steps"]:
        yield Fault((*path, "final_state", "max_steps"), f"is less than the {len(task.expected_tools)} expected_tools")


def _parameters(tools: Sequence[Tool]) -> dict[str, Arguments]:
    return {tool["function"]["name"]: tool["function"].get("parameters", {}) for tool in tools}


def _tool_fault(tool: str, known: Collection[str], path: Path, key: str = "tool") -> Iterator[Fault]:
    if tool not in known:
        hint = did_you_mean(tool, known) or f"; available: {', '.join(sorted(known)[:8]) or 'none'}"
        yield Fault((*path, key), f"{quoted(tool)} is not one of the available tools{hint}")


def _argument_faults(rule: Rule, parameters: Mapping[str, Arguments], path: Path) -> Iterator[Fault]:
    """Yield references to arguments that the tool does not have."""
    schema = parameters.get(rule["tool"])
    if schema is None or schema.keys() & _OPEN:
        return
    known = {*schema.get("properties", {}), *((NEXT,) if rule["action"] == "insert" else ())}
    for key in ("where", "require", "set", "add", "missing"):
        for name in references(rule.get(key)):
            if name not in known:
                hint = did_you_mean(name, known) or f"; it has {', '.join(sorted(known)) or 'none'}"
                yield Fault((*path, key), f"{quoted('$' + name)} is not an argument of {rule['tool']}{hint}")


def _table_faults(table: str, where: Conditions, tables: Mapping[str, Sequence[Row]], path: Path) -> Iterator[Fault]:
    """Yield a table that does not exist, and columns that no row of it has."""
    rows = tables.get(table)
    if rows is None:
        hint = did_you_mean(table, tables) or f"; the world has {', '.join(tables) or 'none'}"
        yield Fault((*path, "table") if path[-1] != "world" else path, f"{quoted(table)} is not a table{hint}")
    elif rows:
        columns = {column for row in rows for column in row}
        for column in where:
            if column not in columns:
                hint = did_you_mean(column, columns) or f"; it has {', '.join(sorted(columns)[:8])}"
                here = (*path, "where", column) if path[-1] != "world" else path
                yield Fault(here, f"{quoted(column)} is not a column of {table}{hint}")
