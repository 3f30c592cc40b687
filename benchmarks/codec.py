"""Dataclasses as stored JSON, and back, by the types of their fields."""

from __future__ import annotations

import types
from collections import abc
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass
from functools import cache, partial
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")
_Read = Callable[[Any], Any]
_LEFT_OUT, _EMPTY, _STORED = "left out", "empty", "_stored"


def left_out() -> Any:
    """The default of a field that is stored only where it has a value: without one it is ``None``."""
    return field(default=None, metadata={_LEFT_OUT: True})


def empty() -> Any:
    """The default of a field without whose value ``{}`` is stored: it is ``None``."""
    return field(default=None, metadata={_EMPTY: True})


def is_left_out(each: Field[Any], value: object = None) -> bool:
    """Whether a field of a dataclass is stored without its value."""
    return value is None and _LEFT_OUT in each.metadata


def read(cls: type[T], stored: Mapping[str, object]) -> T:
    """What is missing has its default, and what ``cls`` does not know is ignored. Sequences of plain values are as they
    are stored."""
    parts = _readers(cast(Any, cls)).items()
    return cls(**{name: part(stored[name]) if part else stored[name] for name, part in parts if name in stored})


def read_when_used(cls: type[T]) -> Callable[[Mapping[str, object]], T]:
    """``read`` for a dataclass without slots that has a default for each field: each is read when it is first used."""
    dataclass = cast(Any, cls)
    defaults = {each.name: each for each in fields(dataclass)}
    readers = _readers(dataclass)

    def part(self: T, name: str) -> Any:
        if name not in readers or _STORED not in self.__dict__:
            raise AttributeError(name)
        kept, one = self.__dict__[_STORED], readers[name]
        if name not in kept:
            factory = defaults[name].default_factory
            value = defaults[name].default if factory is MISSING else factory()
        else:
            value = one(kept[name]) if one else kept[name]
        return self.__dict__.setdefault(name, value)

    # Python asks __getattr__ only for what it does not find, and would find the defaults in the class.
    for name in defaults.keys() & vars(cls).keys():
        delattr(cls, name)
    dataclass.__getattr__ = part

    def read(stored: Mapping[str, object]) -> T:
        if not isinstance(stored, dict):
            raise TypeError(f"{cls.__name__} is stored as an object, not as {type(stored).__name__}.")
        made = cls.__new__(cls)
        made.__dict__[_STORED] = stored
        return made

    return read


def stored(value: Any) -> Any:
    """A dataclass, or what holds some, as JSON types."""
    if is_dataclass(value):
        parts = ((each, getattr(value, each.name)) for each in fields(value))
        return {
            each.name: {} if part is None and _EMPTY in each.metadata else stored(part)
            for each, part in parts
            if not is_left_out(each, part)
        }
    if isinstance(value, Mapping):
        return {str(name): stored(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [stored(part) for part in value]
    return value


@cache
def _readers(cls: Any) -> dict[str, _Read | None]:
    """How each field is read; ``None`` if it is as it is stored."""
    kinds = get_type_hints(cls)
    return {each.name: _reader(kinds[each.name]) for each in fields(cls)}


def _reader(kind: Any) -> _Read | None:
    origin, inner = get_origin(kind), [_reader(each) for each in get_args(kind)]
    one = next((each for each in inner if each is not None), None)
    if isinstance(kind, type) and is_dataclass(kind):
        return partial(read, kind)
    if one is None:
        return tuple if origin is tuple else None
    match origin:
        case types.UnionType:
            # An object without anything in it is none, but a mapping may be empty.
            nothing: tuple[object, ...] = (None, {}) if any(map(is_dataclass, get_args(kind))) else (None,)
            return lambda value: None if value in nothing else one(value)
        case abc.Mapping:
            return lambda value: {name: one(part) for name, part in value.items()}
        case _:
            return lambda value: tuple(one(part) for part in value)
