"""Mappings with known keys, declared as dataclasses whose fields carry what a key means.

One such declaration is all there is: checks, JSON Schema, documents and the written YAML are read off it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache
from typing import Any

from benchmarks.dataset_format.kinds import Kind
from benchmarks.dataset_format.problems import Fault, Path, did_you_mean, quoted


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a record: its kind, what it is for, and the words that authors write instead of it."""

    name: str
    kind: Kind
    doc: str
    also: tuple[str, ...]
    required: bool
    default: Any


def key(
    kind: Kind,
    doc: str,
    *,
    default: Any = MISSING,
    default_factory: Callable[[], Any] | Any = MISSING,
    also: tuple[str, ...] = (),
) -> Any:
    """Declare a dataclass field as a key. Without a default the key is required."""
    metadata = {"kind": kind, "doc": doc, "also": also}
    return field(default=default, default_factory=default_factory, metadata=metadata)


@cache
def keys_of(record: type[Any]) -> tuple[Key, ...]:
    """The declared keys of a dataclass, in order. Fields that no author writes are not among them."""
    return tuple(_key(declared) for declared in fields(record) if "kind" in declared.metadata)


def _key(declared: Field[Any]) -> Key:
    default = declared.default if declared.default_factory is MISSING else declared.default_factory()
    required = default is MISSING
    return Key(declared.name, required=required, default=None if required else default, **declared.metadata)


@dataclass(frozen=True, slots=True)
class Record(Kind):
    """A mapping with the keys of a dataclass and no others. Loads into that dataclass, or stays a mapping."""

    record: type
    label: str
    stays_mapping: bool = False

    def faults(self, value: object, path: Path) -> Iterator[Fault]:
        if not isinstance(value, Mapping):
            yield self.mismatch(value, path)
            return
        declared = keys_of(self.record)
        for known in declared:
            if known.name in value:
                yield from known.kind.check(value[known.name], (*path, known.name))
            elif known.required:
                yield Fault((*path, known.name), f"is missing: {known.doc[0].lower()}{known.doc[1:]}")
        names = {known.name for known in declared}
        for name in value:
            if name not in names:
                yield self._unknown(str(name), path)

    def _unknown(self, name: str, path: Path) -> Fault:
        declared = keys_of(self.record)
        synonym = next((known.name for known in declared if name.strip().lower() in known.also), None)
        hint = f" (did you mean {synonym}?)" if synonym else did_you_mean(name, (known.name for known in declared))
        hint = hint or f"; known here: {', '.join(known.name for known in declared)}"
        return Fault((*path, name), f"unknown key {quoted(name)}{hint}")

    def schema(self) -> dict[str, Any]:
        declared = keys_of(self.record)
        return {
            "type": "object",
            "properties": {known.name: _key_schema(known) for known in declared},
            "required": [known.name for known in declared if known.required],
            "additionalProperties": False,
        }

    def load(self, value: Any) -> Any:
        if self.stays_mapping:
            return dict(value)
        present = (known for known in keys_of(self.record) if known.name in value)
        return self.record(**{known.name: known.kind.load(value[known.name]) for known in present})


def _key_schema(known: Key) -> dict[str, Any]:
    schema = known.kind.schema() | {"description": known.doc}
    if known.default not in (None, (), {}, ""):
        schema["default"] = known.default
    return schema


def as_mapping(record: Any) -> dict[str, Any]:
    """The record as plain mappings and lists, in declared order, without the keys that have their default value."""
    kind: type = type(record)
    declared = ((known, getattr(record, known.name)) for known in keys_of(kind))
    return {known.name: _as_plain(value) for known, value in declared if known.required or value != known.default}


def _as_plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_as_plain(item) for item in value]
    if hasattr(type(value), "__dataclass_fields__"):
        return as_mapping(value)
    return value
