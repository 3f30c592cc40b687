"""Tables of questions and answers as datasets: which column is what, and every row a task.

Columns are guessed by the names that published datasets use, and what was guessed is told.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from benchmarks.dataset_format import DatasetSpec, Problem, limits
from benchmarks.dataset_format.problems import Fault, format_path, quoted
from benchmarks.dataset_format.validation import check_dataset
from benchmarks.imports.runs import ImportProblem
from benchmarks.imports.tables import Row
from benchmarks.providers.clean_text import storable

KNOWN: dict[str, tuple[str, ...]] = {
    "input": ("input", "question", "prompt", "query", "instruction", "problem", "goal", "text"),
    "expected": (
        *("expected_output", "expected", "answer", "answerkey", "output", "completion", "response", "target", "ideal"),
        *("solution", "reference", "ground_truth", "label", "answers"),
    ),
    "id": ("id", "task_id", "question_id", "qid", "uid", "key", "idx"),
    "context": ("context", "contexts", "passage", "passages", "documents"),
    "choices": ("choices", "options"),
}
"""Use → names of columns that have it, the surest first."""

USES = {
    "input": "the column with what is asked",
    "expected": "the column with the reference answer",
    "id": "the column with an identifier",
    "context": "the column with passages to send along",
    "choices": "the column with a list of choices",
}
"""Use → what such a column has, for who is to name it."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
CHOICE_COLUMNS = (("A", "B"), ("choice_a", "choice_b"), ("option_a", "option_b"), ("opa", "opb"))
"""How the first two of the columns are called that have one choice each."""
PICK_ONE = "Answer with the letter of one option."


@dataclass(frozen=True, slots=True)
class Columns:
    """Which column has what. ``choices`` is one column with a list, or a column for each choice."""

    input: str
    expected: str | None = None
    id: str | None = None
    context: str | None = None
    choices: tuple[str, ...] = ()
    more_input: str | None = None
    """What an instruction is about; it comes after it."""

    def __str__(self) -> str:
        told = {
            "input": " and ".join(filter(None, (self.input, self.more_input))),
            "expected": self.expected,
            "id": self.id or "the line's number",
            "context": self.context,
            "choices": ", ".join(self.choices),
        }
        return "; ".join(f"{use}: {name}" for use, name in told.items() if name)


def guessed_columns(names: Iterable[str], given: Mapping[str, str | None]) -> Columns:
    """What is ``given`` by use, and guesses for the rest. Raises ``ImportProblem`` where it cannot be told."""
    there = list(names)
    by_lower = {name.lower(): name for name in reversed(there)}
    for use, name in given.items():
        if name is not None and name not in there:
            raise ImportProblem(f"there is no column {quoted(name)} that could be the {use}. Columns: {_listed(there)}")
    taken = {name for name in given.values() if name is not None}

    def column(use: str) -> str | None:
        if (chosen := given.get(use)) is not None:
            return chosen
        found = (by_lower[name] for name in KNOWN[use] if name in by_lower)
        return next((name for name in found if name not in taken), None)

    choices = column("choices")
    several = (choices,) if choices is not None else _choice_columns(by_lower)
    instructed = given.get("input") is None and {"instruction", "input"} <= by_lower.keys()
    asked = by_lower["instruction"] if instructed else column("input")
    if asked is None:
        raise ImportProblem(f"no column is known to be the input: say which is. Columns: {_listed(there)}")
    taken.add(asked)
    more = by_lower["input"] if instructed else None
    return Columns(asked, column("expected"), column("id"), column("context"), several, more)


def _choice_columns(by_lower: Mapping[str, str]) -> tuple[str, ...]:
    for first, second in CHOICE_COLUMNS:
        if {first.lower(), second.lower()} <= by_lower.keys():
            stem = first.lower()[:-1]
            names = (f"{stem}{letter.lower()}" for letter in LETTERS)
            found = []
            for name in names:
                if name not in by_lower:
                    break
                found.append(by_lower[name])
            return tuple(found)
    return ()


def _listed(names: Sequence[str]) -> str:
    return ", ".join(quoted(name) for name in names[:30]) or "none"


@dataclass(frozen=True, slots=True)
class TableReport:
    """The dataset, or what keeps the table from being one."""

    columns: Columns
    spec: DatasetSpec | None
    problems: tuple[Problem, ...]


def dataset_of_rows(
    rows: Iterable[Row],
    file: str,
    *,
    name: str,
    description: str,
    given: Mapping[str, str | None],
    answer_after: str = "",
    limit: int | None = None,
) -> TableReport:
    """A dataset of the first ``limit`` rows. ``given`` names columns by use, see ``KNOWN``.

    ``answer_after`` is a mark: the expected output is what follows its last place in the cell. Raises
    ``ImportProblem`` where the table cannot be read, or its columns cannot be told; mistakes of rows are in the report.
    """
    most = limits.MAX_NODES // 4
    found = list(islice(rows, limit if limit is not None else most + 1))
    if len(found) > most:
        raise ImportProblem(f"more than {most:,} rows, which one dataset cannot hold: take fewer")
    if not found:
        raise ImportProblem("there are no rows")
    columns = guessed_columns(dict.fromkeys(name for row in found[:100] for name in row.values), given)
    problems: list[Problem] = []
    tasks = []
    for row in found:
        try:
            tasks.append(_task(row, columns, answer_after))
        except ImportProblem as problem:
            problems.append(Problem(file, row.line, "", str(problem)))
    if problems:
        return TableReport(columns, None, tuple(problems[: limits.MAX_PROBLEMS]))
    data = {"name": name, "description": description, "tasks": tasks}
    spec, faults = check_dataset(data)
    return TableReport(columns, spec, tuple(_problem(fault, file, found) for fault in faults))


def _problem(fault: Fault, file: str, rows: Sequence[Row]) -> Problem:
    """At the line of the row that the faulty task was made of."""
    line, path = _line(fault.path, rows)
    message = fault.message
    if fault.first is not None:
        message += f", first at line {_line(fault.first, rows)[0]}"
    return Problem(file, line, path, message)


def _line(path: tuple[str | int, ...], rows: Sequence[Row]) -> tuple[int, str]:
    match path:
        case ("tasks", int(place), *rest):
            return rows[place].line, format_path(tuple(rest))
    return 1, format_path(path)


def _task(row: Row, columns: Columns, answer_after: str) -> dict[str, Any]:
    if row.problem:
        raise ImportProblem(row.problem)
    task_id = None if columns.id is None else _text(row, columns.id)
    asked = _text(row, columns.input) or ""
    if columns.more_input and (more := (_text(row, columns.more_input) or "").strip()):
        asked = f"{asked}\n\n{more}"
    task_id = (task_id or "").strip() or f"row-{row.line}"
    task: dict[str, Any] = {"id": task_id, "name": task_id}
    choices = _choices(row, columns.choices)
    if choices:
        options = "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, choices, strict=False))
        task["input"] = f"{asked}\n\n{options}\n\n{PICK_ONE}" if asked.strip() else asked
        task["expected_output"] = _chosen(row, columns, choices)
        task["choices"] = choices
    else:
        task["input"] = asked
        task["expected_output"] = _expected(row, columns.expected, answer_after)
    if columns.context and (context := _texts(row, columns.context)):
        task["context"] = context
    return task


def _text(row: Row, column: str) -> str | None:
    value = row.values.get(column)
    match value:
        case None:
            return None
        case str():
            return storable(value, [])
        case bool():
            return str(value).lower()
        case int() | float():
            return json.dumps(value)
    raise ImportProblem(f"column {quoted(column)}: {_kind(value)}, where text is wanted")


def _expected(row: Row, column: str | None, answer_after: str) -> str:
    """The cell, or the first of several right answers."""
    if column is None:
        return ""
    value = row.values.get(column)
    if isinstance(value, dict) and isinstance(value.get("text"), list):
        value = value["text"]
    if isinstance(value, list) and value:
        value = value[0]
    text = _text(Row(row.line, {column: value}), column) or ""
    if not answer_after:
        return text
    _, found, answer = text.rpartition(answer_after)
    if not found:
        raise ImportProblem(f"column {quoted(column)}: {quoted(answer_after)} is not in it")
    return answer.strip()


def _texts(row: Row, column: str) -> list[str]:
    value = row.values.get(column)
    if isinstance(value, list):
        return [text for one in value if (text := _text(Row(row.line, {column: one}), column)) and text.strip()]
    text = _text(row, column)
    return [text] if text and text.strip() else []


def _choices(row: Row, columns: Sequence[str]) -> list[str]:
    if len(columns) > 1:
        cells = [_text(row, name) or "" for name in columns]
        while cells and not cells[-1].strip():
            cells.pop()  # questions with fewer choices leave the last columns empty
        return cells
    if not columns:
        return []
    (column,) = columns
    value = row.values.get(column)
    if isinstance(value, str):
        value = _list_in_cell(value, column)
    if isinstance(value, dict):
        value = value.get("text")
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > len(LETTERS):
        raise ImportProblem(f"column {quoted(column)}: {_kind(value)}, where a list of up to 26 texts is wanted")
    return [_text(Row(row.line, {column: one}), column) or "" for one in value]


def _list_in_cell(cell: str, column: str) -> Any:
    if not cell.strip():
        return None
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        raise ImportProblem(f"column {quoted(column)}: {quoted(cell)}, where a list as JSON is wanted") from None


def _chosen(row: Row, columns: Columns, choices: Sequence[str]) -> str:
    """The letter of the right choice, which the cell names by its place from 0, its letter, its label or its text."""
    if columns.expected is None:
        return ""
    value = row.values.get(columns.expected)
    if value is None or value == "":
        return ""
    answer = (_text(row, columns.expected) or "").strip()
    labels = _labels(row, columns.choices)
    for names in (list(labels), list(choices), list(LETTERS[: len(choices)])):
        if names.count(answer) == 1:
            return LETTERS[names.index(answer)]
    if answer.isascii() and answer.isdecimal() and int(answer[:9]) < len(choices):
        return LETTERS[int(answer)]
    raise ImportProblem(
        f"column {quoted(columns.expected)}: {quoted(answer)} is none of the {len(choices)} choices: "
        "their letter, text, or place from 0 is wanted"
    )


def _labels(row: Row, columns: Sequence[str]) -> Sequence[str]:
    """Names that a column of choices gives them itself, as that of ARC does."""
    value = row.values.get(columns[0]) if len(columns) == 1 else None
    labels = value.get("label") if isinstance(value, dict) else None
    return [str(label) for label in labels] if isinstance(labels, list) else []


def _kind(value: Any) -> str:
    return "an object" if isinstance(value, dict) else "a list" if isinstance(value, list) else quoted(str(value))
