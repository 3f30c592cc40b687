"""The kinds of values a dataset holds. A kind checks a value, describes itself and gives its JSON Schema.

Values are plain Python as YAML, JSON or a form brings them. ``check`` never raises, whatever it is given; ``load`` is
only called for a value that ``check`` found nothing wrong with.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.nodes import REPORTED
from benchmarks.dataset_format.problems import Fault, Path, did_you_mean, quoted

_MISFITS = re.compile(r"[\x00\ud800-\udfff]")
_NOT_IN_ONE_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_LARGEST_INTEGER = 2**63 - 1


class Kind(ABC):
    """What a value may be. ``label`` says so in a few words, for messages and documents."""

    label: str
    takes_text: ClassVar[bool] = False

    def check(self, value: object, path: Path) -> Iterator[Fault]:
        """Yield every fault in the value."""
        if value is REPORTED:
            yield Fault(path, "was reported already", told=True)
            return
        if value is None:
            yield Fault(path, f"has no value: write {self.label}", quotable=self.takes_text)
            return
        yield from self.faults(value, path)

    @abstractmethod
    def faults(self, value: object, path: Path) -> Iterator[Fault]:
        """Yield the faults of a value that is there."""

    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the kind."""

    def load(self, value: Any) -> Any:
        """Bring a faultless value into the form that the specification keeps."""
        return value

    def mismatch(self, value: object, path: Path) -> Fault:
        return Fault(path, f"must be {self.label}, not {describe(value)}", quotable=self.takes_text)


_TYPE_NAMES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (type(None), "nothing"),
    (bool, "a boolean"),
    ((int, float), "a number"),
    (str, "text"),
    (Mapping, "a mapping"),
    ((list, tuple), "a list"),
)


def describe(value: object) -> str:
    """Name a value's type in the words of a YAML author."""
    return next((name for types, name in _TYPE_NAMES if isinstance(value, types)), f"a {type(value).__name__}")


def misfits(text: str, path: Path) -> Iterator[Fault]:
    """Yield a fault for characters that neither UTF-8 nor every database can hold."""
    if found := _MISFITS.search(text):
        yield Fault(path, f"holds the character U+{ord(found[0]):04X}, which cannot be stored: remove it")


@dataclass(frozen=True, slots=True)
class Text(Kind):
    """Text. ``blank`` allows text without any visible character; ``one_line`` text is a name or an identifier."""

    blank: bool = False
    one_line: bool = False
    max_length: int | None = None
    pattern: str = ""
    pattern_means: str = ""
    label: str = "text"
    takes_text: ClassVar[bool] = True

    def faults(self, value: object, path: Path) -> Iterator[Fault]:
        if not isinstance(value, str):
            yield self.mismatch(value, path)
            return
        yield from misfits(value, path)
        if not self.blank and not value.strip():
            yield Fault(path, f"is empty: write {self.label}")
        elif self.max_length is not None and len(value) > self.max_length:
            yield Fault(path, f"has {len(value):,} characters: at most {self.max_length:,} are allowed")
        elif self.one_line and (_NOT_IN_ONE_LINE.search(value) or value != value.strip()):
            yield Fault(path, "must be one line without spaces around it")
        elif self.pattern and not re.fullmatch(self.pattern, value):
            yield Fault(path, f"{quoted(value)} is not allowed: use {self.pattern_means}")
        else:
            yield from self.text_faults(value, path)

    def text_faults(self, text: str, path: Path) -> Iterator[Fault]:
        """Yield what is wrong with the content of well-formed text. For kinds that build on text."""
        yield from ()

    def schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "string"}
        if self.pattern:
            schema["pattern"] = f"^(?:{self.pattern})$"
        elif not self.blank:
            schema["pattern"] = r"\S"
        if self.max_length is not None:
            schema["maxLength"] = self.max_length
        return schema


@dataclass(frozen=True, slots=True)
class Choice(Kind):
    """One of a few words."""

    options: tuple[str, ...]

    @property
    def label(self) -> str:  # type: ignore[override]  # read-only here, derived from the options
        return " or ".join(filter(None, (", ".join(self.options[:-1]), self.options[-1])))

    def faults(self, value: object, path: Path) -> Iterator[Fault]:
        if isinstance(value, str) and value in self.options:
            return
        if isinstance(value, str):
            yield Fault(
                path, f"{quoted(value)} is not one of them: write {self.label}{did_you_mean(value, self.options)}"
            )
        else:
            yield self.mismatch(value, path)

    def schema(self) -> dict[str, Any]:
        return {"enum": list(self.options)}


@dataclass(frozen=True, slots=True)
class Number(Kind):
    """A finite number of at least ``minimum``, kept as a float."""

    minimum: float
    label: str = "a number"

    def faults(self, value: object, path: Path) -> Iterator[Fault]:
        if isinstance(value, bool) or not isinstance(value, int | float):
            yield self.mismatch(value, path)
        elif not _is_finite(value):
            yield Fault(path, "must be a finite number that a computer can hold")
        elif value < self.minimum:
            yield Fault(path, f"is {value}: it must be at least {self.minimum:g}")

    def schema(self) -> dict[str, Any]:
        return {"type": "number", "minimum": self.minimum}

    def load(self, value: Any) -> float:
        return float(value)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


@dataclass(frozen=True, slots=True)
class JsonValue(Kind):
    """Anything that JSON holds, checked to the bottom."""

    label: str = "any JSON value"

    def check(self, value: object, path: Path) -> Iterator[Fault]:
        if value is not None:
            yield from Kind.check(self, value, path)

    def faults(self, value: object, path: Path) -> Iterator[Fault]:
        match value:
            case str():
                yield from misfits(value, path)
            case bool():
                return
            case int() | float():
                yield from _number_faults(value, path)
            case _ if len(path) > limits.MAX_DEPTH:
                yield Fault(path[:3], f"is nested more than {limits.MAX_DEPTH} deep: flatten it")
            case list() | tuple():
                for index, item in enumerate(value):
                    yield from self.check(item, (*path, index))
            case Mapping():
                yield from self._mapping_faults(value, path)
            case _:
                yield Fault(path, f"must be something that JSON holds, not {describe(value)}")

    def _mapping_faults(self, value: Mapping[Any, object], path: Path) -> Iterator[Fault]:
        for key, item in value.items():
            if not isinstance(key, str):
                yield Fault(path, f"has {describe(key)} as a key: keys must be text")
                continue
            yield from misfits(key, path)
            yield from JsonValue().check(item, (*path, key))

    def schema(self) -> dict[str, Any]:
        return {}


def _number_faults(value: float, path: Path) -> Iterator[Fault]:
    if not _is_finite(value):
        yield Fault(path, "must be a finite number: quote it if text is meant")
    elif isinstance(value, int) and abs(value) > _LARGEST_INTEGER:
        yield Fault(path, "needs more than 64 bits, which not every reader can hold: quote it")


@dataclass(frozen=True, slots=True)
class JsonObject(JsonValue):
    """A mapping of text to anything that JSON holds."""

    label: str = "a mapping"

    def check(self, value: object, path: Path) -> Iterator[Fault]:
        yield from Kind.check(self, value, path)

    def faults(self, value: object, path: Path) -> Iterator[Fault]:
        if isinstance(value, Mapping):
            yield from self._mapping_faults(value, path)
        else:
            yield self.mismatch(value, path)

    def schema(self) -> dict[str, Any]:
        return {"type": "object"}


@dataclass(frozen=True, slots=True)
class ListOf(Kind):
    """A list of one kind. ``unique`` leads to the text in each item that may not repeat, ``()`` is the item itself."""

    item: Kind
    label: str
    minimum: int = 0
    unique: tuple[str, ...] | None = None

    def faults(self, value: object, path: Path) -> Iterator[Fault]:
        if not isinstance(value, list | tuple):
            yield Fault(path, f"must be {self.label}, not {describe(value)}: begin each item with `- `")
            return
        if len(value) < self.minimum:
            yield Fault(path, f"is too short: at least {self.minimum} must be given")
        seen: dict[str, Path] = {}
        for index, item in enumerate(value):
            yield from self.item.check(item, (*path, index))
            if self.unique is not None:
                yield from self._repeated(item, (*path, index), seen)

    def _repeated(self, item: object, path: Path, seen: dict[str, Path]) -> Iterator[Fault]:
        below = self.unique or ()
        name = item
        for step in below:
            name = name.get(step) if isinstance(name, Mapping) else None
        if isinstance(name, str) and (first := seen.setdefault(name, path)) != path:
            yield Fault((*path, *below), f"{quoted(name)} is given twice", first=(*first, *below))

    def schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "array", "items": self.item.schema()}
        if self.minimum:
            schema["minItems"] = self.minimum
        if self.unique == ():
            schema["uniqueItems"] = True
        return schema

    def load(self, value: Any) -> tuple[Any, ...]:
        return tuple(self.item.load(item) for item in value)
