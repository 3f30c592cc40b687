"""Texts to turn into JSON with one right value. A higher level has more entries and more rules."""

from __future__ import annotations

import json
from datetime import date
from typing import Any, ClassVar

from benchmarks.generators.base import Generator, Task
from benchmarks.generators.reasoning import MONTHS
from tasks_app.canvas.random_source import KeyedRandom

FIRST = ("Ines", "Omar", "Lena", "Tariq", "Sofia", "Jonas", "Mei", "Pavel", "Amina", "Carlos")
LAST = ("Okafor", "Berg", "Silva", "Novak", "Haddad", "Lindqvist", "Moreau", "Tanaka")
GOODS = ("lamp", "chair", "kettle", "blanket", "mirror", "clock", "basket", "rug")
SERVICES = ("auth", "billing", "search", "mail", "upload")
LEVELS = ("DEBUG", "INFO", "WARN", "ERROR")
ENTRIES = (3, 6, 12)
_ONLY = "Reply with JSON only."


def _task(name: str, text: str, value: Any) -> Task:
    expected = json.dumps(value, ensure_ascii=False)
    return {"name": name, "input": f"{text} {_ONLY}\n", "expected_output": expected, "schema": _schema([value])}


def _schema(values: list[Any]) -> dict[str, Any]:
    """The JSON Schema of these values: types, keys of objects, items of lists; what differs is left open."""
    if all(isinstance(value, dict) for value in values):
        keys = {key for value in values for key in value}
        if all(value.keys() == keys for value in values):
            below = {key: _schema([value[key] for value in values]) for key in sorted(keys)}
            return {"type": "object", "properties": below, "required": sorted(keys), "additionalProperties": False}
        return {"type": "object"}
    if all(isinstance(value, list) for value in values):
        items = [item for value in values for item in value]
        return {"type": "array", **({"items": _schema(items)} if items else {})}
    names = {bool: "boolean", int: "number", float: "number", str: "string", dict: "object", list: "array"}
    return {"type": sorted({names.get(type(value), "null") for value in values})}


def orders(random: KeyedRandom, level: int) -> Task:
    lines, rows = [], []
    for number in random.sample(range(1000, 9999), ENTRIES[level - 1]):
        first, last, good = random.choice(FIRST), random.choice(LAST), random.choice(GOODS)
        count, cents = random.randint(2, 9), random.randrange(250, 9000, 5)
        day = date(random.randint(2023, 2026), random.randint(1, 12), random.randint(1, 28))
        express = random.random() < 0.5
        note = random.choice(("leave at the door", "call first", "fragile", ""))
        lines.append(
            f"Order {number}: {first} {last} wants {count} {good}s at {cents // 100}.{cents % 100:02} each by "
            f"{day.day} {MONTHS[day.month - 1]} {day.year}{', express' if express else ''}{note and f' ({note})'}."
        )
        row: dict[str, object] = {"order": number, "first_name": first, "last_name": last, "item": good, "count": count}
        row |= {"by": day.isoformat(), "express": express, "note": note or None}
        if level > 1:
            row["cents"] = count * cents
        rows.append(row)
    rules = (
        "Write the orders as a JSON array of objects with the keys `order` (number), `first_name`, `last_name`, `item` "
        "(singular), `count` (number), `by` (yyyy-mm-dd), `express` (true or false) and `note` (text or null)"
    )
    if level > 1:
        rules += ", and `cents` (number): the price of all pieces together, in hundredths"
    if level == 3:
        rules += ", sorted by `by`, and by `order` on equal dates"
        rows.sort(key=lambda row: (row["by"], row["order"]))
    else:
        rules += ", in the same order"
    listed = "\n".join(lines)
    return _task("Orders from sentences", f"{listed}\n\n{rules}.", rows)


def table(random: KeyedRandom, level: int) -> Task:
    lines, rows = ["code;floor;active;offset;note"], []
    for number in random.sample(range(1, 999), ENTRIES[level - 1]):
        floor, active = random.randint(-2, 14), random.random() < 0.5
        tenths = random.choice((None, random.randint(-60, 60)))
        note = random.choice(("", "window; north", "spare", 'the "old" one'))
        quoted = '"' + note.replace('"', '""') + '"' if {";", '"'} & set(note) else note
        shown = "" if tenths is None else f"{tenths / 10:.1f}"
        lines.append(f"{number:03};{floor};{'yes' if active else 'no'};{shown};{quoted}")
        offset = None if tenths is None else tenths / 10
        rows.append({"code": f"{number:03}", "floor": floor, "active": active, "offset": offset, "note": note or None})
    rules = (
        "Write this table (CSV with semicolons) as a JSON array of objects in the same order: `code` is text, `floor` "
        "a number, `active` true or false, `offset` a number or null if empty, `note` text or null if empty."
    )
    if level > 1:
        rules += " Leave out the rows that are not active and have no offset."
        rows = [row for row in rows if row["active"] or row["offset"] is not None]
    if level == 3:
        rules += " Sort the rest by `floor` from high to low, and by `code` on the same floor."
        rows.sort(key=lambda row: (-int(str(row["floor"])), str(row["code"])))
    if not rows:
        return table(random, level)
    listed = "\n".join(lines)
    return _task("A table with types", f"```\n{listed}\n```\n\n{rules}", rows)


def log(random: KeyedRandom, level: int) -> Task:
    seconds, lines = random.randrange(30_000, 50_000), []
    result: dict[str, dict[str, Any]] = {}
    services = SERVICES[: level + 2]
    for _ in range(3 * ENTRIES[level - 1]):
        seconds += random.randint(1, 400)
        service, severity = random.choice(services), random.choice(LEVELS)
        time = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        lines.append(f"{time} {severity} [{service}] request {random.randint(100, 999)}")
        if level > 1 and severity == "DEBUG":
            continue
        entry = result.setdefault(service, {"lines": 0, "errors": 0, "first": time, "last": time})
        entry["lines"] += 1
        entry["errors"] += severity == "ERROR"
        entry["last"] = time
    if not result:
        return log(random, level)
    rules = (
        "Write a JSON object with a key for each service in brackets, whose value is an object with `lines` (how many "
        "lines the service has), `errors` (how many of them are ERROR), `first` and `last` (the times of its first and "
        "last line)."
    )
    if level > 1:
        rules += " Ignore DEBUG lines; a service without other lines has no key."
    if level == 3:
        rules += " Leave out services without an ERROR."
        result = {service: entry for service, entry in result.items() if entry["errors"]}
    listed = "\n".join(lines)
    return _task("A log by service", f"```\n{listed}\n```\n\n{rules}", result) if result else log(random, level)


def outline(random: KeyedRandom, level: int) -> Task:
    root: dict[str, Any] = {"name": "house", "size": 0, "parts": []}
    path, lines = [root], []
    for number in range(2 * ENTRIES[level - 1]):
        depth = random.randint(1, min(len(path), level + 1))
        size = random.randint(1, 90)
        part: dict[str, Any] = {"name": f"{random.choice(GOODS)} {number + 1}", "size": size, "parts": []}
        path = path[:depth]
        path[-1]["parts"].append(part)
        path.append(part)
        lines.append(f"{'  ' * (depth - 1)}- {part['name']}: {size}")
    rules = (
        "Write this outline as a JSON array of objects with the keys `name`, `size` (number) and `parts` (an array)."
    )
    if level == 3:
        rules += " The `size` of an object with parts is its own number plus the sizes of its parts, computed alike."
        for part in root["parts"]:
            _add_up(part)
    listed = "\n".join(lines)
    return _task("An outline", f"{listed}\n\n{rules}", root["parts"])


def _add_up(part: dict[str, Any]) -> int:
    part["size"] += sum(_add_up(below) for below in part["parts"])
    return int(part["size"])


def edits(random: KeyedRandom, level: int) -> Task:
    keys = random.sample(GOODS, level + 3)
    value: dict[str, Any] = {
        key: {"price": random.randint(5, 99), "colors": random.sample(("red", "blue", "green", "grey"), 2)}
        for key in keys
    }
    before = json.dumps(value)
    lines = []
    for _ in range((3, 6, 11)[level - 1]):
        key = random.choice(tuple(value))
        kind = random.choice(("set", "add", "append", "remove", "rename", "stock"))
        number = random.randint(2, 20)
        if kind == "remove" and len(value) > 2:
            del value[key]
            lines.append(f"Remove `{key}`.")
        elif kind == "rename" and (unused := [good for good in GOODS if good not in value]):
            new = random.choice(unused)
            value[new] = value.pop(key)
            lines.append(f"Rename the key `{key}` to `{new}`.")
        elif kind == "append":
            value[key]["colors"].append(f"tone {number}")
            lines.append(f'Append "tone {number}" to the `colors` of `{key}`.')
        elif kind == "stock":
            value[key]["stock"] = number
            lines.append(f"Set `stock` of `{key}` to {number}, also if there is none yet.")
        elif kind == "add":
            value[key]["price"] += number
            lines.append(f"Raise the `price` of `{key}` by {number}.")
        else:
            value[key]["price"] = number
            lines.append(f"Set the `price` of `{key}` to {number}.")
    listed = "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))
    return _task(
        "Edits of JSON", f"{before}\n\nMake these changes one after another:\n\n{listed}\n\nWrite the result.", value
    )


class StructuredOutput(Generator):
    name = "structured-output"
    shared: ClassVar = {"metrics": ["json_match", "json_schema", "json_valid"]}
    kinds: ClassVar = {"edits": edits, "log": log, "orders": orders, "outline": outline, "table": table}
