from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import SchemaError, best_match
from jsonschema.validators import extend, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from benchmarks.metrics.base import DeterministicMetric, Item, Score, metric_error, scored, shortened
from benchmarks.metrics.extraction import extract_json, parse_json
from benchmarks.metrics.json_match import leaves
from benchmarks.metrics.patterns import PatternError, find

MAX_CHECKS = 200_000

Keyword = Callable[[Any, Any, Any, Any], Iterable[ValidationError] | None]


class JsonSchema(DeterministicMetric):
    """1 if the answer's JSON matches the task's ``schema`` (draft 2020-12 unless ``$schema`` says otherwise).

    An answer that is not JSON does not match.
    """

    name = "json_schema"
    title = "JSON Schema"
    description = "The answer's JSON validates against the task's schema"
    needs = frozenset({"schema"})

    def score(self, item: Item) -> Score:
        extraction = extract_json(item.actual_output)
        try:
            value = parse_json(extraction.text)
            leaves(value)
        except ValueError as error:
            reason = f"The answer cannot be checked, because it is not valid JSON: {error}."
            return scored(False, reason, extraction, failure="Not valid JSON")
        try:
            violation = schema_violation(value, item.schema or {})
        except UnusableSchemaError as error:
            return metric_error(f"The task's schema is not usable: {error}.", extraction)
        reason = f"{violation or 'The answer matches the schema'}."
        return scored(violation is None, reason, extraction, failure="Violates the schema")


class UnusableSchemaError(ValueError):
    """An invalid schema, one that refers to other documents, or one that takes too much work."""


def schema_violation(value: Any, schema: Mapping[str, Any]) -> str | None:
    """Where and how ``value`` violates ``schema``, or ``None`` if it is valid. Raises ``UnusableSchemaError``.

    Neither a schema nor a value can make this hang or access the network. ``jsonschema`` does the checking with three
    changes: references to other documents are never fetched, patterns are matched by RE2 in linear time, and the number
    of checks is limited, so that references that double at every level end.
    """
    if problem := unusable_keywords(schema):
        raise UnusableSchemaError(problem)
    base = validator_for(schema, default=Draft202012Validator)
    try:
        base.check_schema(dict(schema))
        keywords = {**base.VALIDATORS, **_SAFE_KEYWORDS}
        counted = _counted({name: keywords[name] for name in base.VALIDATORS})
        validator: Any = extend(base, counted)  # type: ignore[no-untyped-call]  # the stubs leave it untyped
        violation = best_match(validator(schema, registry=Registry()).iter_errors(value))
    except (SchemaError, Unresolvable, PatternError) as error:
        raise UnusableSchemaError(shortened(str(error).split("\n", 1)[0], 200)) from None
    except RecursionError:
        raise UnusableSchemaError("it refers to itself without end") from None
    return violation and f"At {violation.json_path}: {shortened(violation.message, 200)}"


def unusable_keywords(schema: Mapping[str, Any]) -> str | None:
    """Which keywords of the schema cannot be used together, or ``None``. For checking datasets before any run."""
    # jsonschema's unevaluatedProperties matches patternProperties with Python's own, backtracking expressions.
    text = json.dumps(schema)
    if "unevaluatedProperties" in text and "patternProperties" in text:
        return "unevaluatedProperties and patternProperties cannot be used together"
    return None


def _counted(keywords: Mapping[str, Keyword]) -> dict[str, Keyword]:
    """``keywords`` that share one budget of ``MAX_CHECKS`` calls and raise ``SchemaError`` when it is used up."""
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
    # By leaves, in linear time; jsonschema's own check compares every pair.
    if wanted and isinstance(value, list) and len({frozenset(leaves(entry).items()) for entry in value}) < len(value):
        yield ValidationError("the list contains duplicates")


_SAFE_KEYWORDS: dict[str, Keyword] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
}
