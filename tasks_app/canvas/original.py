"""The file layout of the original data: `canvas_{number of shapes}_{index}.json`, read and written without loss.

A document has `canvas` (a list of {shape, color, size, center}), `descriptions` (name → text) and `questions` (task
name → list of [question, answer]). It is written as `json.dumps(document, indent=4)` would, so a file of the original
data comes back byte for byte. Files come from anywhere: what is wrong in one is told with its name and key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii as quote
from typing import Any, NoReturn, TypeVar

from tasks_app.canvas.geometry import lies_inside
from tasks_app.canvas.shapes import COLORS, HALF, KINDS, SHAPES, SIZES, CanvasError, Shape

Answer = str | int
QuestionAndAnswer = tuple[str, Answer]
Value = TypeVar("Value")

MAX_BYTES = 1_000_000
MAX_SHAPES = 2 * len(KINDS)
MAX_QUESTIONS = 100
MAX_ANSWER = 1_000_000

_FILE_NAME = re.compile(r"canvas_([1-9][0-9]{0,3})_(0|[1-9][0-9]{0,8})\.json")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class OriginalCanvas:
    """One canvas file. Questions keep the type of their answers: a count is a number."""

    shapes: tuple[Shape, ...]
    descriptions: dict[str, str]
    questions: dict[str, tuple[QuestionAndAnswer, ...]]


def file_name(n_shapes: int, index: int) -> str:
    """Return the name of the file of canvas `index` among those of `n_shapes` shapes."""
    return f"canvas_{n_shapes}_{index}.json"


def parse_file_name(name: str) -> tuple[int, int]:
    """Return (number of shapes, index) from a file's name without its folder; any other name raises `CanvasError`."""
    match = _FILE_NAME.fullmatch(name)
    if match is None:
        raise CanvasError(f"{name}: a canvas file is named canvas_{{number of shapes}}_{{index}}.json")
    return int(match[1]), int(match[2])


def parse_original(data: bytes, file: str) -> OriginalCanvas:
    """Read one canvas file; `file` is what errors call it.

    Raises `CanvasError` as "file: key: what is wrong" for the first thing that is: broken JSON, a missing, unknown or
    repeated key, a value out of range, a shape outside the canvas.
    """
    return _Reader(file).document(data)


class _Reader:
    """Reads one file. `at` is the key that an error names."""

    def __init__(self, file: str) -> None:
        self.file = file

    def fail(self, at: str, message: str) -> NoReturn:
        raise CanvasError(f"{self.file}: {at}: {message}" if at else f"{self.file}: {message}")

    def document(self, data: bytes) -> OriginalCanvas:
        document = self.keys("", self.json(data), ("canvas", "descriptions", "questions"))
        return OriginalCanvas(
            shapes=self.shapes("canvas", document["canvas"]),
            descriptions=self.mapping("descriptions", document["descriptions"], self.text),
            questions=self.mapping("questions", document["questions"], self.questions),
        )

    def json(self, data: bytes) -> object:
        if len(data) > MAX_BYTES:
            self.fail("", f"the file has {len(data):,} bytes; a canvas file has at most {MAX_BYTES:,}")
        try:
            return json.loads(data.decode(), object_pairs_hook=self.pairs, parse_constant=self.constant)
        except CanvasError:
            raise
        except RecursionError:
            self.fail("", "lists or objects are nested too deeply for a canvas file")
        except ValueError as error:
            self.fail("", f"this is not JSON in UTF-8: {error}")

    def pairs(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        mapping = dict(pairs)
        if len(mapping) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated = next(key for key in keys if keys.count(key) > 1)
            self.fail("", f"the key {_shown(repeated)} is given twice in one object")
        return mapping

    def constant(self, name: str) -> NoReturn:
        self.fail("", f"{name} is not a value of JSON")

    def keys(self, at: str, value: object, keys: Sequence[str]) -> dict[str, Any]:
        if not isinstance(value, dict):
            self.fail(at, f"must be an object, not {_shown(value)}")
        for key in keys:
            if key not in value:
                self.fail(at, f"the key {_shown(key)} is missing")
        for key in value:
            if key not in keys:
                self.fail(at, f"the key {_shown(key)} is unknown; the keys are {', '.join(keys)}")
        return value

    def mapping(self, at: str, value: object, read: Callable[[str, object], Value]) -> dict[str, Value]:
        if not isinstance(value, dict):
            self.fail(at, f"must be an object, not {_shown(value)}")
        for name in value:
            if not _NAME.fullmatch(name):
                self.fail(at, f"{_shown(name)} is not a name: use up to 64 letters, digits, _ or -, a letter first")
        return {name: read(f"{at}.{name}", part) for name, part in value.items()}

    def items(self, at: str, value: object) -> list[Any]:
        if not isinstance(value, list):
            self.fail(at, f"must be a list, not {_shown(value)}")
        return value

    def text(self, at: str, value: object) -> str:
        if not isinstance(value, str):
            self.fail(at, f"must be a text, not {_shown(value)}")
        if _UNSTORABLE.search(value):
            self.fail(at, "the text has a NUL character or half of a surrogate pair, which cannot be stored")
        return value

    def choice(self, at: str, value: object, choices: Sequence[str]) -> str:
        if not isinstance(value, str) or value not in choices:
            self.fail(at, f"must be one of {', '.join(choices)}, not {_shown(value)}")
        return value

    def shapes(self, at: str, value: object) -> tuple[Shape, ...]:
        items = self.items(at, value)
        if not 1 <= len(items) <= MAX_SHAPES:
            self.fail(at, f"must hold 1 to {MAX_SHAPES} shapes, not {len(items)}")
        return tuple(self.shape(f"{at}[{index}]", item) for index, item in enumerate(items))

    def shape(self, at: str, value: object) -> Shape:
        item = self.keys(at, value, ("shape", "color", "size", "center"))
        shape = Shape(
            shape=self.choice(f"{at}.shape", item["shape"], SHAPES),
            color=self.choice(f"{at}.color", item["color"], COLORS),
            size=self.choice(f"{at}.size", item["size"], SIZES),
            center=self.center(f"{at}.center", item["center"]),
        )
        if not lies_inside(shape):
            self.fail(f"{at}.center", f"a {shape.name} at {shape.center} crosses the border of the canvas")
        return shape

    def center(self, at: str, value: object) -> tuple[int, int]:
        items = self.items(at, value)
        if len(items) != 2 or not all(type(item) is int and abs(item) <= HALF for item in items):
            self.fail(at, f"must be two whole numbers [x, y] from -{HALF} to {HALF}")
        return items[0], items[1]

    def questions(self, at: str, value: object) -> tuple[QuestionAndAnswer, ...]:
        items = self.items(at, value)
        if len(items) > MAX_QUESTIONS:
            self.fail(at, f"must hold at most {MAX_QUESTIONS} questions, not {len(items)}")
        return tuple(self.question(f"{at}[{index}]", item) for index, item in enumerate(items))

    def question(self, at: str, value: object) -> QuestionAndAnswer:
        items = self.items(at, value)
        if len(items) != 2:
            self.fail(at, f"must be [question, answer], not {_shown(value)}")
        question, answer = items
        if type(answer) is int:
            if abs(answer) > MAX_ANSWER:
                self.fail(f"{at}[1]", f"a number must lie between -{MAX_ANSWER:,} and {MAX_ANSWER:,}")
            return self.text(f"{at}[0]", question), answer
        return self.text(f"{at}[0]", question), self.text(f"{at}[1]", answer)


def _shown(value: object) -> str:
    """Return a value for an error message: never long, never more than printable characters."""
    shown = json.dumps(value) if isinstance(value, str | int | float | bool | None) else type(value).__name__
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def dump_original(
    shapes: Sequence[Shape], descriptions: Mapping[str, str], questions: Mapping[str, Sequence[QuestionAndAnswer]]
) -> bytes:
    """Write one canvas file, as `json.dumps` with an indent of 4 does, but several times faster."""
    canvas = [_dump_shape(shape) for shape in shapes]
    texts = [f"{quote(name)}: {quote(text)}" for name, text in descriptions.items()]
    tasks = [f"{quote(task)}: {_block('[]', _dump_questions(items), 2)}" for task, items in questions.items()]
    document = [
        f'"canvas": {_block("[]", canvas, 1)}',
        f'"descriptions": {_block("{}", texts, 1)}',
        f'"questions": {_block("{}", tasks, 1)}',
    ]
    return _block("{}", document, 0).encode("ascii")


_INDENTS = ["\n" + "    " * depth for depth in range(5)]
_2, _3, _4 = _INDENTS[2:]


def _block(brackets: str, parts: Sequence[str], depth: int) -> str:
    """Return written parts as a list or an object that stands `depth` levels deep."""
    if not parts:
        return brackets
    inner = _INDENTS[depth + 1]
    return f"{brackets[0]}{inner}{f',{inner}'.join(parts)}{_INDENTS[depth]}{brackets[1]}"


def _dump_shape(shape: Shape) -> str:
    x, y = shape.center
    return (
        f'{{{_3}"shape": "{shape.shape}",{_3}"color": "{shape.color}",{_3}"size": "{shape.size}"'
        f',{_3}"center": [{_4}{x},{_4}{y}{_3}]{_2}}}'
    )


def _dump_questions(items: Sequence[QuestionAndAnswer]) -> list[str]:
    return [
        f"[{_4}{quote(question)},{_4}{quote(answer) if isinstance(answer, str) else answer}{_3}]"
        for question, answer in items
    ]
