"""``make bench-large``: pages, and work on one large run, with 20,000,000 results in PostgreSQL.

Fills a database on the server that ``CODEFORGE_TEST_POSTGRES`` names, which takes half an hour and 30 GB, prints the
times of ``bench_pages``, then prepares, summarizes, prunes and deletes one run of ``--large`` results, and times a
backup. ``--keep NAME`` fills a database that stays, and measures it again the next time without filling.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

from tests.benches.bench_pages import TASKS, is_filled, prepared_settings

RESULTS = 20_000_000
LARGE = 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=int, default=RESULTS)
    parser.add_argument("--large", type=int, default=LARGE, help="results of the run that is prepared and deleted")
    parser.add_argument("--rounds", type=int, default=20, help="requests for each page")
    parser.add_argument("--backup", action="store_true", help="also time manage.py backup, which takes long")
    parser.add_argument("--only", choices=("fill", "pages", "work"), help="only this part")
    parser.add_argument("--keep", metavar="NAME", help="a database that stays; filled unless it is already")
    arguments = parser.parse_args()
    with prepared_settings("postgres", arguments.keep):
        import django

        django.setup()
        from django.db import connection

        from codeforge.databases import use_limits
        from tests.benches import copied_runs, page_times

        if not is_filled():
            began = time.perf_counter()
            counts = copied_runs.fill(arguments.results, TASKS)
            print(f"{counts}, filled in {time.perf_counter() - began:.0f} s\n", flush=True)
        connection.close()
        if arguments.only in (None, "pages"):
            use_limits("web")
            page_times.report(arguments.rounds)
            connection.close()
        if arguments.only in (None, "work"):
            use_limits("worker")
            work(arguments.large, arguments.backup)


def work(results: int, backup: bool) -> None:
    """Time what happens to one large run, and leave the database as it was."""
    from benchmarks.engine.execution.finishing import refresh_summary
    from benchmarks.engine.execution.preparing import prepare_run
    from benchmarks.engine.sql import analyze_changed_tables
    from benchmarks.models import Dataset, Run
    from benchmarks.services.operations.retention import prune_texts
    from benchmarks.services.runs.control import delete_run
    from tests.benches import filled_database

    dataset = Dataset.objects.get(slug="many-sums")
    run = Run.objects.create(
        dataset=dataset,
        dataset_version=dataset.current_version,
        metrics=["exact_match", "contains"],
        repeats=results // TASKS,
        model="baseline/reference",
    )
    print("\n| work on a run | results | s | results/s |")
    print("|---|---:|---:|---:|")
    with timed("prepare", results):
        prepare_run(run)
    analyze_changed_tables()  # as a thread of the worker does
    filled_database.answer(run)
    with timed("summarize", results):
        refresh_summary(run.pk)
    # Older than everything else in the database, so that retention takes this run alone.
    Run.objects.filter(pk=run.pk).update(completed_at=run.created_at - timedelta(days=3650))
    with timed("prune texts", results):
        prune_texts(timedelta(days=3000))
    with timed("delete", results):
        delete_run(Run.objects.get(pk=run.pk))
    stored = sum(Run.objects.values_list("total", flat=True))
    with timed("pg_dump of the database", stored) as measured:
        measured(dump())
    if backup:
        from benchmarks.services.operations.backups import write_backup

        with tempfile.TemporaryDirectory() as folder, timed("manage.py backup of the database", stored) as measured:
            write_backup(Path(folder) / "backup.zip")
            measured((Path(folder) / "backup.zip").stat().st_size)


@contextlib.contextmanager
def timed(what: str, results: int) -> Iterator[Callable[[int], None]]:
    """Print a row with the time of the block; it may pass the size of a file that it wrote."""
    sizes: list[int] = []
    began = time.perf_counter()
    yield sizes.append
    seconds = time.perf_counter() - began
    size = f", {sum(sizes) / 1e6:,.0f} MB" if sizes else ""
    print(f"| {what}{size} | {results:,} | {seconds:.1f} | {results / seconds:,.0f} |", flush=True)


def dump() -> int:
    """Dump the database as a custom archive that nobody keeps, and return its size in bytes."""
    command = ["pg_dump", "--format=custom", "--compress=1", f"--dbname={os.environ['DATABASE_URL']}"]
    size = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None, "a pipe was requested"
        while piece := process.stdout.read(1 << 20):
            size += len(piece)
    if process.returncode:
        raise SystemExit(f"pg_dump failed with exit code {process.returncode}.")
    return size


if __name__ == "__main__":
    main()
