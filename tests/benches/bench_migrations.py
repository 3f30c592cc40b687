"""``make bench-migrations``: how long the migrations since the first release take with a million results.

Fills a database with the code of the first release, on SQLite and on PostgreSQL, and migrates it with this code, while
other connections write to its results and runs every 5 ms. Prints the seconds of each migration, as
``services/operations/upgrades.py`` has them, and the longest time that a write waited meanwhile.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support import services
from tests.support.releases import RELEASES, install_release
from tests.support.stack import DATABASE, Code

TABLES = ("benchmarks_result", "benchmarks_run")
FILL = "import django; django.setup(); from tests.benches.filled_database import fill; print(fill({}, {}, 10_000))"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=int, default=1_000_000)
    results = parser.parse_args().results
    version = next(iter(RELEASES))
    with tempfile.TemporaryDirectory(prefix="codeforge-migrations-") as folder, services.postgres_database() as address:
        release = install_release(version, Path(folder))
        for url in (f"sqlite:///{folder}/{DATABASE}", address):
            _fill(release, url, results)
            _measure(url)


def _fill(release: Code, url: str, results: int) -> None:
    source = release.folder / "source"
    environment = {**os.environ, "DATABASE_URL": url, "APP_ENV": "development", "PYTHONPATH": str(source)}
    environment |= {"DJANGO_SETTINGS_MODULE": "codeforge.settings", "CODEFORGE_STATE_DIR": str(release.folder)}
    program = FILL.format(results, results * 3 // 10)
    subprocess.run([release.python, "-c", program], cwd=source, env=environment, check=True)


def _measure(url: str) -> None:
    """In a process of its own, because Django's settings are of one database."""
    environment = {**os.environ, "DATABASE_URL": url, "APP_ENV": "development"}
    program = "from tests.benches.bench_migrations import migrate; migrate()"
    subprocess.run([Code().python, "-c", program], cwd=Code().folder, env=environment, check=True)


class Writers:
    """Connections that write to the first row of each table again and again, and the longest waits by migration."""

    def __init__(self, url: str) -> None:
        self.url, self.ended, self.migration = url, threading.Event(), ""
        self.longest: dict[tuple[str, str], float] = {}

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        threads = [threading.Thread(target=self._write, args=(table,)) for table in TABLES]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.ended.set()
            for thread in threads:
                thread.join()

    def _write(self, table: str) -> None:
        connection = _connection(self.url)
        while not self.ended.is_set():
            before, began = self.migration, time.perf_counter()
            connection.execute(f"UPDATE {table} SET id = id WHERE id = 1")
            waited = time.perf_counter() - began
            for name in {before, self.migration}:
                self.longest[name, table] = max(self.longest.get((name, table), 0.0), waited)
            time.sleep(0.005)
        connection.close()


def _connection(url: str) -> Any:
    if url.startswith("sqlite"):
        import sqlite3

        return sqlite3.connect(url.removeprefix("sqlite:///"), timeout=600, isolation_level=None)
    import psycopg

    return psycopg.connect(url, autocommit=True)


def migrate() -> None:
    """Migrate the database of ``DATABASE_URL``, and print the figures."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codeforge.settings")
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    from benchmarks.services.operations.upgrades import stored_results
    from codeforge.management.commands.migrate import Command

    writers, seconds = Writers(os.environ["DATABASE_URL"]), {}

    class Measured(Command):
        def migration_progress_callback(self, action: str, migration: Any = None, fake: bool = False) -> None:
            if action == "apply_start":
                writers.migration, seconds[migration.name] = migration.name, time.perf_counter()
            elif action == "apply_success":
                seconds[migration.name] = time.perf_counter() - seconds[migration.name]
            super().migration_progress_callback(action, migration, fake)

    print(f"\n{connection.vendor}, {stored_results(connection):,} results")
    began = time.perf_counter()
    with writers.writing():
        call_command(Measured(), verbosity=0)
    total = time.perf_counter() - began
    print(
        f"In total {total:.1f} s, of which {total - sum(seconds.values()):.1f} s before and after the migrations. "
        "Seconds, and the longest waits of writes to results and runs:"
    )
    for name, took in seconds.items():
        waits = "  ".join(f"{writers.longest.get((name, table), 0.0):6.2f}" for table in TABLES)
        print(f"{name:<40} {took:6.2f}  {waits}")


if __name__ == "__main__":
    main()
