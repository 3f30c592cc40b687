"""``manage.py backup FILE``: write a snapshot of all data to one file. Exit code 2 if the file cannot be written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from benchmarks.services.errors import NotPossible
from benchmarks.services.operations.backups import write_backup


class Command(BaseCommand):
    help = "Write a consistent snapshot of all data to one file for manage.py restore."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file", type=Path, metavar="FILE", help="for example codeforge-2026-01-31.zip; an existing file is replaced"
        )

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        try:
            manifest = write_backup(file)
        except NotPossible as refusal:
            raise CommandError(refusal.message, returncode=2) from None
        rows = sum(table.rows for table in manifest.tables)
        size = file.stat().st_size / 1e6
        self.stdout.write(f"Wrote {file}: {rows:,} rows of {len(manifest.tables)} tables, {size:,.1f} MB.")
