"""JSON in datasets: values that any reader can read back, objects, schemas and metadata.

Schemas are only compared with their metaschema. Nothing is fetched, because references to other documents are refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, SkipValidation, WithJsonSchema

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.fields import NOT_IN_ONE_LINE, TAGS, Expects, describe, mapping
from benchmarks.dataset_format.problems import REPORTED, Fault, Invalid, Path, printable, quoted
from benchmarks.dataset_format.scalars import unstorable
from benchmarks.metrics.patterns import pattern_problem, unusable_keywords

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

_LARGEST_INTEGER = 2**63 - 1
_FACETS = ("difficulty", "group", "n_shapes", "surface", "spread")
"""By these, runs are broken down or drawn anyway."""
_HOLDS_NO_SCHEMAS = frozenset({"const", "default", "enum", "examples"})
LABEL_KEY = r"[A-Za-z][A-Za-z0-9_]{0,39}"
RESERVED_KEYS = (TAGS, *_FACETS)
"""Keys that metadata cannot have."""


def _walk(value: object, path: Path = ()) -> Iterator[tuple[Path, object]]:
    """Yield the value and everything in it, with their paths, down to ``MAX_DEPTH``."""
    yield path, value
    if len(path) >= limits.MAX_DEPTH:
        return
    items: Iterable[tuple[Any, object]] = ()
    if isinstance(value, Mapping):
        items = ((key, item) for key, item in value.items() if isinstance(key, str))
    elif isinstance(value, list | tuple):
        items = enumerate(value)
    for step, item in items:
        yield from _walk(item, (*path, step))


def _json_faults(value: object) -> Iterator[Fault]:
    """Yield whatever keeps the value from being stored as JSON and read back unchanged by any reader."""
    for path, part in _walk(value):
        match part:
            case list() | tuple() | Mapping() if len(path) >= limits.MAX_DEPTH:
                yield Fault(path[:1], f"is nested more than {limits.MAX_DEPTH} levels deep: flatten it")
            case Mapping():
                for key in part:
                    if not isinstance(key, str):
                        yield Fault(path, f"has {describe(key)} as a key: keys must be text")
                    elif message := unstorable(key):
                        yield Fault((*path, key), message)
            case str() if message := unstorable(part):
                yield Fault(path, message)
            case bool() | None | str() | list() | tuple():
                pass
            case int() if abs(part) > _LARGEST_INTEGER:
                yield Fault(path, "exceeds 64 bits, which some readers cannot represent: quote it")
            case float() if not math.isfinite(part):
                yield Fault(path, "must be a finite number: quote it if you mean text")
            case int() | float():
                pass
            case _ if part is not REPORTED:  # which has its error already
                yield Fault(path, f"must be a JSON value, not {describe(part)}")


def json_faults(value: object) -> tuple[Fault, ...]:
    """The first ``MAX_PROBLEMS`` parts that keep the value from being stored as JSON and read back unchanged."""
    return tuple(islice(_json_faults(value), limits.MAX_PROBLEMS))


def _json_object(value: Mapping[str, object]) -> Mapping[str, object]:
    if faults := json_faults(value):
        raise Invalid(*faults)
    return value


def _json_schema(schema: Mapping[str, object]) -> Mapping[str, object]:
    if sum(1 for _ in _walk(schema)) > limits.MAX_SCHEMA_NODES:
        raise Invalid(Fault((), f"is too large for a schema: the limit is {limits.MAX_SCHEMA_NODES:,} values"))
    if faults := (*_metaschema_faults(schema), *_reference_faults(schema)):
        raise Invalid(*faults)
    if problem := unusable_keywords(schema):
        raise Invalid(Fault((), problem))
    return schema


def _parameters(schema: Mapping[str, object]) -> Mapping[str, object]:
    if schema and schema.get("type") != "object":
        path = ("type",) if "type" in schema else ()
        raise Invalid(Fault(path, "must be a schema of `type: object`, with the arguments under `properties`"))
    return _json_schema(schema)


_METASCHEMA = WithJsonSchema({"$ref": "https://json-schema.org/draft/2020-12/schema"})
# The values are checked below and kept as they are, so pydantic need not walk through them.
JsonObject = Annotated[Mapping[str, object], SkipValidation(), AfterValidator(_json_object), mapping("a mapping")]
JsonSchema = Annotated[JsonObject, AfterValidator(_json_schema), _METASCHEMA, mapping("a JSON Schema")]
Parameters = Annotated[JsonObject, AfterValidator(_parameters), _METASCHEMA, mapping("a JSON Schema of type object")]


def _metadata(values: Mapping[str, object]) -> Mapping[str, object]:
    faults = []
    for key, value in values.items():
        if not isinstance(key, str) or not re.fullmatch(LABEL_KEY, key) or key in RESERVED_KEYS:
            advice = "use 1 to 40 letters, digits and _, beginning with a letter, and none of tags, " + ", ".join(
                _FACETS
            )
            faults.append(Fault((str(key),), f"is not allowed as a key of metadata: {advice}"))
        elif value is REPORTED:
            faults.append(Fault((key,), "is reported already", reported=True))
        elif isinstance(value, str):
            if len(value) > limits.MAX_LABEL:
                faults.append(
                    Fault((key,), f"has {len(value):,} characters; the limit is {limits.MAX_LABEL}: shorten it")
                )
            elif not value or NOT_IN_ONE_LINE.search(value) or value != value.strip():
                faults.append(Fault((key,), "must be one line of text without spaces around it"))
            elif message := unstorable(value):
                faults.append(Fault((key,), message))
        elif not isinstance(value, bool | int | float):
            faults.append(Fault((key,), f"must be a short text, a number or a boolean, not {describe(value)}"))
        else:
            faults += [replace(fault, path=(key,)) for fault in _json_faults(value)]
    if faults:
        raise Invalid(*faults)
    return values


_FLAT = WithJsonSchema(
    {
        "type": "object",
        "propertyNames": {"pattern": f"^{LABEL_KEY}$"},
        "additionalProperties": {
            "anyOf": [
                {"type": "string", "minLength": 1, "maxLength": limits.MAX_LABEL},
                {"type": "number"},
                {"type": "boolean"},
            ]
        },
        "maxProperties": limits.MAX_LABELS,
    }
)
Metadata = Annotated[
    Mapping[str, object],
    SkipValidation(),
    AfterValidator(_metadata),
    _FLAT,
    Expects("a mapping of keys to short values", (dict,), limits.MAX_LABELS),
]


@cache
def _metaschema_validator(draft: type[Validator]) -> Validator:
    from jsonschema import FormatChecker

    formats = FormatChecker(formats=())
    formats.checks("regex")(lambda value: not isinstance(value, str) or pattern_problem(value) is None)
    return draft(draft.META_SCHEMA, format_checker=formats)


def _metaschema_faults(schema: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield the error that explains most, if the schema does not follow its draft, by default 2020-12."""
    # Loaded here, because only files of datasets are checked: every process would load it at its start.
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
    from jsonschema.validators import validator_for

    try:
        validator = _metaschema_validator(validator_for(schema, default=Draft202012Validator))
        error = best_match(validator.iter_errors(schema))
    except RecursionError:
        yield Fault((), "is nested too deeply for a schema: flatten it")
        return
    if error is not None:
        yield Fault(tuple(error.absolute_path), f"is not a valid JSON Schema: {printable(error.message)}")


def _reference_faults(schema: Mapping[str, object]) -> Iterator[Fault]:
    """Yield references that lead out of the schema, or nowhere in it."""
    for path, item in _walk(schema):
        is_reference = path[-1:] in (("$ref",), ("$dynamicRef",)) and _HOLDS_NO_SCHEMAS.isdisjoint(path)
        if not is_reference or not isinstance(item, str):
            continue
        if not item.startswith("#"):
            yield Fault(path, f"{quoted(item)} is outside the schema: put it into $defs and refer to #/$defs/…")
        elif item.startswith("#/") and not _resolves(item, schema):
            yield Fault(path, f"{quoted(item)} does not exist in the schema")


def _resolves(pointer: str, schema: Mapping[str, object]) -> bool:
    """Whether a JSON pointer such as ``#/$defs/a`` leads to a value."""
    part: object = schema
    for step in pointer[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(part, Mapping) and name in part:
            part = part[name]
        elif isinstance(part, list | tuple) and name.isdecimal() and int(name[:9]) < len(part):
            part = part[int(name[:9])]
        else:
            return False
    return True
