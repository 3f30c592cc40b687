"""Models of the documents that other tools write. Pydantic validates them; errors name the place of the first.

What no field of a model reads is counted, so that an import can say what it did not use.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from benchmarks.dataset_format.fields import Tag
from benchmarks.dataset_format.json_fields import Metadata
from benchmarks.dataset_format.limits import MAX_ANSWERS, MAX_LABEL, MAX_LABELS
from benchmarks.dataset_format.problems import Invalid, printable, quoted
from benchmarks.imports.runs import MAX_REPEATS, ImportProblem, Unused
from benchmarks.providers.clean_text import storable, storable_json

LARGEST_INTEGER = 2**31 - 1


class Part(BaseModel):
    """Base of the models of foreign files. Unknown keys are counted (``read``); a null is the same as a missing key.

    A field made by ``at`` is nested, for example, ``output.choices[0].text``. Of the alternatives in
    ``cost|response.cost`` the first that exists counts.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)
    called: ClassVar[str] = "the file"
    """What the model describes, in the plural, to say what was not used of it."""
    without_loss: ClassVar[frozenset[str]] = frozenset()
    """Paths of keys that nobody misses: technical ids, and what other keys say as well."""

    @model_validator(mode="before")
    @classmethod
    def _flatten(cls, value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, dict):
            return value
        if info.context is not None:
            info.context.update((path, cls.called) for path in _unread(value, _tree_of(cls), cls.without_loss))
        flat: dict[str, object] = {}
        for name, paths in _paths_of(cls):
            for steps in paths:
                item = _follow(value, steps)
                if item is not None:
                    flat[name] = item
                    break
        return flat


def at(path: str, default: Any = None) -> Any:
    """A field of a ``Part`` that is nested, or has another name in the file."""
    return Field(default, validation_alias=path)


Steps = tuple[str | int, ...]


@cache
def _paths_of(model: type[Part]) -> list[tuple[str, list[Steps]]]:
    names = [str(field.validation_alias or name) for name, field in model.model_fields.items()]
    return [
        (name, [tuple(int(s) if s.isdecimal() else s for s in re.findall(r"[\w-]+", path)) for path in name.split("|")])
        for name in names
    ]


def _follow(value: Any, steps: Steps) -> Any:
    """The value at the path; ``None`` if it is missing. Raises where the path leads through neither object nor list."""
    for depth, step in enumerate(steps):
        if value is None:
            return None
        if isinstance(step, int) and isinstance(value, list):
            value = value[step] if step < len(value) else None
        elif isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        else:
            wanted = expected("a list" if isinstance(step, int) else "an object")
            error = InitErrorDetails(type=wanted, loc=steps[:depth], input=value)
            raise ValidationError.from_exception_data("part", [error])
    return value


@cache
def _tree_of(model: type[Part]) -> dict[Any, Any]:
    """The paths of all fields as nested mappings; an empty one is a field, which is read wholly."""
    tree: dict[Any, Any] = {}
    # Longer paths first, so that a field at the beginning of another's path counts as read wholly.
    for steps in sorted((steps for _, paths in _paths_of(model) for steps in paths), key=len, reverse=True):
        branch = tree
        for step in steps[:-1]:
            branch = branch.setdefault(step, {})
        branch[steps[-1]] = {}
    return tree


def _unread(value: Any, tree: dict[Any, Any], without_loss: frozenset[str], path: str = "") -> Iterator[str]:
    """The paths that have a value and that no field reads."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        inner = f"{path}[]" if isinstance(key, int) else f"{path}.{key}".removeprefix(".")
        if inner in without_loss or item in (None, False, "", [], {}):
            continue
        if key not in tree:
            yield inner
        elif tree[key]:
            yield from _unread(item, tree[key], without_loss, inner)


_LABELS: TypeAdapter[Mapping[str, object]] = TypeAdapter(Metadata)
_TAG: TypeAdapter[str] = TypeAdapter(Tag)


def label_values(
    metadata: Mapping[str, object], part: str, unused: Unused, path: str = "metadata"
) -> dict[str, object]:
    """What of the metadata a task can have: short texts, numbers and booleans. The rest is counted in ``unused``."""
    labels: dict[str, object] = {}
    for key, value in metadata.items():
        try:
            if len(labels) < MAX_LABELS:
                labels |= _LABELS.validate_python({key: value})
                continue
        except (Invalid, ValidationError):
            pass
        if value not in (None, "", [], {}):
            unused[f"{path}.{key}".removeprefix("."), part] += 1
    return labels


def tag_values(tags: Any, part: str, unused: Unused, longest: int = MAX_LABEL) -> tuple[str, ...]:
    """Short texts in one line, as tasks and runs have them as tags. The rest is counted in ``unused``."""
    known: dict[str, None] = {}
    for tag in tags if isinstance(tags, list) else [tags] if tags else []:
        try:
            if len(known) < MAX_LABELS and len(tag) <= longest:
                known[_TAG.validate_python(tag)] = None
                continue
        except (Invalid, ValidationError, TypeError):
            pass
        unused["tags", part] += 1
    return tuple(known)


Model = TypeVar("Model", bound=Part)


def read(model: type[Model], value: Any, where: str, unused: Unused | None = None) -> Model:
    """The value as a model; counts in ``unused`` what no field of it reads.

    Raises ``ImportProblem`` with the place of the first error, below ``where``.
    """
    try:
        return model.model_validate(value, context=unused)
    except ValidationError as invalid:
        error = invalid.errors(include_url=False)[0]
        place = where
        for step in error["loc"]:
            name = str(step).partition("|")[0]
            place += (
                f"[{step}]" if isinstance(step, int) else f".{name}" if _NAME.fullmatch(name) else f"[{quoted(name)}]"
            )
        wanted = error["msg"] if error["type"] == "expected" else _WANTED.get(error["type"], error["type"])
        given = None if error["type"] == "missing" else error["input"]
        raise ImportProblem(f"{place.removeprefix('.')}: expected {wanted}, found {shown(given)}") from None


_NAME = re.compile(r"[\w.\[\]-]{1,100}")
_WANTED = {"model_type": "an object", "dict_type": "an object", "tuple_type": "a list", "missing": "a value"}
"""Pydantic's error type → what is expected."""


def expected(what: str) -> PydanticCustomError:
    """The error of a validator whose value is not ``what``."""
    return PydanticCustomError("expected", "{what}", {"what": what})


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise expected("text")
    return storable(value, [])


def _number(what: str, most: float, *, whole: bool = False) -> BeforeValidator:
    def check(value: Any) -> float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 <= value <= most or (whole and value % 1):
            raise expected(what)
        return int(value) if whole else float(value)

    return BeforeValidator(check)


def _moment(value: Any) -> datetime | None:
    if value == "":
        return None
    try:
        moment = datetime.fromisoformat(_text(value))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise expected("a time such as 2026-01-31T12:00:00+00:00") from None


_SETTINGS = {"temperature": float, "top_p": float, "max_tokens": int, "seed": int}
Text = Annotated[str, BeforeValidator(_text)]
"""Text as every database can hold it."""
Amount = Annotated[float, _number("a number of at least 0", sys.float_info.max)]
Count = Annotated[int, _number(f"a whole number up to {LARGEST_INTEGER:,}", LARGEST_INTEGER, whole=True)]
Repeat = Annotated[int, _number(f"a whole number up to {MAX_REPEATS:,}", MAX_REPEATS, whole=True)]
Moment = Annotated[datetime | None, BeforeValidator(_moment)]
"""A time in ISO 8601, in UTC unless it names another zone; empty text is no time."""


def as_text(value: Any) -> str:
    """Text as it is, anything else as JSON."""
    return storable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), [])


def sampling_of(values: Mapping[str, Any]) -> dict[str, object]:
    """The settings among the values with which a model was asked, as a run has them; others than numbers are left out.

    Some tools write numbers as text.
    """
    settings: dict[str, object] = {}
    for name, kind in _SETTINGS.items():
        value = values.get(name)
        try:
            number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
        except (ValueError, OverflowError):
            continue
        if kind is float and math.isfinite(number):
            settings[name] = number
        elif number.is_integer() and 0 <= number <= LARGEST_INTEGER:
            settings[name] = int(number)
    return settings


def accepted(texts: Iterable[str]) -> str | tuple[str, ...]:
    """The accepted answers as a task has them: one text, or several that differ."""
    distinct = tuple(dict.fromkeys(text for text in texts if text.strip()))[:MAX_ANSWERS]
    return distinct if len(distinct) > 1 else "".join(distinct)


def plain_json(value: Any) -> Any:
    """Validator: a JSON value as every database can hold it."""
    try:
        return storable_json(value, [])
    except (ValueError, RecursionError):
        raise expected("a JSON value of moderate depth") from None


def shown(value: Any) -> str:
    """A foreign value for a message."""
    match value:
        case str():
            return quoted(value)
        case int() if abs(value) > 10**30:  # Python refuses to write long integers in decimal
            return "a huge number"
        case bool() | int() | float():
            return printable(json.dumps(value))
    return "nothing" if value is None else "a list" if isinstance(value, list | tuple) else "an object"
