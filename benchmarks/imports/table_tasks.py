"""Tables of questions and answers as datasets: each row becomes a task, by what its columns become."""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.fields import CLUSTER_NAME
from benchmarks.dataset_format.limits import MAX_ANSWERS
from benchmarks.dataset_format.problems import Fault, Problem, format_path, quoted
from benchmarks.dataset_format.spec import DatasetSpec
from benchmarks.dataset_format.validation import check_dataset
from benchmarks.imports.parts import shown
from benchmarks.imports.pictures import Pictures
from benchmarks.imports.runs import ImportProblem
from benchmarks.imports.table_columns import LETTERS, Columns, columns_of, metadata_fault, plain, tag_fault, tags_of
from benchmarks.imports.tables import Row
from benchmarks.imports.tool_rows import asked, conversation
from benchmarks.providers.clean_text import storable

PICK_ONE = "Answer with the letter of one option."


@dataclass(frozen=True, slots=True)
class TableRequest:
    """What to make of a table: a dataset of its first ``limit`` rows, or of as many drawn with ``seed``.

    ``columns`` has the fields of columns (``FIELDS``) by their names; those of the others are guessed. ``answer_after``
    is a mark: the expected output is the text after its last occurrence in the cell.
    """

    name: str
    description: str
    columns: Mapping[str, str] = field(default_factory=dict)
    answer_after: str = ""
    limit: int | None = None
    seed: int | None = None
    pictures: Pictures = field(default_factory=Pictures)


@dataclass(frozen=True, slots=True)
class TableReport:
    """Either the dataset, or the table's problems."""

    columns: Columns
    spec: DatasetSpec | None
    problems: tuple[Problem, ...]


def dataset_of_rows(rows: Iterable[Row], file: str, request: TableRequest) -> TableReport:
    """The dataset in a table. Errors of rows are in the report.

    Raises ``ImportProblem`` if the table cannot be read or has no input column.
    """
    table = _chosen_rows(rows, request)
    columns = columns_of(table, request.columns, paths=request.pictures.folder is not None)
    request.pictures.fetch([row.values.get(name) for name in columns.of("image") for row in table])
    problems: list[Problem] = []
    tasks = []
    for row in table:
        try:
            tasks.append(_task(row, columns, request))
        except ImportProblem as problem:
            problems.append(Problem(file, row.line, "", str(problem)))
        except RecursionError:
            problems.append(Problem(file, row.line, "", "the row is nested too deeply"))
    if problems:
        return TableReport(columns, None, tuple(problems[: limits.MAX_PROBLEMS]))
    if (size := sum(map(_size, tasks))) > limits.MAX_NODES:
        raise ImportProblem(
            f"{size:,} values, and a dataset has at most {limits.MAX_NODES:,}: import fewer rows, or leave columns out"
        )
    spec, faults = check_dataset({"name": request.name, "description": request.description, "tasks": tasks})
    return TableReport(columns, spec, tuple(_problem(fault, file, table) for fault in faults))


def _chosen_rows(rows: Iterable[Row], request: TableRequest) -> list[Row]:
    most = limits.MAX_NODES // 4
    first = request.limit if request.seed is None else None
    table = list(islice(rows, most + 1 if first is None else first))
    if len(table) > most:
        raise ImportProblem(f"more than {most:,} rows, which exceeds the size of a dataset: set a limit without a seed")
    if request.seed is not None and request.limit is not None and request.limit < len(table):
        places = random.Random(request.seed).sample(range(len(table)), request.limit)
        table = [table[place] for place in sorted(places)]
    if not table:
        raise ImportProblem("the table has no rows")
    return table


def _size(value: Any) -> int:
    """Scalars, lists and mappings in a value of the dataset's file, which bounds them."""
    match value:
        case Mapping():
            return 1 + sum(1 + _size(each) for each in value.values())
        case list() | tuple():
            return 1 + sum(map(_size, value))
    return 1


def _problem(fault: Fault, file: str, rows: Sequence[Row]) -> Problem:
    """The fault at the line of its task's row."""

    def line_of(path: tuple[str | int, ...]) -> int:
        return rows[path[1]].line if len(path) > 1 and isinstance(path[1], int) else 1

    first = f", first at line {line_of(fault.first)}" if fault.first is not None else ""
    path = fault.path[2:] if fault.path[:1] == ("tasks",) else fault.path
    return Problem(file, line_of(fault.path), format_path(path), fault.message + first)


def _task(row: Row, columns: Columns, request: TableRequest) -> dict[str, Any]:
    if row.problem:
        raise ImportProblem(row.problem)
    cells = row.values
    said, replied = _asked(cells, columns)
    task_id = _text(cells, columns.first("id")).strip() or f"row-{row.line}"
    task: dict[str, Any] = {"id": task_id, "name": _text(cells, columns.first("name")).strip() or task_id, **said}
    if choices := _choices(cells, columns.of("choices")):
        task |= {"expected_output": _chosen(cells, columns, choices), "choices": choices}
        options = "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, choices, strict=False))
        _append(task, f"{options}\n\n{PICK_ONE}")
    else:
        expected = columns.first("expected")
        task["expected_output"] = replied if expected is None else _expected(cells, expected, request.answer_after)
    if passages := columns.of("context"):
        texts = [cell_text(text, name) for name in passages for text in _items(cells.get(name))]
        task["context"] = list(filter(str.strip, texts))
    task |= _labels(cells, columns)
    if "messages" in row.task:
        del task["input"]
    _add_pictures(task, [url for name in columns.of("image") for url in request.pictures.of(cells.get(name), name)])
    metadata = {**row.task.get("metadata", {}), **task.get("metadata", {})}  # type: ignore[dict-item]
    return {**task, **row.task, **({"metadata": metadata} if metadata else {})}


def _text(cells: Mapping[str, object], column: str | None) -> str:
    return cell_text(cells.get(column), column) if column is not None else ""


def _items(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else [value]


def _asked(cells: Mapping[str, object], columns: Columns) -> tuple[dict[str, Any], str]:
    """``input`` or ``messages``, and the reply that a conversation ends with, which is its reference."""
    chat = columns.first("messages")
    inputs = [(name, cells.get(name)) for name in ([chat] if chat is not None else columns.of("input"))]
    (name, value), *more = inputs
    given = conversation(value) if chat is not None or isinstance(value, list) else None
    if given is None and chat is not None:
        raise ImportProblem(f"column {quoted(name)}: expected a list of role and content, found {shown(value)}")
    if given is not None:
        said, reply = asked(given)
        return said, reply
    texts = [cell_text(value, name), *filter(str.strip, (cell_text(value, name) for name, value in more))]
    return {"input": "\n\n".join(texts)}, ""


def _append(task: dict[str, Any], text: str) -> None:
    """Add a paragraph to what is asked. An empty question stays empty, so that the dataset's check reports it."""
    if "messages" not in task:
        task["input"] = f"{task['input']}\n\n{text}" if task["input"].strip() else task["input"]
        return
    *before, last = task["messages"]
    content = last["content"]
    joined = f"{content}\n\n{text}" if isinstance(content, str) else [*content, {"text": text}]
    task["messages"] = [*before, {**last, "content": joined}]


def _add_pictures(task: dict[str, Any], urls: Sequence[str]) -> None:
    """Add pictures after the question. An empty question stays as it is, as in ``_append``."""
    images = [{"image": url} for url in urls]
    if not images or ("messages" not in task and not task.get("input", "").strip()):
        return
    if "messages" not in task:
        task["messages"] = [{"role": "user", "content": [{"text": task.pop("input")}, *images]}]
        return
    *before, last = task["messages"]
    content = last["content"]
    parts = [{"text": content}] if isinstance(content, str) else content
    task["messages"] = [*before, {**last, "content": [*parts, *images]}]


def _cluster(text: str) -> str:
    """A text as the name of a cluster: as it is, if it can be one."""
    return text if re.fullmatch(CLUSTER_NAME, text) else f"c-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _labels(cells: Mapping[str, object], columns: Columns) -> dict[str, Any]:
    """What the task is about: difficulty, split, cluster, tags and metadata."""
    labels: dict[str, Any] = {}
    for name in ("difficulty", "split"):
        if text := _text(cells, columns.first(name)).strip():
            labels[name] = text.lower() if name == "difficulty" else text
    if shared := _text(cells, columns.first("cluster")).strip():
        labels["cluster"] = _cluster(shared)
    metadata, tags = {}, []
    for name in columns.of("metadata"):
        value = plain(cells.get(name))
        if value in (None, "") or (isinstance(value, float) and math.isnan(value)):
            continue
        if fault := metadata_fault(value):
            raise ImportProblem(f"column {quoted(name)}: metadata cannot be {fault}. Leave the column out")
        metadata[columns.keys[name]] = value
    for name in columns.of("tag"):
        for item in filter(None, map(plain, _items(tags_of(cells.get(name))))):
            if fault := tag_fault(item):
                raise ImportProblem(f"column {quoted(name)}: tags cannot be {fault}. Leave the column out")
            tags.append(item if isinstance(item, str) else json.dumps(item))
    found = {"metadata": metadata, "tags": list(dict.fromkeys(tags))}
    return labels | {name: value for name, value in found.items() if value}


def cell_text(value: Any, column: str) -> str:
    """A cell as text; an empty one is empty text."""
    match value:
        case None:
            return ""
        case str():
            return storable(value, [])
        case bool() | int() | float():
            return json.dumps(value)
    raise ImportProblem(f"column {quoted(column)}: expected text, found {shown(value)}")


def _expected(cells: Mapping[str, object], column: str, answer_after: str) -> str | list[str]:
    """The cell; a list of several accepted answers."""
    value = cells.get(column)
    if isinstance(value, dict) and isinstance(value.get("text"), list):
        value = value["text"]
    answers = _items(value)[:MAX_ANSWERS]
    texts = list(dict.fromkeys(_after(cell_text(each, column), column, answer_after) for each in answers))
    return texts if len(texts) > 1 else "".join(texts)


def _after(text: str, column: str, mark: str) -> str:
    if not mark:
        return text
    _, found, answer = text.rpartition(mark)
    if not found:
        raise ImportProblem(f"column {quoted(column)}: {quoted(mark)} not found")
    return answer.strip()


def _choices(cells: Mapping[str, object], columns: Sequence[str]) -> list[str]:
    if not columns:
        return []
    if len(columns) > 1:
        choices = [cell_text(cells.get(name), name) for name in columns]
        while choices and not choices[-1].strip():
            choices.pop()  # questions with fewer choices leave the last columns empty
        return choices
    (column,) = columns
    value = cells.get(column)
    if isinstance(value, str):
        try:
            value = json.loads(value) if value.strip() else None
        except (ValueError, RecursionError):
            raise ImportProblem(f"column {quoted(column)}: expected a JSON list, found {shown(value)}") from None
    if isinstance(value, dict):
        value = value.get("text")
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > len(LETTERS):
        raise ImportProblem(f"column {quoted(column)}: expected a list of up to 26 texts, found {shown(value)}")
    return [cell_text(choice, column) for choice in value]


def _chosen(cells: Mapping[str, object], columns: Columns, choices: Sequence[str]) -> str:
    """The letter of the correct choice, which the cell gives as label, text, letter or position from 0."""
    column = columns.first("expected")
    value = None if column is None else cells.get(column)
    if column is None or value is None or value == "":
        return ""
    answer = cell_text(value, column).strip()
    # A column of choices may name them itself, as ARC does.
    lists = columns.of("choices")
    listed = cells.get(lists[0]) if len(lists) == 1 else None
    labels = listed.get("label") if isinstance(listed, dict) else None
    for names in (list(map(str, labels)) if isinstance(labels, list) else [], choices, LETTERS[: len(choices)]):
        if list(names).count(answer) == 1:
            return LETTERS[list(names).index(answer)]
    if answer.isascii() and answer.isdecimal() and int(answer[:9]) < len(choices):
        return LETTERS[int(answer)]
    raise ImportProblem(
        f"column {quoted(column)}: {quoted(answer)} is not one of the {len(choices)} choices: "
        "use their letter, text, or position from 0"
    )
