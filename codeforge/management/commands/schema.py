"""``manage.py schema``: the JSON Schemas of the files that people write, with which editors complete and check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from django.conf import settings

from benchmarks.dataset_format import documents
from benchmarks.dataset_format.documents import as_text
from benchmarks.management.actions import JSON, MISSED, OK, ActionCommand, action, argument, switch, writing
from benchmarks.services.experiments import file_schema
from codeforge import config_schema

SCHEMAS: Mapping[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    "dataset": (documents.SCHEMA_FILE, documents.json_schema),
    "codeforge": (config_schema.SCHEMA_FILE, config_schema.config_schema),
    "experiment": (file_schema.SCHEMA_FILE, file_schema.experiment_schema),
}
"""What a schema is of → its file in the folder of datasets, and the schema."""


def written_to(folder: Path) -> dict[Path, str]:
    """File in the folder → the schema that it should have."""
    return {folder / file: as_text(schema()) for file, schema in SCHEMAS.values()}


class Command(ActionCommand):
    help = "Print or write the JSON Schemas of datasets, codeforge.yaml and experiment files."
    epilog = "Exit codes: 0 success; 1 a stored schema is out of date (--check); 2 failure or invalid usage."

    @action("Print a schema.", argument("of", None, "what the files describe", choices=list(SCHEMAS)), JSON)
    def show(self, *, of: str, **options: Any) -> None:
        self.stdout.write(as_text(SCHEMAS[of][1]()), ending="")

    @action(
        "Write all schemas into the folder of datasets, where `yaml-language-server` lines name them.",
        switch("--check", "only check whether the stored schemas are up to date"),
        JSON,
    )
    def write(self, *, check: bool, as_json: bool, **options: Any) -> int:
        texts = written_to(settings.DATASETS_DIR)
        if not check:
            for path, text in texts.items():
                with writing(path):
                    path.write_text(text, encoding="utf-8")
        stale = [path for path, text in texts.items() if not path.is_file() or path.read_text("utf-8") != text]
        if as_json:
            self.print_json([{"file": str(path), "up_to_date": path not in stale} for path in texts])
        else:
            done = "up to date" if check else "written"
            self.stdout.write("\n".join(f"{path}: {'out of date' if path in stale else done}" for path in texts))
        return MISSED if stale else OK
