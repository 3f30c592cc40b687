"""What becomes of each column of a table: a field of its tasks, a label, a picture, or nothing, with the reason."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from itertools import takewhile
from typing import Any, NamedTuple

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.fields import NOT_IN_ONE_LINE, SPLIT_NAME
from benchmarks.dataset_format.json_fields import LABEL_KEY, RESERVED_KEYS
from benchmarks.dataset_format.problems import did_you_mean, quoted
from benchmarks.dataset_format.scalars import unstorable
from benchmarks.dataset_format.spec import DIFFICULTIES
from benchmarks.imports.pictures import is_picture, names_file
from benchmarks.imports.runs import ImportProblem
from benchmarks.imports.tables import Row
from benchmarks.imports.tool_rows import conversation, ends_with_reply

UNUSED = "unused"


class Use(NamedTuple):
    """``many`` columns may have it; ``text`` says what a task gets from them."""

    label: str
    text: str
    many: bool = False


FIELDS: dict[str, Use] = {
    "input": Use("Input", "the input; several columns follow one another", many=True),
    "messages": Use("Conversation", "a conversation in place of the input: a list of role and content"),
    "expected": Use("Reference answer", "the reference answer, or a list of accepted ones"),
    "id": Use("Identifier", "the identifier; without one, the line number"),
    "name": Use("Title", "the title"),
    "context": Use("Passages", "passages to send with the input", many=True),
    "choices": Use("Choices", "a list of choices, or one column for each", many=True),
    "image": Use("Picture", "a picture after the input: a path, a URL, a data: URL or its bytes", many=True),
    "difficulty": Use("Difficulty", f"one of {', '.join(DIFFICULTIES)}"),
    "split": Use("Split", "the part of the dataset"),
    "cluster": Use("Cluster", "what tasks share, such as the id of their passage"),
    "tag": Use("Tag", "a tag, or a list of tags", many=True),
    "metadata": Use("Metadata", "a property for breakdowns and filters", many=True),
    UNUSED: Use("Not used", "left out", many=True),
}
"""What a column can become, in the order in which it is shown."""

NAMED_ALONE = ("input", "expected", "id", "context", "choices")
"""Fields with an option of their own, which names a column."""

KNOWN: dict[str, tuple[str, ...]] = {
    "input": ("input", "question", "prompt", "query", "instruction", "problem", "goal", "text"),
    "expected": (
        *("expected_output", "expected", "answer", "answerkey", "output", "completion", "response", "target", "ideal"),
        *("solution", "reference", "ground_truth", "label", "answers"),
    ),
    "id": ("id", "task_id", "question_id", "qid", "uid", "key", "idx"),
    "context": ("context", "contexts", "passage", "passages", "documents"),
    "choices": ("choices", "options"),
    "messages": ("messages", "conversation", "conversations", "chat"),
    "difficulty": ("difficulty", "level"),
    "split": ("split", "subset", "fold"),
    "cluster": ("cluster", "passage_id", "document_id", "doc_id", "article_id", "story_id", "template", "template_id"),
    "tag": ("tags", "labels", "categories", "keywords", "topics"),
}
"""Field → names of columns for it, the most certain first."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
CHOICE_COLUMNS = ("{}", "choice_{}", "option_{}", "op{}")
"""Names of columns with one choice each, by lower-case letter."""
_INDEX = re.compile(r"__index_level_\d+__")
"""The column in which pandas stores an index."""
_LONGEST_LIST = 10_000
_SYNONYMS = {"expected_output": "expected", "picture": "image", "tags": "tag", "not used": UNUSED}
_PICTURE_NAMES = re.compile(r"(image|picture|photo|figure|img)s?(_?(url|path|file|\d+))?", re.IGNORECASE)
_EMPTY: tuple[object, ...] = (None, "", [], {})


@dataclass(frozen=True, slots=True)
class Column:
    """``note`` says why a column is not used, or what is particular about it; ``example`` is its first value."""

    name: str
    field: str
    note: str = ""
    example: object = None

    @property
    def becomes(self) -> str:
        return FIELDS[self.field].label + (f": {self.note}" if self.note else "")


@dataclass(frozen=True, slots=True)
class Columns:
    """All columns of a table, in its order. ``keys`` has the key of metadata for each column of this field."""

    all: tuple[Column, ...]
    keys: Mapping[str, str]

    def of(self, field: str) -> tuple[str, ...]:
        return tuple(column.name for column in self.all if column.field == field)

    def first(self, field: str) -> str | None:
        return next(iter(self.of(field)), None)

    def __str__(self) -> str:
        parts = []
        for field in FIELDS:
            chosen = [column for column in self.all if column.field == field]
            names = [f"{column.name} ({column.note})" if column.note else column.name for column in chosen]
            if names or field == "id":
                joined = (" and " if field == "input" else ", ").join(names) or "the line number"
                parts.append(f"{'not used' if field == UNUSED else field}: {joined}")
        return "; ".join(parts)


def read_columns(texts: Iterable[str]) -> dict[str, str]:
    """Column → field of texts like ``NAME=FIELD``. Raises ``ImportProblem``."""
    given = {}
    for text in texts:
        name, sign, field = text.rpartition("=")
        field = _SYNONYMS.get(field.strip().lower(), field.strip().lower())
        if not sign or field not in FIELDS:
            hint = did_you_mean(field, FIELDS) if sign else ""
            choose = hint or f": use NAME=FIELD, where FIELD is one of {', '.join(FIELDS)}"
            raise ImportProblem(f"column {quoted(text)}{choose}")
        given[name] = field
    return given


def first_values(rows: Iterable[Row]) -> dict[str, object]:
    """The columns, in the order in which they occur, each with its first value."""
    values: dict[str, object] = {}
    for row in rows:
        for name, value in row.values.items():
            if _is_empty(values.get(name)):
                values[name] = value
    return values


def columns_of(rows: Sequence[Row], given: Mapping[str, str], *, paths: bool = True) -> Columns:
    """The columns of a table: ``given`` fields by column, and guesses for the others, by their names and all values.

    ``paths``: whether a path can name a picture.

    Raises ``ImportProblem`` for a column that does not exist, a field that two columns have, and a table without input.
    """
    values: dict[str, list[Any]] = {}
    for row in rows:
        for name, value in row.values.items():
            filled = values.setdefault(name, [])
            if not _is_empty(value):
                filled.append(value)
    of_tool = any(row.task for row in rows)
    guess = _Guess(values, given, paths=paths, of_tool=of_tool)
    fields = guess.fields()
    keys = _metadata_keys([name for name in values if fields[name] == "metadata"])
    columns = []
    for name, filled in values.items():
        field, note = fields[name], guess.notes.get(name, "")
        if field == "metadata" and name not in keys:
            field, note = UNUSED, f"a task has at most {limits.MAX_LABELS} properties"
        columns.append(Column(name, field, note, filled[0] if filled else None))
    return Columns(tuple(columns), keys)


class _Guess:
    """The field of each column."""

    def __init__(
        self, values: Mapping[str, list[Any]], given: Mapping[str, str], *, paths: bool, of_tool: bool
    ) -> None:
        self.values, self.given, self.paths, self.of_tool = values, given, paths, of_tool
        self.by_lower = {name.lower(): name for name in reversed(list(values))}
        self.notes: dict[str, str] = {}
        self.taken: dict[str, str] = {}

    def fields(self) -> dict[str, str]:
        self._take_given()
        self._take_messages()
        self._take_input()
        for field in ("expected", "id", "context"):
            self._take_known(field)
        self._take_choices()
        self._note_losses()
        for name in self.values:
            if name not in self.taken:
                self.taken[name] = self._property(name)
        return self.taken

    def _take_given(self) -> None:
        listed = ", ".join(quoted(name) for name in list(self.values)[:30]) or "none"
        for name, field in self.given.items():
            if name not in self.values:
                raise ImportProblem(f"column {quoted(name)} for {field} does not exist. Columns: {listed}")
            if not FIELDS[field].many and (other := self._has(field)):
                raise ImportProblem(f"columns {quoted(other)} and {quoted(name)} are both for {field}: choose one")
            self.taken[name] = field

    def _has(self, field: str) -> str | None:
        return next((name for name, taken in self.taken.items() if taken == field), None)

    def _free(self, field: str) -> Iterable[str]:
        known = (self.by_lower[name] for name in KNOWN[field] if name in self.by_lower)
        return (name for name in known if name not in self.taken)

    def _take_known(self, field: str) -> None:
        if self._has(field) is None and (name := next(iter(self._free(field)), None)) is not None:
            self.taken[name] = field

    def _take_messages(self) -> None:
        if self._has("messages") or self._has("input"):
            return
        for name in self._free("messages"):
            if self.values[name] and conversation(self.values[name][0]):
                self.taken[name] = "messages"
                return

    def _take_input(self) -> None:
        if self._has("messages") or self._has("input"):
            return
        # Instruction datasets have the task in "instruction", and in "input" what it applies to.
        both = [self.by_lower[name] for name in ("instruction", "input") if name in self.by_lower]
        if len(both) == 2 and not any(name in self.taken for name in both):
            self.taken |= dict.fromkeys(both, "input")
            return
        self._take_known("input")
        if self._has("input") is None:
            listed = ", ".join(quoted(name) for name in list(self.values)[:30]) or "none"
            raise ImportProblem(f"no column is recognized as the input: name one. Columns: {listed}")

    def _take_choices(self) -> None:
        if self._has("choices") or self._has("messages"):
            return
        self._take_known("choices")
        for pattern in CHOICE_COLUMNS if self._has("choices") is None else ():
            names = takewhile(self.by_lower.__contains__, map(pattern.format, LETTERS.lower()))
            columns = [self.by_lower[name] for name in names]
            if len(columns) > 1 and not any(name in self.taken for name in columns):
                self.taken |= dict.fromkeys(columns, "choices")
                return

    def _note_losses(self) -> None:
        """What of a column that is used has no place in a task."""
        chat, expected = self._has("messages"), self._has("expected")
        if chat and expected and any(map(ends_with_reply, self.values[chat])):
            self.notes[chat] = f"its last answer is not used, because {expected} has the reference"
        most = limits.MAX_ANSWERS
        if expected and any(isinstance(value, list) and len(value) > most for value in self.values[expected]):
            self.notes[expected] = f"of more than {most} accepted answers, the first {most}"

    def _property(self, name: str) -> str:
        """What a column is that neither asks nor answers."""
        values = self.values[name]
        is_image = bool(values) and all(is_picture(each, named=bool(_PICTURE_NAMES.fullmatch(name))) for each in values)
        nameless = "" if name.strip() else "it has no name"
        nameless = "it is the index of a data frame" if _INDEX.fullmatch(name) else nameless
        note = nameless or self._why_not(values, is_image=is_image)
        field = UNUSED if note else "image" if is_image else self._label(name.lower(), values)
        if not note and field == "metadata" and (faults := list(filter(None, map(metadata_fault, values)))):
            count = "" if len(faults) == len(values) else f" in {len(faults):,} of {len(values):,} rows"
            field, note = UNUSED, f"{faults[0]}{count}"
        if note:
            self.notes[name] = note
        return field

    def _why_not(self, values: Sequence[Any], *, is_image: bool) -> str:
        """Why a column is not used, whatever its values are; nothing if it can be."""
        if self.of_tool:
            return "of the tool"
        if not values:
            return "empty"
        needs_files = is_image and not self.paths and any(map(names_file, values))
        return "paths of pictures, whose files are not with the table" if needs_files else ""

    def _label(self, lower: str, values: Sequence[Any]) -> str:
        fits = {
            "difficulty": all(isinstance(each, str) and each.strip().lower() in DIFFICULTIES for each in values),
            "split": _are_splits(values),
            "cluster": all(isinstance(each, str | int) for each in values),
            "tag": not any(map(tag_fault, values)),
        }
        taken = {field for field in fits if not FIELDS[field].many and self._has(field)}
        known = (field for field in fits if lower in KNOWN[field] and field not in taken and fits[field])
        return next(known, "metadata")


def _is_empty(value: object) -> bool:
    return value in _EMPTY if not isinstance(value, float) else math.isnan(value)


def _are_splits(values: Sequence[Any]) -> bool:
    texts = {value for value in values if isinstance(value, str)}
    if len(texts) > limits.MAX_SPLITS or not all(isinstance(value, str) for value in values):
        return False
    return all(re.fullmatch(SPLIT_NAME, text) for text in texts)


def metadata_fault(value: object) -> str:
    """Why a cell can be no property of a task, nothing if it can."""
    given, fault = plain(value), "lists or objects"
    match given:
        case bool():
            fault = ""
        case int():
            fault = "" if abs(given) < 2**63 else "numbers of more than 64 bits"
        case float():
            fault = "" if math.isfinite(given) else "infinite numbers"
        case str() if len(given) > limits.MAX_LABEL:
            fault = f"texts of more than {limits.MAX_LABEL} characters"
        case str() if NOT_IN_ONE_LINE.search(given):
            fault = "texts of several lines"
        case str():
            fault = "" if given.strip() and not unstorable(given) else "texts that cannot be stored"
        case bytes():
            fault = "bytes that are no picture"
    return fault


def tags_of(value: object) -> Any:
    """A cell of tags as JSON has it; a list that was written as text, as CSV files of Python have it, is a list."""
    cell = plain(value)
    if not isinstance(cell, str) or not cell.startswith("[") or len(cell) > _LONGEST_LIST:
        return cell
    try:
        items = ast.literal_eval(cell)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return cell
    return items if isinstance(items, list) else cell


def tag_fault(value: object) -> str:
    """Why a cell can be no tag or list of tags, nothing if it can."""
    items = tags_of(value)
    for item in items if isinstance(items, list) else [items]:
        if isinstance(item, dict | list) or (fault := metadata_fault(item)):
            return "lists or objects" if isinstance(item, dict | list) else fault
    return ""


def plain(value: object) -> Any:
    """A cell of Parquet or of pandas as JSON has it: times as ISO 8601, decimals as numbers or texts."""
    match value:
        case datetime() | date() | time():
            return value.isoformat()
        case Decimal():
            return float(value) if Decimal(repr(float(value))) == value else str(value)
        case str():
            return value.strip()
    return value


def _metadata_keys(names: Sequence[str]) -> dict[str, str]:
    """Column → key of metadata, as many as a task may have, no key twice."""
    keys: dict[str, str] = {}
    for name in names[: limits.MAX_LABELS]:
        key = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")[:36] or "column"
        if not re.fullmatch(LABEL_KEY, key) or key in (*RESERVED_KEYS, "split"):
            key = f"column_{key}"[:36]
        used = set(keys.values())
        numbered = (f"{key}_{number}" for number in range(2, limits.MAX_LABELS + 2))
        keys[name] = key if key not in used else next(each for each in numbered if each not in used)
    return keys


def example_text(value: object) -> str:
    """A cell for people."""
    if isinstance(value, bytes | bytearray):
        return f"{len(value):,} bytes"
    if isinstance(value, dict) and isinstance(value.get("bytes"), bytes | bytearray):
        return f"{len(value['bytes']):,} bytes"
    if isinstance(value, list | dict):
        try:
            return json.dumps(value, ensure_ascii=False, default=str)[:500]
        except (ValueError, RecursionError):
            return "a list" if isinstance(value, list) else "an object"
    return "" if value is None else str(value)[:500]
