"""JSON Schema checking that neither a schema nor a value can make hang or reach out.

``jsonschema`` does the checking, with three things changed: references to other documents are never fetched, patterns
are matched by RE2 (linear time), and the number of checks is bounded, so that references doubling at every level end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import SchemaError, best_match
from jsonschema.validators import extend, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from benchmarks.metrics.json_values import leaves
from benchmarks.metrics.patterns import PatternError, find
from benchmarks.metrics.verdicts import shortened

MAX_CHECKS = 200_000

Keyword = Callable[[Any, Any, Any, Any], Iterable[ValidationError] | None]


class UnusableSchemaError(ValueError):
    """A schema that is none, points elsewhere, or takes too much work; the message is for who wrote it."""


def schema_violation(value: Any, schema: Mapping[str, Any]) -> str | None:
    """Where and how ``value`` breaks ``schema``, or ``None`` where it fits. Raises ``UnusableSchemaError``."""
    if "unevaluatedProperties" in (text := json.dumps(schema)) and "patternProperties" in text:
        raise UnusableSchemaError("unevaluatedProperties and patternProperties cannot be used together")
    base = validator_for(schema, default=Draft202012Validator)
    try:
        base.check_schema(dict(schema))
        keywords = {**base.VALIDATORS, **_SAFE_KEYWORDS}
        validator: Any = _extended(base, {name: keywords[name] for name in base.VALIDATORS})
        violation = best_match(validator(schema, registry=Registry()).iter_errors(value))
    except (SchemaError, Unresolvable, PatternError) as error:
        raise UnusableSchemaError(shortened(str(error).split("\n", 1)[0], 200)) from None
    except RecursionError:
        raise UnusableSchemaError("it refers to itself without end") from None
    return violation and f"At {violation.json_path}: {shortened(violation.message, 200)}"


def _extended(base: Any, keywords: Mapping[str, Keyword]) -> Any:
    return extend(base, _counted(keywords))  # type: ignore[no-untyped-call]  # the stubs leave it untyped


def _counted(keywords: Mapping[str, Keyword]) -> dict[str, Keyword]:
    left = MAX_CHECKS

    def counting(keyword: Keyword) -> Keyword:
        def check(validator: Any, argument: Any, value: Any, schema: Any) -> Iterable[ValidationError] | None:
            nonlocal left
            left -= 1
            if left < 0:
                raise SchemaError(f"it takes more than {MAX_CHECKS:,} checks")
            return keyword(validator, argument, value, schema)

        return check

    return {name: counting(keyword) for name, keyword in keywords.items()}


def _pattern(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(value, str) and find(pattern, value) is None:
        yield ValidationError(f"{shortened(repr(value))} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Mapping[str, Any], value: Any, schema: Any) -> Iterator[Any]:
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
    if wanted and isinstance(value, list):
        distinct = {frozenset(leaves(entry).items()) for entry in value}
        if len(distinct) < len(value):
            yield ValidationError("the list holds an entry twice")


_SAFE_KEYWORDS: dict[str, Keyword] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
}
