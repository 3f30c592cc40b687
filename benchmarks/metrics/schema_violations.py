"""Where a value violates a JSON Schema, found in bounded time whatever the schema."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import SchemaError, best_match
from jsonschema.validators import extend, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from benchmarks.metrics.base import shortened
from benchmarks.metrics.json_match import leaves
from benchmarks.metrics.patterns import PatternError, UnusableSchemaError, find, unusable_keywords

MAX_CHECKS = 200_000
_checks = threading.local()

Keyword = Callable[[Any, Any, Any, Any], Iterable[ValidationError] | None]


def schema_violation(value: Any, schema: Mapping[str, object]) -> str | None:
    """Where and how ``value`` violates ``schema``, or ``None`` if it is valid. Raises ``UnusableSchemaError``.

    Neither a schema nor a value can make this hang or access the network. ``jsonschema`` does the checking with three
    changes: references to other documents are never fetched, patterns are matched by RE2 in linear time, and the number
    of checks is limited, so that references that double at every level end.
    """
    if problem := unusable_keywords(schema):
        raise UnusableSchemaError(problem)
    _checks.left = MAX_CHECKS
    try:
        validator = _counting(_draft_of(json.dumps(schema)))
        violation = best_match(validator(schema, registry=Registry()).iter_errors(value))
    except (SchemaError, Unresolvable, PatternError) as error:
        raise UnusableSchemaError(shortened(str(error).split("\n", 1)[0], 200)) from None
    except RecursionError:
        raise UnusableSchemaError("it refers to itself without end") from None
    return violation and f"At {violation.json_path}: {shortened(violation.message, 200)}"


@lru_cache(maxsize=256)
def _draft_of(schema: str) -> Any:
    """The class that validates by a schema, given as JSON. Raises ``SchemaError`` if the schema is not valid.

    The tools of a dataset have few schemas, by which every call is checked.
    """
    document = json.loads(schema)
    draft = validator_for(document, default=Draft202012Validator)
    draft.check_schema(document)
    return draft


@cache
def _counting(draft: Any) -> Any:
    """``draft`` with safe keywords, which raise ``SchemaError`` once this thread has no checks left."""
    keywords = {**draft.VALIDATORS, **_SAFE_KEYWORDS}
    return extend(draft, {name: _counted(keywords[name]) for name in draft.VALIDATORS})  # type: ignore[no-untyped-call]


def _counted(keyword: Keyword) -> Keyword:
    def check(validator: Any, argument: Any, value: Any, schema: Any) -> Iterable[ValidationError] | None:
        _checks.left -= 1
        if _checks.left < 0:
            raise SchemaError(f"it takes more than {MAX_CHECKS:,} checks")
        return keyword(validator, argument, value, schema)

    return check


def _pattern(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(value, str) and find(pattern, value) is None:
        yield ValidationError(f"{shortened(repr(value))} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Mapping[str, object], value: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(value, dict):
        return
    for pattern, subschema in patterns.items():
        for key, child in value.items():
            if find(pattern, key) is not None:
                yield from validator.descend(child, subschema, path=key, schema_path=pattern)


def _additional_properties(validator: Any, allowed: Any, value: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(value, dict):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    extra = [key for key in value if key not in known and all(find(pattern, key) is None for pattern in patterns)]
    if isinstance(allowed, dict):
        for key in extra:
            yield from validator.descend(value[key], allowed, path=key)
    elif allowed is False and extra:
        yield ValidationError(f"not allowed: {', '.join(map(repr, extra[:5]))}")


def _unique_items(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    # By leaves, in linear time; jsonschema's own check compares every pair.
    if wanted and isinstance(value, list) and len({frozenset(leaves(entry).items()) for entry in value}) < len(value):
        yield ValidationError("the list contains duplicates")


_SAFE_KEYWORDS: dict[str, Keyword] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
}
