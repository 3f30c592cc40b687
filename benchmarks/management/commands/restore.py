"""``manage.py restore FILE``: restore a backup. Exit code 2 if it is refused; nothing is changed then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management import CommandParser

from benchmarks.extras import command
from benchmarks.management.actions import JSON, ServiceCommand
from benchmarks.services.operations.backups import restore_backup


class Command(ServiceCommand):
    help = "Restore a backup file into this database, completely or not at all."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help=f"a file of {command('backup')}")
        parser.add_argument("--replace", action="store_true", help="delete the existing content of this database")
        parser.add_argument(*JSON[0], **JSON[1])

    def handle(self, *args: Any, file: Path, replace: bool, as_json: bool, **options: Any) -> None:
        restored = restore_backup(file, replace=replace)
        manifest = restored.manifest
        rows = sum(table.rows for table in manifest.tables)
        lines = [f"Restored {rows:,} rows of {len(manifest.tables)} tables, as of {manifest.made_at}."]
        if restored.live_runs:
            lines.append(f"Unfinished runs: {restored.live_runs}. Workers continue them when they start.")
        contents = {"rows": rows, "tables": len(manifest.tables), "made_at": manifest.made_at}
        self.print_either(as_json, {**contents, "live_runs": restored.live_runs}, "\n".join(lines))
