"""``manage.py backup FILE``: write a snapshot of all data to one file. Exit code 2 if the file cannot be written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management import CommandParser

from benchmarks.extras import command
from benchmarks.management.actions import JSON, ServiceCommand
from benchmarks.services.operations.backups import write_backup


class Command(ServiceCommand):
    help = f"Write a consistent snapshot of all data to one file for {command('restore')}."

    def add_arguments(self, parser: CommandParser) -> None:
        text = "for example codeforge-2026-01-31.zip; an existing file is replaced"
        parser.add_argument("file", type=Path, metavar="FILE", help=text)
        text = "encrypt it with the key of CODEFORGE_BACKUP_KEY or CODEFORGE_BACKUP_KEY_FILE"
        parser.add_argument("--encrypt", action="store_true", help=text)
        parser.add_argument(*JSON[0], **JSON[1])

    def handle(self, *args: Any, file: Path, encrypt: bool, as_json: bool, **options: Any) -> None:
        manifest = write_backup(file, encrypt=encrypt)
        rows = sum(table.rows for table in manifest.tables)
        size = file.stat().st_size
        text = f"Wrote {file}: {rows:,} rows of {len(manifest.tables)} tables, {size / 1e6:,.1f} MB."
        self.print_either(
            as_json, {"file": str(file), "rows": rows, "tables": len(manifest.tables), "bytes": size}, text
        )
