"""Tables of questions and answers as datasets: assign the columns, and make each row a task.

Columns are guessed from the names that published datasets use, and the guesses are reported.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import Any

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.problems import Fault, Problem, format_path, quoted
from benchmarks.dataset_format.spec import DatasetSpec
from benchmarks.dataset_format.validation import check_dataset
from benchmarks.imports.parts import shown
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
"""Use → names of columns for it, the most certain first."""

USES = {
    "input": "column with the input",
    "expected": "column with the reference answer",
    "id": "column with an identifier",
    "context": "column with passages to send with the input",
    "choices": "column with a list of choices",
}
"""Use → label and help text."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
CHOICE_COLUMNS = ("{}", "choice_{}", "option_{}", "op{}")
"""Names of columns with one choice each, by lower-case letter."""
PICK_ONE = "Answer with the letter of one option."


@dataclass(frozen=True, slots=True)
class Columns:
    """The column for each use. ``choices`` is one column with a list, or a column for each choice."""

    input: str
    expected: str | None = None
    id: str | None = None
    context: str | None = None
    choices: tuple[str, ...] = ()
    more_input: str | None = None
    """What an instruction applies to; it is added after the instruction."""

    def __str__(self) -> str:
        columns = {
            "input": " and ".join(filter(None, (self.input, self.more_input))),
            "expected": self.expected,
            "id": self.id or "the line number",
            "context": self.context,
            "choices": ", ".join(self.choices),
        }
        return "; ".join(f"{use}: {name}" for use, name in columns.items() if name)


def column_names(rows: Iterable[Row]) -> list[str]:
    """The names of the columns in the first 100 rows."""
    return list(dict.fromkeys(name for row in islice(rows, 100) for name in row.values))


def guessed_columns(names: Iterable[str], given: Mapping[str, str | None]) -> Columns:
    """The ``given`` columns by use, and guesses for the others. Raises ``ImportProblem`` without an input column."""
    names = list(names)
    listed = ", ".join(quoted(name) for name in names[:30]) or "none"
    by_lower = {name.lower(): name for name in reversed(names)}
    taken = {name for name in given.values() if name is not None}
    for use, name in given.items():
        if name is not None and name not in names:
            raise ImportProblem(f"column {quoted(name)} for {use} does not exist. Columns: {listed}")

    def column(use: str) -> str | None:
        known = (by_lower[name] for name in KNOWN[use] if name in by_lower)
        return given.get(use) or next((name for name in known if name not in taken), None)

    choices = column("choices")
    # Instruction datasets have the task in "instruction", and in "input" what it applies to.
    instructed = given.get("input") is None and {"instruction", "input"} <= by_lower.keys()
    question = by_lower["instruction"] if instructed else column("input")
    if question is None:
        raise ImportProblem(f"no column is recognized as the input: name one. Columns: {listed}")
    taken.add(question)
    return Columns(
        input=question,
        expected=column("expected"),
        id=column("id"),
        context=column("context"),
        choices=_choice_columns(by_lower) if choices is None else (choices,),
        more_input=by_lower["input"] if instructed else None,
    )


def _choice_columns(by_lower: Mapping[str, str]) -> tuple[str, ...]:
    for pattern in CHOICE_COLUMNS:
        names = [pattern.format(letter) for letter in LETTERS.lower()]
        columns = tuple(by_lower[name] for name in takewhile(by_lower.__contains__, names))
        if len(columns) > 1:
            return columns
    return ()


@dataclass(frozen=True, slots=True)
class TableRequest:
    """What to make of a table: a dataset of its first ``limit`` rows, or of as many drawn with ``seed``.

    ``columns`` has names of columns by use (``KNOWN``); missing ones are guessed. ``answer_after`` is a mark: the
    expected output is the text after its last occurrence in the cell.
    """

    name: str
    description: str
    columns: Mapping[str, str | None] = field(default_factory=dict)
    answer_after: str = ""
    limit: int | None = None
    seed: int | None = None


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
    columns = guessed_columns(column_names(table), request.columns)
    problems: list[Problem] = []
    tasks = []
    for row in table:
        try:
            tasks.append(_task(row, columns, request.answer_after))
        except ImportProblem as problem:
            problems.append(Problem(file, row.line, "", str(problem)))
    if problems:
        return TableReport(columns, None, tuple(problems[: limits.MAX_PROBLEMS]))
    spec, faults = check_dataset({"name": request.name, "description": request.description, "tasks": tasks})
    return TableReport(columns, spec, tuple(_problem(fault, file, table) for fault in faults))


def _problem(fault: Fault, file: str, rows: Sequence[Row]) -> Problem:
    """The fault at the line of its task's row."""

    def line_of(path: tuple[str | int, ...]) -> int:
        return rows[path[1]].line if len(path) > 1 and isinstance(path[1], int) else 1

    first = f", first at line {line_of(fault.first)}" if fault.first is not None else ""
    path = fault.path[2:] if fault.path[:1] == ("tasks",) else fault.path
    return Problem(file, line_of(fault.path), format_path(path), fault.message + first)


def _task(row: Row, columns: Columns, answer_after: str) -> dict[str, Any]:
    if row.problem:
        raise ImportProblem(row.problem)
    cells = row.values
    question = cell_text(cells.get(columns.input), columns.input)
    if columns.more_input and (more := cell_text(cells.get(columns.more_input), columns.more_input).strip()):
        question = f"{question}\n\n{more}"
    task_id = (cell_text(cells.get(columns.id), columns.id).strip() if columns.id else "") or f"row-{row.line}"
    task: dict[str, Any] = {"id": task_id, "name": task_id, "input": question}
    if choices := _choices(cells, columns.choices):
        options = "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, choices, strict=False))
        # An empty question stays empty, so that the dataset's check reports it.
        task["input"] = f"{question}\n\n{options}\n\n{PICK_ONE}" if question.strip() else question
        task["expected_output"] = _chosen(cells, columns, choices)
        task["choices"] = choices
    else:
        task["expected_output"] = _expected(cells, columns.expected, answer_after)
    if columns.context:
        passages = cells.get(columns.context)
        texts = [cell_text(text, columns.context) for text in (passages if isinstance(passages, list) else [passages])]
        task["context"] = list(filter(str.strip, texts))
    if "messages" in row.task:
        del task["input"]
    return {**task, **row.task}


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


def _expected(cells: Mapping[str, object], column: str | None, answer_after: str) -> str:
    """The cell, or the first of several correct answers."""
    if column is None:
        return ""
    value = cells.get(column)
    if isinstance(value, dict) and isinstance(value.get("text"), list):
        value = value["text"]
    text = cell_text(value[0] if isinstance(value, list) and value else value, column)
    if not answer_after:
        return text
    _, mark, answer = text.rpartition(answer_after)
    if not mark:
        raise ImportProblem(f"column {quoted(column)}: {quoted(answer_after)} not found")
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
    value = cells.get(columns.expected or "")
    if columns.expected is None or value is None or value == "":
        return ""
    answer = cell_text(value, columns.expected).strip()
    # A column of choices may name them itself, as ARC does.
    listed = cells.get(columns.choices[0]) if len(columns.choices) == 1 else None
    labels = listed.get("label") if isinstance(listed, dict) else None
    for names in (list(map(str, labels)) if isinstance(labels, list) else [], choices, LETTERS[: len(choices)]):
        if list(names).count(answer) == 1:
            return LETTERS[list(names).index(answer)]
    if answer.isascii() and answer.isdecimal() and int(answer[:9]) < len(choices):
        return LETTERS[int(answer)]
    raise ImportProblem(
        f"column {quoted(columns.expected)}: {quoted(answer)} is not one of the {len(choices)} choices: "
        "use their letter, text, or position from 0"
    )
