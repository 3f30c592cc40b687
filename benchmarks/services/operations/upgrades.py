"""Upgrades of the database: what they apply and for how long, and how writers get through meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor

from benchmarks.models import Result
from benchmarks.presentation.numbers import number, plural

MEASURED_RESULTS = 1_142_400
OWN_APPS = ("benchmarks", "tasks_app")
NO_WAY_BACK = (
    "{} would be undone, and what they have stored would be lost. Migrations only go forward. To go back to an earlier "
    "version, restore a backup that it has written into an empty database."
)
SECONDS = {
    "0002_scorers_that_said_nothing": (0.01, 0.01),
    "0003_headline": (0.12, 0.24),
    "0004_how_runs_ask": (0.32, 0.4),
    "0005_results_add_up": (0.17, 0.34),
    "0006_results_add_up_constraint": (0.05, 0.04),
    "0007_seed_per_repeat": (0.08, 0.09),
    "0008_task_fields_without_columns": (0.05, 0.02),
    "0009_run_kind": (0.06, 0.08),
    "0010_model_price": (0.03, 0.06),
    "0011_addresses_and_fingerprints": (0.07, 0.13),
    "0012_share_links": (0.32, 0.18),
    "0013_saved_views": (0.03, 0.29),
    "0014_retrieved": (0.02, 0.02),
    "0015_links_to_overall_leaderboards": (0.02, 0.06),
    "0016_internal_error": (0.02, 0.05),
    "0017_reported_numbers": (0.07, 0.06),
    "0018_reference_run": (0.06, 0.04),
    "0019_gate_series": (0.19, 0.23),
    "0020_steps": (0.06, 0.1),
    "0021_entered_systems": (0.05, 0.07),
    "0022_clusters": (0.04, 0.06),
    "0023_reservations": (0.03, 0.03),
    "0024_first_wrong_steps": (0.05, 0.04),
    "0025_progress": (0.06, 0.04),
    "0026_limits_that_leave_out": (0.03, 0.02),
}
"""How long a migration took SQLite and PostgreSQL with that many results: ``make bench-migrations`` measures it."""
AROUND_SECONDS = (7.9, 0.6)
"""Likewise of the command besides its migrations: SQLite's check of references between rows."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A migration that ``migrate`` would apply; ``seconds`` are expected with the stored results, or unknown."""

    name: str
    seconds: float | None


def planned_migrations() -> tuple[int, list[Planned], float]:
    """The number of results, the migrations that are not applied, in order, and the seconds that are expected besides.

    Raises ``DatabaseError``.
    """
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    n_results = stored_results(connection)
    column = ("sqlite", "postgresql").index(connection.vendor)
    share = n_results / MEASURED_RESULTS
    planned = [
        Planned(
            f"{migration.app_label}.{migration.name}",
            measured[column] * share
            if migration.app_label == "benchmarks" and (measured := SECONDS.get(migration.name))
            else None,
        )
        for migration, _ in plan
    ]
    return n_results, planned, AROUND_SECONDS[column] * share


def in_words(n_results: int, planned: list[Planned], around: float) -> str:
    """The plan as lines of text."""
    if not planned:
        return "All migrations are applied."
    known = [each.seconds for each in planned if each.seconds is not None]
    width = max(len(each.name) for each in planned)
    lines = [
        f"{plural(len(planned), 'migration')} would be applied, with {plural(n_results, 'result')} stored:",
        *(f"  {each.name:<{width}}  {_seconds(each.seconds)}" for each in planned),
    ]
    if n_results and known:
        unmeasured = len(planned) - len(known)
        besides = f", besides {plural(unmeasured, 'migration')} that nobody measured" if unmeasured else ""
        lines.append(
            f"Expected in total: {_seconds(sum(known) + around)}, of which {_seconds(around)} before and after "
            f"them{besides}. "
            f"Measured with {number(MEASURED_RESULTS)} results on two cores."
        )
    return "\n".join([*lines, "Nothing was changed. Back up the database before you apply them."])


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return "not measured"
    return f"{seconds:.1f} s" if seconds >= 0.1 else "under 0.1 s"


def stored_results(connection: BaseDatabaseWrapper) -> int:
    """The number of results, 0 before the first migration. Raises ``DatabaseError``."""
    table = Result._meta.db_table
    if table not in connection.introspection.table_names():
        return 0
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*) FROM {connection.ops.quote_name(table)}")
        count: int = cursor.fetchone()[0]
    return count


@contextmanager
def references_checked_once(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Check references between rows after the block, and not after each of its migrations, if the database is SQLite.

    Django's schema editor reads every row for that while it holds the lock of writers, two seconds for a million
    results. Raises ``IntegrityError``.
    """
    if connection.vendor != "sqlite":
        yield
        return
    connection.check_constraints = lambda table_names=None: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        del connection.check_constraints
    connection.check_constraints()
