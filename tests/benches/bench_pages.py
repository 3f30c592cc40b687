"""``make bench-pages``: how long the server takes for each page with 1,000,000 results in the database.

Fills a database of its own (SQLite, or with ``--database postgres`` one on the server that ``CODEFORGE_TEST_POSTGRES``
names), asks for every page in turn through the whole Django stack, and prints the median and the 95th percentile of
the server's time, the number of queries and the size of the page. ``--keep`` keeps the database, and measures it again
the next time.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

RESULTS = 1_000_000
HUGE = 300_000
TASKS = 10_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=int, default=RESULTS)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--keep", metavar="WHERE", help="a folder for SQLite, or the name of a PostgreSQL database")
    arguments = parser.parse_args()
    with prepared_settings(arguments.database, arguments.keep):
        import django

        django.setup()
        from django.db import connection

        from codeforge.databases import use_limits
        from tests.benches import filled_database, page_times

        if not is_filled():
            began = time.perf_counter()
            counts = filled_database.fill(arguments.results, HUGE, TASKS)
            print(f"{arguments.database}: {counts}, filled in {time.perf_counter() - began:.0f} s\n")
        connection.close()
        use_limits("web")
        page_times.report(arguments.rounds)


def is_filled() -> bool:
    """Whether a database that was kept has runs already."""
    from django.db import connection

    from benchmarks.models import Run

    return Run._meta.db_table in connection.introspection.table_names() and Run.objects.exists()


@contextlib.contextmanager
def prepared_settings(database: str, keep: str | None = None) -> Iterator[None]:
    """Point the settings at a fresh state directory, and for PostgreSQL at a fresh database, before they are read.

    ``keep`` is the folder of the state, or the name of the database, that stays and may be there already.
    """
    from tests.support import services

    with contextlib.ExitStack() as stack:
        in_folder = database == "sqlite" and keep
        state = keep if in_folder else stack.enter_context(tempfile.TemporaryDirectory(prefix="codeforge-pages-"))
        os.makedirs(state, exist_ok=True)
        environment = {"APP_ENV": "development", "CODEFORGE_STATE_DIR": state, "CODEFORGE_ENV_FILE": os.devnull}
        if database == "postgres":
            environment["DATABASE_URL"] = kept(keep) if keep else stack.enter_context(services.postgres_database())
        os.environ.update(environment, DJANGO_SETTINGS_MODULE="codeforge.settings")
        os.environ.pop("REDIS_URL", None)
        yield
        from django.db import connections

        connections.close_all()


def kept(name: str) -> str:
    """The address of the database of this name on the server of the tests, made if it is not there."""
    server = os.environ.get("CODEFORGE_TEST_POSTGRES")
    if not server:
        raise SystemExit("Set CODEFORGE_TEST_POSTGRES, such as postgresql://postgres@127.0.0.1:5432/postgres.")
    with psycopg.connect(server, autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return urlunsplit(urlsplit(server)._replace(path=f"/{name}"))


if __name__ == "__main__":
    main()
