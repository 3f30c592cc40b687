"""``manage.py restore FILE``: restore a backup. Exit code 2 if it is refused; nothing is changed then."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management import CommandParser

from benchmarks.extras import command
from benchmarks.management.actions import JSON, ServiceCommand
from benchmarks.presentation.numbers import plural
from benchmarks.services.operations.backups import restore_backup
from benchmarks.services.operations.rehearsals import rehearse


class Command(ServiceCommand):
    help = "Restore a backup file into this database, completely or not at all."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help=f"a file of {command('backup')}")
        how = parser.add_mutually_exclusive_group()
        how.add_argument("--replace", action="store_true", help="delete the existing content of this database")
        text = "restore into a temporary database, compare every value, delete it, and change nothing else"
        how.add_argument("--rehearse", dest="rehearsed", action="store_true", help=text)
        parser.add_argument(*JSON[0], **JSON[1])

    def handle(self, *args: Any, file: Path, replace: bool, rehearsed: bool, as_json: bool, **options: Any) -> None:
        if rehearsed:
            self._rehearse(file, as_json)
            return
        restored = restore_backup(file, replace=replace)
        manifest = restored.manifest
        rows = sum(table.rows for table in manifest.tables)
        lines = [f"Restored {rows:,} rows of {len(manifest.tables)} tables, as of {manifest.made_at}."]
        if restored.live_runs:
            lines.append(f"Unfinished runs: {restored.live_runs}. Workers continue them when they start.")
        contents = {"rows": rows, "tables": len(manifest.tables), "made_at": manifest.made_at}
        self.print_either(as_json, {**contents, "live_runs": restored.live_runs}, "\n".join(lines))

    def _rehearse(self, file: Path, as_json: bool) -> None:
        done = rehearse(file)
        text = (
            f"The backup of {done.made_at} can be restored: {done.rows:,} rows of {done.tables} tables came back the "
            f"same, and the counters of {plural(done.runs, 'run')} fit their {plural(done.results, 'result')}. It took "
            f"{done.seconds:.1f} s in a temporary database, which is deleted; nothing else was changed."
        )
        self.print_either(as_json, asdict(done), text)
