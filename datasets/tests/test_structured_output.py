"""Expected documents parse, fit their schemas tightly, and are what a program makes of the input."""

from __future__ import annotations

import copy
import csv
import datetime
import io
import json
import re
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any
from urllib.parse import parse_qs

from jsonschema import Draft202012Validator
from reading import tasks

TASKS = tasks("structured-output")
Json = Any


def expected(task_id: str) -> Json:
    return json.loads(TASKS[task_id]["expected_output"])


def blocks(task_id: str) -> list[str]:
    """The fenced blocks of a task's input."""
    return re.findall(r"```\n(.*?)```", TASKS[task_id]["input"], re.DOTALL)


def places(document: Json, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in a document, the document itself included."""
    yield at
    entries = (
        document.items() if isinstance(document, dict) else enumerate(document if isinstance(document, list) else ())
    )
    for key, value in entries:
        yield from places(value, (*at, key))


def changed(document: Json, at: tuple[Any, ...], change: Callable[[Json, Any], None]) -> Json:
    """A copy of the document in which ``change`` was applied to the container and key of a place."""
    root = copy.deepcopy([document])
    container: Json = root
    for key in (0, *at)[:-1]:
        container = container[key]
    change(container, (0, *at)[-1])
    return root[0]


def retype(container: Json, key: Any) -> None:
    """Put a value of a type that no schema here allows in this place."""
    container[key] = [[["wrong"]]] if not isinstance(container[key], list) else "wrong"


def add_key(container: Json, key: Any) -> None:
    container[key] = {**container[key], "not_in_the_schema": [[0]]}


def remove_key(container: Json, key: Any) -> None:
    del container[key]


# What a program makes of the inputs -------------------------------------------------------------------------------


def typed_csv() -> Json:
    rows = csv.DictReader(io.StringIO(blocks("typed-csv")[0]))
    return [
        {
            "sensor": row["sensor"],
            "floor": int(row["floor"]),
            "active": {"yes": True, "no": False}[row["active"]],
            "offset": float(row["offset"]) if row["offset"] else None,
            "note": row["note"] or None,
        }
        for row in rows
    ]


def dates_to_iso() -> Json:
    spellings = re.findall(r"^\d\. (.+)$", TASKS["dates-to-iso"]["input"], re.MULTILINE)
    formats = ["%d %B %Y", "%d.%m.%Y", "%B 3rd, %Y", "%Y/%m/%d", "%d-%b-%Y", "the first of %B %Y"]
    dates = [datetime.datetime.strptime(text, form) for text, form in zip(spellings, formats, strict=True)]
    dates[2] = dates[2].replace(day=3)
    return sorted(f"{date:%Y-%m-%d}" for date in dates)


def palette() -> Json:
    colours = {}
    for name, digits in re.findall(r"^(\w+) +#(\w+)$", blocks("palette")[0], re.MULTILINE):
        long = digits if len(digits) > 4 else "".join(digit * 2 for digit in digits)
        colours[name] = dict(zip("rgba", bytes.fromhex((long + "ff")[:8]), strict=True))
    return colours


def ini_sections() -> Json:
    document: Json = {}
    section = document
    for line in blocks("ini-sections")[0].splitlines():
        if line.startswith("["):
            section = document
            for name in line.strip("[]").split("."):
                section = section.setdefault(name, {})
        elif "=" in line:
            name, _, value = line.partition("=")
            section[name.strip()] = ini_value(value.strip())
    return document


def ini_value(text: str) -> Json:
    if not text:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text


def invoice() -> Json:
    number = re.search(r"Invoice (\S+)", blocks("invoice")[0])[1]
    lines = []
    for quantity, item, price in re.findall(r"(\d+) x (.+?) {2,}(\S+)", blocks("invoice")[0]):
        cents = Decimal(price) * 100
        amount = cents * int(quantity) * (Decimal("0.9") if int(quantity) >= 5 else 1)
        lines.append(
            {"item": item, "quantity": int(quantity), "unit_price_cents": int(cents), "amount_cents": rounded(amount)}
        )
    net = sum(line["amount_cents"] for line in lines)
    tax = rounded(Decimal(net) / 5)
    return {"number": number, "lines": lines, "net_cents": net, "tax_cents": tax, "gross_cents": net + tax}


def rounded(amount: Decimal) -> int:
    return int(amount.quantize(Decimal(1), ROUND_HALF_UP))


def access_log() -> Json:
    routes: dict[str, list[tuple[int, int]]] = {}
    for line in blocks("access-log")[0].splitlines():
        _, method, path, status, took = line.split()
        route = method + " " + re.sub(r"/\d+(?=/|$)", "/:id", path.partition("?")[0])
        routes.setdefault(route, []).append((int(status), int(took.removesuffix("ms"))))
    return [
        {
            "route": route,
            "calls": len(calls),
            "errors": sum(status >= 500 for status, _ in calls),
            "slowest_ms": max(took for _, took in calls),
            "statuses": sorted({status for status, _ in calls}),
        }
        for route, calls in sorted(routes.items())
    ]


def shopping_quantities() -> Json:
    factors = {"kg": (1000, "g"), "g": (1, "g"), "l": (1000, "ml"), "ml": (1, "ml"), None: (1, "piece")}
    result = []
    for line in blocks("shopping-quantities")[0].splitlines():
        amount, unit, item = re.fullmatch(r"([\d /]+ )?(?:(kg|g|l|ml) )?([^,]+)(?:,.*)?", line).groups()
        factor, base = factors[unit] if amount else (None, None)
        value = float(sum(map(Fraction, amount.split())) * factor) if amount else None
        result.append({"item": item, "amount": value, "unit": base})
    return result


def outline_tree() -> Json:
    top: Json = []
    levels = [top]
    for line in blocks("outline-tree")[0].splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        node = {"name": line.strip(), "children": []}
        levels[depth].append(node)
        levels[depth + 1 :] = [node["children"]]

    def counted(node: Json) -> Json:
        children = [counted(child) for child in node["children"]]
        return {"name": node["name"], "size": sum(1 + c["size"] for c in children), "children": children}

    return [counted(node) for node in top]


def awkward_strings() -> Json:
    values = re.findall(r"^- `(\w+)`: <<(.*)>>$", TASKS["awkward-strings"]["input"], re.MULTILINE)
    return {key: value.replace("[TAB]", "\t").replace("[NL]", "\n") for key, value in values}


def query_string() -> Json:
    return parse_qs(blocks("query-string")[0].strip(), keep_blank_values=True)


def merge_profiles() -> Json:
    records = sorted(map(json.loads, blocks("merge-profiles")[0].splitlines()), key=lambda record: record["seen"])
    merged = overlaid(records)
    merged["phones"] = sorted({phone for record in records for phone in record["phones"]})
    merged["notes"] = overlaid([record["notes"] for record in records])
    return merged


def overlaid(records: list[dict[str, Json]]) -> dict[str, Json]:
    merged: dict[str, Json] = {}
    for record in records:
        for key, value in record.items():
            if value is not None or key not in merged:
                merged[key] = value
    return merged


def schema_migration() -> Json:
    result = []
    for old in json.loads(blocks("schema-migration")[0]):
        given, _, family = old["name"].partition(" ")
        result.append(
            {
                "version": 2,
                "id": f"u-{old['id']:04}",
                "name": {"given": given, "family": family or None},
                "tags": list(dict.fromkeys(tag.strip() for tag in old["tags"].split(",") if tag.strip())),
                "height_mm": round(old["h"] * 1000),
                "active": bool(old["state"]),
            }
        )
    return result


def apply_patch() -> Json:
    document, patch = map(json.loads, blocks("apply-patch"))

    def find(pointer: str) -> tuple[Json, Any]:
        *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
        container = document
        for part in parents:
            container = container[int(part) if isinstance(container, list) else part]
        if isinstance(container, list):
            return container, len(container) if last == "-" else int(last)
        return container, last

    def add(pointer: str, value: Json) -> None:
        container, key = find(pointer)
        if isinstance(container, list):
            container.insert(key, value)
        else:
            container[key] = value

    for step in patch:
        if step["op"] == "copy":
            container, key = find(step["from"])
            add(step["path"], copy.deepcopy(container[key]))
        elif step["op"] == "move":
            container, key = find(step["from"])
            add(step["path"], container.pop(key))
        elif step["op"] == "add":
            add(step["path"], step["value"])
        else:
            container, key = find(step["path"])
            if step["op"] == "remove":
                container.pop(key)
            else:
                container[key] = step["value"]
    return document


def unflatten_paths() -> Json:
    document: Json = {}
    for line in blocks("unflatten-paths")[0].splitlines():
        path, _, value = line.partition(" = ")
        keys = [
            int(index) if index else quoted or name
            for name, quoted, index in re.findall(r'(?:^|\.)(\w+)|\["([^"]+)"\]|\[(\d+)\]', path)
        ]
        container = document
        for key, following in zip(keys, [*keys[1:], None], strict=True):
            if isinstance(container, list):
                container.extend([None] * (key + 1 - len(container)))
            if following is None:
                container[key] = json.loads(value)
            elif (container[key] if isinstance(container, list) else container.get(key)) is None:
                container[key] = [] if isinstance(following, int) else {}
            container = container[key]
    return document


def spanning_table() -> Json:
    cells: dict[tuple[str, str, int], tuple[float, bool]] = {}
    plant = line = ""
    for row in blocks("spanning-table")[0].splitlines()[2:]:
        new_plant, new_line, *values = [cell.strip() for cell in row.strip("|").split("|")]
        plant, line = new_plant or plant, new_line or line
        for quarter, text in enumerate(values, start=1):
            if text in {"–", "n/a"}:
                continue
            revised = text.endswith("(r)")
            if revised or not cells.get((plant, line, quarter), (0, False))[1]:
                cells[plant, line, quarter] = (float(text.removesuffix("(r)").replace(",", "")), revised)
    return [
        {"plant": plant, "line": line, "quarter": quarter, "value": value, "revised": revised}
        for (plant, line, quarter), (value, revised) in sorted(cells.items())
    ]


def tagged_events() -> Json:
    forms = {
        "login": r"(?P<user>\w+) logs in from (?P<address>\S+)",
        "move": r"(?P<user>\w+) moves (?P<crates>\d+) crates from (?P<from_>\w+) to (?P<to>\w+)",
        "alarm": r"alarm in (?P<place>\w+) \(level (?P<level>\d+)\)",
        "silence": r"(?P<user>\w+) silences alarm in (?P<place>\w+) after (?P<minutes>\d+) min",
    }
    events = []
    for line in blocks("tagged-events")[0].splitlines():
        time, _, text = line.partition(" ")
        kind, match = next((kind, match) for kind, form in forms.items() if (match := re.fullmatch(form, text)))
        fields = {key.strip("_"): int(value) if value.isdigit() else value for key, value in match.groupdict().items()}
        if kind == "move" and fields["to"] == "OUT":
            fields["to"] = None
        events.append({"time": time, "type": kind, **fields})
    for alarm in (event for event in events if event["type"] == "alarm"):
        silencers = [e["user"] for e in events if e["type"] == "silence" and e["place"] == alarm["place"]]
        alarm["silenced_by"] = silencers[0] if silencers else None
    return events


def organisation_chart() -> Json:
    """The reports as the text has them, the two changes last."""
    manager = {"Emil": "Tove", "Aiko": "Tove", "Wim": "Tove", "Zita": "Wim"}
    manager |= dict.fromkeys(("Priit", "Lena", "Kofi"), "Aiko") | dict.fromkeys(("Bao", "Cleo"), "Lena")
    manager |= {"Kofi": "Emil", "Cleo": "Priit"}

    def person(name: str) -> Json:
        reports = [person(other) for other in sorted(manager) if manager[other] == name]
        return {"name": name, "total": sum(1 + report["total"] for report in reports), "reports": reports}

    return person("Tove")


def night_timetable() -> Json:
    """Walk through the times in order; a time earlier than the one before is on the next day."""
    text = blocks("night-timetable")[0]
    now, stops, moments = datetime.datetime(2025, 1, 6), [], []  # a Monday
    for name, *times in re.findall(r"^(\w+) +(\S{5}) +(\S{5})$", text, re.MULTILINE):
        called_at = []
        for time in times:
            if time == "--:--":
                called_at.append(None)
                continue
            then = datetime.datetime.combine(now.date(), datetime.time.fromisoformat(time))
            now = then if then >= now else then + datetime.timedelta(days=1)
            called_at.append(now)
            moments.append(now)
        stay = int((called_at[1] - called_at[0]).total_seconds() // 60) if all(called_at) else None
        arrives, departs = (f"{moment:%a %H:%M}" if moment else None for moment in called_at)
        stops.append({"name": name, "arrives": arrives, "departs": departs, "stop_minutes": stay})
    total = int((moments[-1] - moments[0]).total_seconds() // 60)
    moving = total - sum(stop["stop_minutes"] or 0 for stop in stops)
    return {
        "train": re.search(r"train (\d+)", text)[1],
        "stops": stops,
        "moving_minutes": moving,
        "total_minutes": total,
    }


def numbers_in_many_styles() -> Json:
    numerals = {"M": 1000, "D": 500, "C": 100, "L": 50, "X": 10, "V": 5, "I": 1}
    digits = [numerals[letter] for letter in "MCMXCIV"]
    roman = sum(-value if value < after else value for value, after in zip(digits, [*digits[1:], 0], strict=True))
    return {
        "a": 1234 + 1 / 2,
        "b": -(1200 + 3 / 4),
        "c": 12 * 1000 + 500,
        "d": 1.5 * 10**6,
        "e": 3.2 / 10_000,
        "f": 15 / 100,
        "g": 2 * 12 + 12 // 2,
        "h": 10**6,
        "i": roman,
        "j": int("1F", 16),
        "k": 1 * 100_000 + 23 * 1000 + 456,
        "l": -(7 + 3 / 4),
    }


def changed_order() -> Json:
    """The conversation, step by step."""
    order = {("lentil soup", None): 2, ("green tea", None): 3, ("cheese roll", None): 1}
    order[("green tea", None)], order[("green tea", "sugar")] = 3, 1
    order[("lentil soup", None)] -= 1
    order[("cheese roll", "butter")] = 1
    order[("apple cake", None)] = 3
    del order[("green tea", None)]
    return [
        {"item": item, "quantity": quantity, "without": without, "to_go": item == "apple cake"}
        for (item, without), quantity in sorted(order.items(), key=lambda line: (line[0][0], line[0][1] or ""))
    ]


RECOMPUTED: dict[str, Callable[[], Json]] = {
    "typed-csv": typed_csv,
    "dates-to-iso": dates_to_iso,
    "palette": palette,
    "ini-sections": ini_sections,
    "invoice": invoice,
    "access-log": access_log,
    "shopping-quantities": shopping_quantities,
    "outline-tree": outline_tree,
    "awkward-strings": awkward_strings,
    "query-string": query_string,
    "merge-profiles": merge_profiles,
    "schema-migration": schema_migration,
    "apply-patch": apply_patch,
    "unflatten-paths": unflatten_paths,
    "spanning-table": spanning_table,
    "tagged-events": tagged_events,
    "organisation-chart": organisation_chart,
    "night-timetable": night_timetable,
    "numbers-in-many-styles": numbers_in_many_styles,
    "changed-order": changed_order,
}
BY_READING = {"contact-card", "tickets-by-rule", "opening-hours"}
"""Tasks whose point is to understand a sentence; their documents are checked by eye and by the schema."""


def test_every_task_is_recomputed_or_declared_a_matter_of_reading() -> None:
    assert RECOMPUTED.keys() | BY_READING == set(TASKS)
    assert not RECOMPUTED.keys() & BY_READING


def test_the_expected_document_is_what_a_program_makes_of_the_input() -> None:
    for task_id, compute in RECOMPUTED.items():
        assert compute() == expected(task_id), task_id


def test_the_expected_document_fits_its_schema() -> None:
    for task_id in TASKS:
        schema = TASKS[task_id]["schema"]
        Draft202012Validator.check_schema(schema)
        Draft202012Validator(schema).validate(expected(task_id))


def test_the_schema_rejects_another_type_in_any_place() -> None:
    for task_id in TASKS:
        validator, document = Draft202012Validator(TASKS[task_id]["schema"]), expected(task_id)
        for place in places(document):
            assert not validator.is_valid(changed(document, place, retype)), place


def test_the_schema_rejects_any_unknown_key() -> None:
    for task_id in TASKS:
        validator, document = Draft202012Validator(TASKS[task_id]["schema"]), expected(task_id)
        for place in places(document):
            value = document
            for key in place:
                value = value[key]
            if isinstance(value, dict):
                assert not validator.is_valid(changed(document, place, add_key)), place


def test_the_schema_rejects_any_missing_key() -> None:
    for task_id in TASKS:
        validator, document = Draft202012Validator(TASKS[task_id]["schema"]), expected(task_id)
        optional = {("unflatten-paths", "roles")}
        for place in places(document):
            if place and isinstance(place[-1], str) and (task_id, place[-1]) not in optional:
                assert not validator.is_valid(changed(document, place, remove_key)), place


def test_the_input_asks_for_json_only() -> None:
    for task_id in TASKS:
        assert re.search(r"JSON only\.\s*$", TASKS[task_id]["input"]), task_id


def test_what_was_read_from_the_sentence_is_in_it() -> None:
    text = TASKS["contact-card"]["input"]
    assert all(value in text for value in expected("contact-card").values() if value is not None)
