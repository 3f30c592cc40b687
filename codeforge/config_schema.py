"""The JSON Schema of ``codeforge.yaml``, derived from ``Config``, with which editors complete and check."""

from __future__ import annotations

import ast
import inspect
import itertools
from functools import cache
from typing import Any

from pydantic import BaseModel

from benchmarks.dataset_format.documents import DIALECT, json_schema
from benchmarks.providers.model_names import BASELINE
from benchmarks.providers.registered_providers import PROVIDER_KINDS
from codeforge.config import Config

SCHEMA_FILE = "codeforge.schema.json"


@cache
def config_schema() -> dict[str, Any]:
    """The schema (draft 2020-12), with the strings below fields as descriptions."""
    schema = Config.model_json_schema()
    records = schema.pop("$defs")
    for model in _models(Config):
        record = schema if model is Config else records[model.__name__]
        record["description"] = inspect.cleandoc(vars(model).get("__doc__") or "").replace("``", "`")
        for name, text in attribute_docs(model).items():
            record["properties"][name]["description"] = text
    records["ProviderConfig"]["properties"]["kind"]["examples"] = [
        kind for kind in PROVIDER_KINDS.ours if kind != BASELINE
    ]
    # The configuration leaves rubrics to the dataset format, which has a schema of its own.
    records["RubricSpec"] = json_schema()["$defs"]["RubricSpec"]
    schema["properties"]["rubrics"]["items"] = {"$ref": "#/$defs/RubricSpec"}
    schema["description"] = "What docs/configuration.md explains."
    return {"$schema": DIALECT, **schema, "title": "Configuration of CodeForge Benchmarks", "$defs": records}


def attribute_docs(model: type[BaseModel]) -> dict[str, str]:
    """Name → the string below the field, of the class and those that it extends."""
    found: dict[str, str] = {}
    for base in reversed([base for base in model.__mro__ if is_model(base) and base is not BaseModel]):
        [definition] = ast.parse(inspect.getsource(base)).body
        assert isinstance(definition, ast.ClassDef)
        for field, below in itertools.pairwise(definition.body):
            if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                found[ast.unparse(field.target)] = ast.literal_eval(below.value)
    return found


def is_model(part: Any) -> bool:
    return isinstance(part, type) and issubclass(part, BaseModel)


def _models(model: type[BaseModel]) -> dict[type[BaseModel], None]:
    """The model and those of its fields, each once."""
    found = {model: None}
    for field in model.model_fields.values():
        for part in _parts(field.annotation):
            found |= _models(part)
    return found


def _parts(annotation: Any) -> list[type[BaseModel]]:
    if is_model(annotation):
        return [annotation]
    return [part for inner in getattr(annotation, "__args__", ()) for part in _parts(inner)]
