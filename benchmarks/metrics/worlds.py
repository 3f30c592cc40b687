"""Small worlds: tables that tools read and change by declared rules, and what must hold in them at the end.

A world is data, and so are its rules: a call is answered by comparing, copying and adding values. The same calls in the
same order always lead to the same state, so a state is never stored: it is computed again from the calls.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.metrics.base import WorldSpec, shortened
from benchmarks.metrics.json_match import same_json
from benchmarks.metrics.patterns import UnusableSchemaError
from benchmarks.metrics.task_parts import Call, Conditions, ExpectedRow, Row, Rule, Tool, WorldTables
from benchmarks.providers.base import ToolCall

MAX_RETURNED = 50
"""Rows that one call returns."""
MAX_CHARACTERS = 20_000
"""Characters of a text that a rule fills with arguments."""
LARGEST = 2**63 - 1
NEXT = "next"
"""In an inserted row, ``$next`` is the number of the row in its table, counted from 1 and never used again."""
_REFERENCE = re.compile(r"\$(\$|[A-Za-z_]\w*)")

Given = Mapping[str, object]
"""Arguments of a call."""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _compared(value: Any, wanted: Any, holds: Callable[[Any, Any], bool]) -> bool:
    alike = (_is_number(value) and _is_number(wanted)) or (isinstance(value, str) and isinstance(wanted, str))
    return alike and holds(value, wanted)


def _contains(value: Any, wanted: Any) -> bool:
    if isinstance(value, str) and isinstance(wanted, str):
        return wanted.casefold() in value.casefold()
    return isinstance(value, list | tuple) and any(same_json(each, wanted) for each in value)


OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "min": lambda value, wanted: _compared(value, wanted, lambda a, b: a >= b),
    "max": lambda value, wanted: _compared(value, wanted, lambda a, b: a <= b),
    "not": lambda value, wanted: not same_json(value, wanted),
    "in": lambda value, wanted: _contains(wanted if isinstance(wanted, list | tuple) else (), value),
    "contains": _contains,
}
"""Operator of a condition → whether it holds for the value of a row. Text compares as dates and times do."""


def merged_world(dataset: WorldTables | None, task: WorldTables | None) -> WorldTables:
    """The world of a task: its tables, and its rules by tool, in place of the dataset's; empty without any."""
    first, second = dataset or WorldTables(), task or WorldTables()
    tables = {**first.get("tables", {}), **second.get("tables", {})}
    own = second.get("rules", ())
    replaced = {rule["tool"] for rule in own}
    rules = [*(rule for rule in first.get("rules", ()) if rule["tool"] not in replaced), *own]
    return WorldTables(tables=tables, rules=rules) if tables or rules else WorldTables()


def world_spec(world: WorldTables, tools: Sequence[Tool]) -> WorldSpec:
    """What answers the calls in a merged world with these tools."""
    functions = (tool["function"] for tool in tools)
    return WorldSpec(world["tables"], world["rules"], {each["name"]: each.get("parameters", {}) for each in functions})


class _Refused(Exception):
    """A call that changes nothing; the text is what the model reads."""


class _NotGiven(Exception):
    """A rule refers to an argument that the call does not have."""


class Change(NamedTuple):
    """A row that was added, deleted or changed: ``None`` where it did not exist."""

    table: str
    before: Row | None
    after: Row | None

    @property
    def how(self) -> str:
        return "deleted from" if self.after is None else "added to" if self.before is None else "changed in"


class World:
    """One run of a world, from its tables at the start."""

    def __init__(self, spec: WorldSpec) -> None:
        self._spec = spec
        # A row keeps its number, and is replaced when it changes: tables can be copied and compared cheaply.
        self._start = {name: dict(enumerate(rows)) for name, rows in spec.tables.items()}
        self.tables = {name: dict(rows) for name, rows in self._start.items()}
        self._next = {name: len(rows) for name, rows in spec.tables.items()}

    def answers(self, tool: str) -> bool:
        """Whether the world has rules for the tool."""
        return any(rule["tool"] == tool for rule in self._spec.rules)

    def call(self, tool: str, arguments: Given) -> Any:
        """The result of a call as a JSON value. One that a rule refuses changes nothing and returns ``error: …``."""
        from benchmarks.metrics.schema_violations import schema_violation  # loads jsonschema, which takes its time

        rules = [rule for rule in self._spec.rules if rule["tool"] == tool]
        before = {name: dict(rows) for name, rows in self.tables.items()}, dict(self._next)
        try:
            if violation := schema_violation(dict(arguments), self._spec.parameters.get(tool, {})):
                return f"error: the arguments are not valid. {violation}."
            return [self._applied(rule, arguments) for rule in rules][-1]
        except (_Refused, _NotGiven, UnusableSchemaError) as refusal:
            self.tables, self._next = before
            return f"error: {refusal}"

    def _applied(self, rule: Rule, arguments: Given) -> Any:
        table, action = rule["table"], rule["action"]
        rows = self.tables[table]
        if action == "insert":
            self._require(rule, {}, arguments)
            row: Row = dict(_values(rule.get("set", {}), {**arguments, NEXT: self._next[table] + 1}))
            rows[self._next[table]] = row
            self._next[table] += 1
            return _shown([row], rule)[0]
        where = rule.get("where", {})
        # An argument that a search leaves out does not narrow it. A change without it could change too much.
        matching = {
            number: row for number, row in rows.items() if _matches(row, where, arguments, optional=action == "read")
        }
        if not matching and ("missing" in rule or action != "read"):
            raise _Refused(_filled(rule.get("missing", f"no row of {table} matches"), arguments))
        self._require(rule, matching, arguments)
        if action == "delete":
            for number in matching:
                del rows[number]
            return {"deleted": len(matching)}
        if action == "update":
            changes = dict(_values(rule.get("set", {}), arguments))
            for number, row in matching.items():
                rows[number] = {**row, **changes, **dict(_sums(row, rule.get("add", {}), arguments))}
            return _shown([rows[number] for number in matching], rule)
        return _shown(list(matching.values()), rule)

    def _require(self, rule: Rule, matching: Mapping[int, Row], arguments: Given) -> None:
        for requirement in rule.get("require", ()):
            where, table = requirement.get("where", {}), requirement.get("table")
            if table is None:
                holds = all(_matches(row, where, arguments) for row in matching.values())
            else:
                holds = any(_matches(row, where, arguments) for row in self.tables[table].values())
            if holds == requirement.get("absent", False):
                raise _Refused(_filled(requirement["error"], arguments))

    def holds(self, expected: ExpectedRow) -> bool:
        """Whether the table has exactly as many rows as expected."""
        rows = self.tables[expected["table"]].values()
        return sum(_matches(row, expected["where"], {}) for row in rows) == expected.get("count", 1)

    def unexpected(self, expected: Sequence[ExpectedRow]) -> list[str]:
        """Each change that nothing expects, as ``row deleted from orders``.

        Expected is a new or changed row that matches an expected one, and the deletion of a row of which none is to
        be left.
        """
        found = []
        for change in self.changes():
            row = change.before if change.after is None else change.after
            is_left = change.after is not None
            wanted = [
                each for each in expected if each["table"] == change.table and bool(each.get("count", 1)) == is_left
            ]
            if row is not None and not any(_matches(row, each["where"], {}) for each in wanted):
                found.append(f"row {change.how} {change.table}")
        return sorted(found)

    def changes(self) -> list[Change]:
        """The rows that differ from the start, table by table in their order."""
        found = []
        for table, rows in self.tables.items():
            start = self._start[table]
            for number in sorted(start.keys() | rows.keys()):
                before, after = start.get(number), rows.get(number)
                if before is after or (before is not None and after is not None and same_json(before, after)):
                    continue
                found.append(Change(table, before, after))
        return found


def state_after(spec: WorldSpec, calls: Sequence[ToolCall]) -> World:
    """The world after the calls; those with malformed arguments, or of tools without rules, change nothing."""
    world = World(spec)
    for call in calls:
        if call.arguments is not None and world.answers(call.name):
            world.call(call.name, call.arguments)
    return world


def references(value: Any) -> Iterator[str]:
    """The names of arguments that a value of a rule refers to."""
    if isinstance(value, str):
        yield from (name for name in _REFERENCE.findall(value) if name != "$")
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from references(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from references(each)


def _filled(value: Any, arguments: Given) -> Any:
    """The value with its references replaced: ``$name`` alone becomes the argument itself, within text its text.

    Raises ``_NotGiven`` for an argument that the call lacks.
    """
    if isinstance(value, list | tuple):
        return [_filled(each, arguments) for each in value]
    if not isinstance(value, str) or "$" not in value:
        return value
    if (whole := _REFERENCE.fullmatch(value)) and whole[1] != "$":
        return _argument(whole[1], arguments)
    parts, end, length = [], 0, len(value)
    for match in _REFERENCE.finditer(value):
        text = "$" if match[1] == "$" else str(_argument(match[1], arguments))
        parts += [value[end : match.start()], text]
        end, length = match.end(), length + len(text)
        if length > MAX_CHARACTERS:
            raise _Refused(f"the text is longer than {MAX_CHARACTERS:,} characters")
    return "".join([*parts, value[end:]])


def _argument(name: str, arguments: Given) -> Any:
    if name not in arguments:
        raise _NotGiven(f"the argument {name} is missing")
    return arguments[name]


def _matches(row: Row, where: Conditions, arguments: Given, *, optional: bool = False) -> bool:
    for column, wanted in where.items():
        conditions = wanted.items() if isinstance(wanted, Mapping) else (("", wanted),)
        for operator, operand in conditions:
            try:
                value = _filled(operand, arguments)
            except _NotGiven:
                if optional:
                    continue
                raise
            holds = OPERATORS.get(operator, same_json)
            if not holds(row.get(column), value):
                return False
    return True


def _values(templates: Row, arguments: Given) -> Iterator[tuple[str, Any]]:
    """Columns with their new values; none for an argument that the call leaves out."""
    for column, template in templates.items():
        try:
            yield column, _filled(template, arguments)
        except _NotGiven:
            continue


def _sums(row: Row, added: Row, arguments: Given) -> Iterator[tuple[str, Any]]:
    for column, template in added.items():
        negative = isinstance(template, str) and template.startswith("-")
        given = template[1:] if isinstance(template, str) and negative else template
        amount, value = _filled(given, arguments), row.get(column, 0)
        if not _is_number(amount) or not _is_number(value):
            raise _Refused(f"{column} is not a number")
        # Decimal places as people count: 0.1 + 0.2 is 0.3.
        total = round(value - amount if negative else value + amount, 6)
        if not math.isfinite(total) or abs(total) > LARGEST:
            raise _Refused(f"{column} gets too large")
        yield column, total


def _shown(rows: Sequence[Row], rule: Rule) -> Any:
    columns = rule.get("columns")
    shown = [{name: row[name] for name in columns if name in row} if columns else row for row in rows[:MAX_RETURNED]]
    if len(rows) > MAX_RETURNED:
        return [*shown, f"{len(rows) - MAX_RETURNED} more rows left out"]
    return shown


def described(call: Call) -> str:
    """A call for people: ``refund(order_id=A-1)``."""
    arguments = ", ".join(f"{name}={value}" for name, value in (call.get("args") or {}).items())
    return shortened(f"{call['name']}({arguments})", 100)
