"""The format as editors read it (JSON Schema) and as people read it (tables of keys), derived from ``spec``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from benchmarks.dataset_format.expectations import ConstraintSet, RubricSpec, TurnSpec, UserSpec
from benchmarks.dataset_format.spec import DATASET, DatasetSpec, GeneratorSpec, TaskSpec
from benchmarks.dataset_format.tools import ExpectedRow, Requirement, Rule, StateSpec, ToolUse, WorldTables

SCHEMA_FILE = "dataset.schema.json"
DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a record. ``label`` says what kind of value it has."""

    name: str
    label: str
    doc: str
    required: bool
    default: Any


class _Generator(GenerateJsonSchema):
    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """A key without a value is left out: an explicit null is an error."""
        return self.generate_inner(schema["schema"])


@cache
def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a dataset file, with descriptions for an editor's completion."""
    records = DATASET.json_schema(schema_generator=_Generator)["$defs"]
    return {
        "$schema": DIALECT,
        "title": "CodeForge Benchmarks dataset",
        "description": "Tasks for benchmarking language models. The file's name is the dataset's identifier.",
        **{key: part for key, part in records.pop("DatasetSpec").items() if key not in ("title", "description")},
        "$defs": records,
    }


def keys_of(record: type[Any]) -> tuple[Key, ...]:
    """The keys of a record, in order."""
    schema = json_schema() if record is DatasetSpec else json_schema()["$defs"][record.__name__]
    return tuple(
        Key(name, part.get("title", ""), part["description"], name in schema.get("required", ()), part.get("default"))
        for name, part in schema["properties"].items()
    )


def schema_text() -> str:
    """The content of ``dataset.schema.json``."""
    return as_text(json_schema())


def as_text(schema: dict[str, Any]) -> str:
    """A schema as it is stored."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def write_schema(directory: Path) -> Path:
    """Write the schema beside the datasets and return its path."""
    path = directory / SCHEMA_FILE
    path.write_text(schema_text(), encoding="utf-8")
    return path


def field_table() -> str:
    """Markdown tables of all keys: of the file, of a task, of an expected tool call, of constraints."""
    tables = []
    for title, record in (
        *(("The file", DatasetSpec), ("A task", TaskSpec), ("An entry of `turns`", TurnSpec)),
        ("The `user` of a task", UserSpec),
        *(("An entry of `expected_tools`", ToolUse), ("An entry of `rubrics`, and the `rubric` of a task", RubricSpec)),
        *(("The `constraints` of a task", ConstraintSet), ("The `generator` of a generated dataset", GeneratorSpec)),
        *(("A `world`", WorldTables), ("An entry of `rules`", Rule), ("An entry of `require`", Requirement)),
        *(("A `final_state`", StateSpec), ("An entry of its `rows`", ExpectedRow)),
    ):
        rows = [f"### {title}\n", "| key | value | meaning |", "|---|---|---|"]
        for key in keys_of(record):
            default = ", **required**" if key.required else f", default `{key.default}`" if key.default else ""
            label, doc = key.label.replace("|", "\\|"), key.doc.replace("|", "\\|")
            rows.append(f"| `{key.name}` | {label}{default} | {doc} |")
        tables.append("\n".join(rows))
    return "\n\n".join(tables) + "\n"
