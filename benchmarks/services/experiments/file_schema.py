"""The JSON Schema of an experiment file, derived from the request that checks it, for the completion of editors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from benchmarks.dataset_format.documents import DIALECT
from benchmarks.services.experiments.requests import ExperimentRequest, SamplingField
from benchmarks.services.runs.requests import Judges

SCHEMA_FILE = "experiment.schema.json"
EDITOR_LINE = f"# yaml-language-server: $schema=datasets/{SCHEMA_FILE}\n"
"""For editors that complete and check, in a file beside the folder of the datasets."""
_LIMITS = {
    "minLength": "min_length",
    "maxLength": "max_length",
    "minimum": "min_value",
    "maximum": "max_value",
}
_TYPES: Mapping[type[Any], str] = {
    serializers.BooleanField: "boolean",
    serializers.IntegerField: "integer",
    serializers.FloatField: "number",
    serializers.CharField: "string",
}


def experiment_schema() -> dict[str, Any]:
    """The schema (draft 2020-12) of the whole file."""
    return {
        "$schema": DIALECT,
        "title": "CodeForge Benchmarks experiment",
        **_record(ExperimentRequest()),
        "description": "Datasets × models × prompt variants, run under one budget and read together.",
    }


def _record(request: serializers.Serializer[Any]) -> dict[str, Any]:
    return {**_object(request.fields), "description": " ".join((request.__doc__ or "").split())}


def _object(fields: Mapping[str, serializers.Field[Any, Any, Any, Any]]) -> dict[str, Any]:
    found = {
        "type": "object",
        "properties": {name: _described(field) for name, field in fields.items()},
        "required": [name for name, field in fields.items() if field.required],
        "additionalProperties": False,
    }
    return {key: value for key, value in found.items() if value != []}


def _described(field: serializers.Field[Any, Any, Any, Any]) -> dict[str, Any]:
    schema = _schema(field)
    if field.allow_null:
        schema["type"] = [schema["type"], "null"]
    return {**schema, "description": str(field.help_text)} if field.help_text else schema


def _schema(field: Any) -> dict[str, Any]:  # noqa: PLR0911 - one for each kind of field
    """What values a field takes; of what it would convert, only the form that it converts to."""
    if isinstance(field, SamplingField):
        return _object(field.members())
    if isinstance(field, serializers.Serializer):
        return _record(field)
    if isinstance(field, serializers.ListSerializer):
        return {"type": "array", "items": _schema(field.child)}
    if isinstance(field, serializers.ListField):
        most = {"maxItems": field.max_length} if field.max_length else {}
        return {
            "type": "array",
            "items": _schema(field.child),
            **({} if field.allow_empty else {"minItems": 1}),
            **most,
        }
    if isinstance(field, serializers.DictField):
        inner = {} if isinstance(field.child, serializers.JSONField) else _schema(field.child)
        return {"type": "object", **({"additionalProperties": inner} if inner else {})}
    if isinstance(field, serializers.ChoiceField):
        return {"type": "string", "enum": [*([""] if field.allow_blank else []), *field.choices]}
    if isinstance(field, Judges):
        return {"type": ["string", "array"], "items": {"type": "string"}}
    kind = next(name for cls, name in _TYPES.items() if isinstance(field, cls))
    limits = {key: limit for key, name in _LIMITS.items() if (limit := getattr(field, name, None)) is not None}
    if kind == "string" and not field.allow_blank:
        limits.setdefault("minLength", 1)
    return {"type": kind, **limits}
