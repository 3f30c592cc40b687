"""The YAML format of datasets: files to validated specifications, specifications to files.

Nothing here knows Django, the database or the settings; this package can be used alone.
"""

from benchmarks.dataset_format.documents import field_table, json_schema, keys_of, schema_text, write_schema
from benchmarks.dataset_format.dumping import content_hash, dump_dataset, task_hash
from benchmarks.dataset_format.files import (
    dataset_paths,
    display_name,
    name_problem,
    read_content,
    read_dataset_file,
    slug_of,
)
from benchmarks.dataset_format.parsing import Parsed, parse_dataset
from benchmarks.dataset_format.problems import Problem
from benchmarks.dataset_format.spec import DIFFICULTIES, DatasetSpec, TaskSpec, ToolUse, as_mapping
from benchmarks.dataset_format.validation import FieldProblems, validate_dataset_fields, validate_task_fields

__all__ = [
    "DIFFICULTIES",
    "DatasetSpec",
    "FieldProblems",
    "Parsed",
    "Problem",
    "TaskSpec",
    "ToolUse",
    "as_mapping",
    "content_hash",
    "dataset_paths",
    "display_name",
    "dump_dataset",
    "field_table",
    "json_schema",
    "keys_of",
    "name_problem",
    "parse_dataset",
    "read_content",
    "read_dataset_file",
    "schema_text",
    "slug_of",
    "task_hash",
    "validate_dataset_fields",
    "validate_task_fields",
    "write_schema",
]
