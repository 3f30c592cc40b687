"""A second reader of each text, written apart, arrives at the same JSON; copies and constants do not."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from datetime import datetime
from io import StringIO
from statistics import mean
from typing import Any

from benchmarks.dataset_format.spec import TaskSpec
from benchmarks.generators.tests.test_generators import LEVELS, dataset, full_marks, score
from benchmarks.metrics.base import Item
from benchmarks.metrics.json_match import leaves
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS

_ORDER = re.compile(
    r"Order (\d+): (\w+) (\w+) wants (\d+) (\w+)s at (\d+)\.(\d\d) each by (.*? \d{4})(, express)?(?: \((.*)\))?\."
)


def tasks() -> tuple[TaskSpec, ...]:
    return dataset("structured-output", 1, 300).tasks


def orders(text: str) -> Any:
    rows = []
    for found in _ORDER.finditer(text):
        number, first, last, count, item, whole, part, day, express, note = found.groups()
        by = datetime.strptime(day, "%d %B %Y").strftime("%Y-%m-%d")
        row = {
            "order": int(number),
            "first_name": first,
            "last_name": last,
            "item": item,
            "count": int(count),
            "by": by,
        }
        row |= {"express": bool(express), "note": note}
        rows.append(row | ({"cents": int(count) * int(whole + part)} if "`cents`" in text else {}))
    return sorted(rows, key=lambda row: (row["by"], row["order"])) if "sorted by" in text else rows


def table(text: str) -> Any:
    rows = []
    for row in csv.DictReader(StringIO(text.split("```")[1].strip()), delimiter=";"):
        typed = {**row, "floor": int(row["floor"]), "active": row["active"] == "yes", "note": row["note"] or None}
        rows.append({**typed, "offset": float(row["offset"]) if row["offset"] else None})
    if "Leave out" in text:
        rows = [row for row in rows if not (not row["active"] and row["offset"] is None)]
    if "Sort the rest" in text:
        rows = sorted(sorted(rows, key=lambda row: row["code"]), key=lambda row: row["floor"], reverse=True)
    return rows


def log(text: str) -> Any:
    found = re.findall(r"^(\S+) (\w+) \[(\w+)\]", text, re.MULTILINE)
    result = {}
    for service in {service for _, _, service in found}:
        own = [(time, level) for time, level, name in found if name == service]
        if "Ignore DEBUG" in text:
            own = [(time, level) for time, level in own if level != "DEBUG"]
        errors = sum(level == "ERROR" for _, level in own)
        if own and (errors or "without an ERROR" not in text):
            result[service] = {"lines": len(own), "errors": errors, "first": own[0][0], "last": own[-1][0]}
    return result


def outline(text: str) -> Any:
    parts = [(len(dash) // 2, name, int(size)) for dash, name, size in re.findall(r"^( *)- (.*): (\d+)$", text, re.M)]

    def below(start: int, depth: int) -> list[Any]:
        found = []
        for place in range(start, len(parts)):
            if parts[place][0] < depth:
                break
            if parts[place][0] == depth:
                inner = below(place + 1, depth + 1)
                size = parts[place][2] + (sum(part["size"] for part in inner) if "own number plus" in text else 0)
                found.append({"name": parts[place][1], "size": size, "parts": inner})
        return found

    return below(0, 0)


def edits(text: str) -> Any:
    value = json.loads(text.partition("\n")[0])
    for line in re.findall(r"^\d+\. (.*)$", text, re.MULTILINE):
        names = re.findall(r"`(\w+)`", line)
        number = int((re.findall(r"\d+", line) or ["0"])[-1])
        if line.startswith("Remove"):
            value = {key: below for key, below in value.items() if key != names[0]}
        elif line.startswith("Rename"):
            value = {names[1] if key == names[0] else key: below for key, below in value.items()}
        elif line.startswith("Append"):
            value[names[1]]["colors"] += re.findall('"(.*)"', line)
        elif line.startswith("Raise"):
            value[names[1]]["price"] = value[names[1]]["price"] + number
        else:
            field, key = (names[0], names[1])
            value[key][field] = int(re.search(r"to (\d+)", line)[1])
    return value


READERS: dict[str, Callable[[str], Any]] = {
    **{"edits": edits, "log": log, "orders": orders, "outline": outline, "table": table}
}


def test_a_second_reader_arrives_at_every_reference() -> None:
    for task in tasks():
        assert READERS[task.tags[0]](task.input) == json.loads(task.expected_output), task.id


def test_every_reference_fits_its_schema() -> None:
    for task in tasks():
        answer = task.accepted_answers[0]
        item = Item(input=task.input, actual_output=answer, expected_output=answer, schema=task.schema)
        for name in ("json_schema", "json_valid"):
            assert REGISTERED_METRICS[name].score(item).value == 1, (task.id, name)


def test_an_empty_value_or_the_answer_to_another_task_gets_little() -> None:
    for constant in ("{}", "[]", "null", tasks()[1].expected_output):
        assert mean(score("structured-output", task, constant) for task in tasks()) < 0.03, constant


def test_only_unedited_json_can_be_copied_and_it_is_never_right() -> None:
    copied = {kind: [t for t in tasks() if kind in t.tags] for kind in READERS}
    means = {kind: mean(score("structured-output", t, t.input) for t in tasks) for kind, tasks in copied.items()}
    assert means.pop("edits") < 0.75
    assert max(means.values()) < 0.05
    assert full_marks("structured-output", [(task, task.input) for task in tasks()]) == 0


def test_readers_of_graded_ability_do_worse_on_every_higher_level() -> None:
    """A simulated reader gets each field right with a fixed probability; all must be right."""

    def fields(task: TaskSpec) -> int:
        return len(leaves(json.loads(task.expected_output)))

    for kind in READERS:
        easy, medium, hard = (
            mean(0.99 ** fields(task) for task in tasks() if (kind, level) == (task.tags[0], task.difficulty))
            for level in LEVELS
        )
        assert easy > medium > hard, kind
