"""What the declarations of ``spec`` look like to editors (JSON Schema) and to readers (tables of keys)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.dataset_format.records import Key, keys_of
from benchmarks.dataset_format.spec import DATASET, DatasetSpec, TaskSpec, ToolUse

SCHEMA_FILE = "dataset.schema.json"


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a dataset file, with descriptions for an editor's completion."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "CodeForge Benchmarks dataset",
        "description": "Tasks for benchmarking language models. The file's name is the dataset's identifier.",
        **DATASET.schema(),
    }


def schema_text() -> str:
    """The schema as it is kept in ``dataset.schema.json``."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def write_schema(directory: Path) -> Path:
    """Write the schema beside the datasets and return its path."""
    path = directory / SCHEMA_FILE
    path.write_text(schema_text(), encoding="utf-8")
    return path


def field_table() -> str:
    """Markdown tables of all keys: of the file, of a task, of an expected tool call."""
    parts = (("The file", DatasetSpec), ("A task", TaskSpec), ("An entry of `expected_tools`", ToolUse))
    return "\n\n".join(f"### {title}\n\n{_table(record)}" for title, record in parts) + "\n"


def _table(record: type) -> str:
    head = ["| key | value | default | meaning |", "|---|---|---|---|"]
    return "\n".join(head + [_row(key) for key in keys_of(record)])


def _row(key: Key) -> str:
    default = "**required**" if key.required else f"`{key.default}`" if key.default else ""
    return f"| `{key.name}` | {_escape(key.kind.label)} | {default} | {_escape(key.doc)} |"


def _escape(text: str) -> str:
    return text.replace("|", "\\|")
