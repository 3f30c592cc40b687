"""Whether the database has the tables and columns of this version. One that another checkout has filled may have other
ones, although every migration of its name is applied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.apps import apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from benchmarks.extras import command
from benchmarks.presentation.numbers import plural

SHOWN = 3
_sound: set[str] = set()
"""Databases that were found to fit. Only migrations change the tables, so each process looks until then."""


def migrations_problem() -> str:
    """Which migrations are missing, and what to do; empty if none is. Raises ``DatabaseError``."""
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if not missing:
        return ""
    if executor.loader.applied_migrations:
        return f"{plural(len(missing), 'migration')} not applied. Run `{command('migrate')}`."
    return f"The database has no tables yet. To make them, run `{command('migrate')}`, or start the dashboard once."


def schema_problem() -> str:
    """How the tables differ from those that the applied migrations make, and what to do; empty if they are the same.

    Raises ``DatabaseError`` if the database does not respond.
    """
    database = str(connection.settings_dict["NAME"])
    if database in _sound:
        return ""
    executor = MigrationExecutor(connection)
    loader = executor.loader
    own = {config.label for config in apps.get_app_configs()}
    later = sorted(key for key in loader.applied_migrations if key[0] in own and key not in loader.graph.nodes)
    if later:
        return (
            f"A later version has changed the database ({'.'.join(later[0])}). Use that version, or restore a backup "
            "that this version has written into an empty database."
        )
    known = [key for key in loader.graph.nodes if key in loader.applied_migrations]
    missing = executor.migration_plan(loader.graph.leaf_nodes())
    models = loader.project_state(known).apps.get_models() if missing else apps.get_models(include_auto_created=True)
    differences = list(_differences(models)) if known else []
    if not differences:
        if not missing:
            _sound.add(database)
        return ""
    more = f" and {len(differences) - SHOWN} more" if len(differences) > SHOWN else ""
    return (
        f"The database has a different schema from this version: {', '.join(differences[:SHOWN])}{more}. It was filled "
        "by another checkout, such as one from before 0.1.0. Use that checkout, or back it up and use an empty "
        "database: another CODEFORGE_STATE_DIR or DATABASE_URL, or `make reset`, which deletes all results."
    )


def _differences(models: Iterable[Any]) -> Iterator[str]:
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
        for options in (model._meta for model in models):
            if not options.managed or options.proxy:
                continue
            if options.db_table not in tables:
                yield f"the table {options.db_table} is missing"
                continue
            description = connection.introspection.get_table_description(cursor, options.db_table)
            found, expected = {column.name for column in description}, {f.column for f in options.local_concrete_fields}
            yield from (f"the column {options.db_table}.{name} is missing" for name in sorted(expected - found))
            yield from (f"the column {options.db_table}.{name} is unknown" for name in sorted(found - expected))
