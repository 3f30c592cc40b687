"""A response is a dataclass: its fields, their types and the docstrings below them are said once, here.

``benchmarks.api.resources`` makes serializers and the schema of them, and commands print them with ``--json``.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Any, ClassVar, NewType, NotRequired, Self, get_origin, get_type_hints, is_typeddict

from django.db.models import Model
from django.utils import timezone

from benchmarks.codec import is_left_out

Url = NewType("Url", str)


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads: where the site's pages are, the name under which labels are stored, and whether names are shown."""

    site: str
    name: str
    sees_reviewers: bool


@dataclass(frozen=True, kw_only=True)
class Resource:
    """The base of responses. ``described_by`` has the field that describes a field that has no docstring."""

    described_by: ClassVar[type[Model] | None] = None

    @classmethod
    def of(cls, row: Any, reader: Reader, **given: Any) -> Self:
        """The response for a row of ``queries``: a field that is not ``given`` is its attribute of that name."""
        names = (field.name for field in fields(cls))
        return cls(**{name: given[name] if name in given else getattr(row, name) for name in names})


@dataclass(frozen=True, slots=True)
class ResponseField:
    name: str
    type: Any
    text: str
    required: bool = True


def fields_of(cls: type) -> Iterator[ResponseField]:
    """The fields of a dataclass, or of a ``TypedDict``, with their types and what is said of them."""
    types, texts = get_type_hints(cls), _docstrings(cls)
    if is_typeddict(cls):
        # Of annotations that are texts, __required_keys__ does not know which are NotRequired.
        marked = get_type_hints(cls, include_extras=True)
        for name, type_ in types.items():
            is_required = getattr(cls, "__total__", True) and get_origin(marked[name]) is not NotRequired
            yield ResponseField(name, type_, texts.get(name, ""), is_required)
        return
    model = getattr(cls, "described_by", None)
    columns = {column.name: str(column.help_text) for column in model._meta.fields} if model else {}
    for each in fields(cls):
        text = texts.get(each.name) or columns.get(each.name) or each.metadata.get("text", "")
        yield ResponseField(each.name, types[each.name], text, not is_left_out(each))


def _docstrings(cls: type) -> dict[str, str]:
    """Field → the docstring below it, also of the classes that ``cls`` extends."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        tree = _classes(base.__module__).get(base.__qualname__)
        for field, below in zip(tree.body, tree.body[1:], strict=False) if tree else ():
            match field, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    found[name] = " ".join(text.split())
    return found


@cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    if not module.startswith("benchmarks."):
        return {}
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def type_of(column: Any) -> Any:
    """The type of a model's field in a response; what a JSON column holds has none."""
    plain = next((kind for kind, names in _COLUMNS.items() if column.get_internal_type() in names), Any)
    return plain | None if column.null else plain


_COLUMNS = {
    str: ("CharField", "TextField"),
    bool: ("BooleanField",),
    float: ("FloatField",),
    int: ("PositiveIntegerField", "PositiveSmallIntegerField", "IntegerField"),
}


def json_of(value: Any) -> Any:
    """A response as JSON types. A moment has the time zone of the site."""
    if value is None or isinstance(value, str | int | float):
        return value
    if is_dataclass(value):
        parts = ((field, getattr(value, field.name)) for field in fields(value))
        return {field.name: json_of(part) for field, part in parts if not is_left_out(field, part)}
    if isinstance(value, Mapping):
        return {str(key): json_of(each) for key, each in value.items()}
    if isinstance(value, datetime):
        return re.sub(r"\+00:00$", "Z", timezone.localtime(value).isoformat())
    return [json_of(each) for each in value]
