"""``make bench-exports``: time and memory of exporting one run of 1,000,000 results, in every format.

Fills a database of its own and streams each file through the services, as the web server does, throwing it away.
Each export has a process of its own. Prints its seconds, the size of the file, and the most memory that the process
had (on Linux), for a run of a hundredth of the results and for the whole: memory that grew with the rows would show.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.benches.bench_pages import prepared_settings

RESULTS = 1_000_000
TASKS = 10_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=int, default=RESULTS)
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    arguments = parser.parse_args()
    with prepared_settings(arguments.database):
        import django

        django.setup()
        from benchmarks.models import Run
        from benchmarks.services.runs.exports import forms_here
        from tests.benches import filled_database

        filled = filled_database.fill(arguments.results + TASKS, arguments.results, TASKS)
        print(f"{arguments.database}: {filled}", flush=True)
        huge, small = Run.objects.filter(representation="").order_by("-total")[:2]
        spawned = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, spawned, max_tasks_per_child=1) as processes:
            for form in forms_here():
                for run in (small, huge):
                    seconds, size, peak = processes.submit(measured, run.pk, form).result()
                    rate = run.total / seconds
                    print(
                        f"{form:10} {run.total:>9,} results  {seconds:7.1f} s  {rate:>8,.0f}/s  "
                        f"{size / 1e6:8.1f} MB  peak {peak:6.1f} MB resident",
                        flush=True,
                    )


def measured(run_id: int, form: str) -> tuple[float, int, float]:
    """Seconds, bytes, and the most memory in megabytes that this process, which does nothing else, has had."""
    import django

    django.setup()
    from benchmarks.queries.runs import run_detail
    from benchmarks.services.runs.exports import export_pieces

    began = time.perf_counter()
    size = sum(map(len, export_pieces(run_detail(run_id), form)))
    seconds = time.perf_counter() - began
    # Not getrusage, whose figure a process takes over from the one that started it.
    kilobytes = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return seconds, size, int(kilobytes[1]) / 1024 if kilobytes else float("nan")


if __name__ == "__main__":
    main()
