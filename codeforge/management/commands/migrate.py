"""``manage.py migrate``: Django's, which first looks whether the database is one that these migrations belong to.

``--dry-run`` says what would be applied and how long it takes; migrations of ours are never undone.
"""

from __future__ import annotations

import time
from typing import Any

from django.core.management import CommandError, CommandParser
from django.core.management.commands import migrate
from django.db import IntegrityError, connections
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor

from benchmarks.presentation.numbers import plural
from benchmarks.services.operations.schema import schema_problem
from benchmarks.services.operations.upgrades import (
    NO_WAY_BACK,
    OWN_APPS,
    in_words,
    planned_migrations,
    references_checked_once,
    stored_results,
)

BREATH_SECONDS = 0.25
"""Writers of SQLite look every 100 ms whether its lock is free. Without a break, they would wait for the end."""


class Command(migrate.Command):
    help = "Create or update the tables of the database, unless another checkout or a later version has filled it."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        text = "list the migrations to apply and how long they take, and change nothing"
        parser.add_argument("--dry-run", action="store_true", help=text)

    def handle(self, *args: Any, dry_run: bool = False, **options: Any) -> None:
        if options["database"] == "default" and (problem := schema_problem()):
            raise CommandError(problem)
        if dry_run:
            self.stdout.write(in_words(*planned_migrations()))
            return
        if undone := _undone(options):
            raise CommandError(NO_WAY_BACK.format(plural(len(undone), "migration")))
        connection = connections[options["database"]]
        self._breath = BREATH_SECONDS if connection.vendor == "sqlite" and stored_results(connection) else 0.0
        try:
            with references_checked_once(connection):
                super().handle(*args, **options)
        except IntegrityError as error:
            raise CommandError(f"Rows refer to others that do not exist ({error}). Restore your backup.") from None

    def migration_progress_callback(self, action: str, migration: Migration | None = None, fake: bool = False) -> None:
        super().migration_progress_callback(action, migration, fake)
        if action == "apply_success":
            time.sleep(self._breath)


def _undone(options: dict[str, Any]) -> list[Migration]:
    """The migrations of ours that this command would undo."""
    app, name = options["app_label"], options["migration_name"]
    if not app or not name:
        return []
    executor = MigrationExecutor(connections[options["database"]])
    found = [key for key in executor.loader.graph.nodes if key[0] == app and key[1].startswith(name)]
    target = (app, None) if name == "zero" else found[0] if len(found) == 1 else None
    plan = executor.migration_plan([target]) if target else []  # Django says what is wrong with the name
    return [migration for migration, backwards in plan if backwards and migration.app_label in OWN_APPS]
