"""``make bench-scale``: results a second with 1, 2 and 4 workers on an endpoint that takes two seconds for an answer.

Every worker has one thread, so that it works one shift, with ``LANES_PER_SHIFT`` requests in flight, and waits for most
of its time. On PostgreSQL and Redis, in real processes. The ideal is what those requests in flight allow.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from tests.benches.bench_engine import run_once, seconds_of
from tests.loopback.hosting import fetch_stats
from tests.support.stacks import SERVICES, site

DELAY_S = 2.0
SLOTS_PER_LEASE = 128
"""As in ``engine/execution/dispatch.py``, which cannot be imported without a database."""
WORKERS = (1, 2, 4)
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=5_120)
    arguments = parser.parse_args()
    print("| workers | most in flight | ideal s | run s | results/s | × one worker | of the ideal | cores a worker |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    alone = 0.0
    for workers in WORKERS:
        seconds, in_flight, busy = measure(workers, arguments.tasks)
        rate = arguments.tasks / seconds
        alone = alone or rate
        ideal = arguments.tasks / (workers * SLOTS_PER_LEASE) * DELAY_S
        print(
            f"| {workers} | {in_flight} | {ideal:.1f} | {seconds:.1f} | {rate:.0f} | {rate / alone:.2f} "
            f"| {ideal / seconds:.0%} | {busy:.0%} |",
            flush=True,
        )


def measure(workers: int, tasks: int) -> tuple[float, int, float]:
    """Seconds of the run, most requests in flight, and the share of a core that each worker used meanwhile."""
    with site(SERVICES, "--delay-ms", str(1000 * DELAY_S), extra={"CODEFORGE_WORKER_THREADS": "1"}) as started:
        stack = started.stack
        stack.write_sums("bench", tasks)
        stack.manage("datasets", "sync")
        stack.start_web()
        processes = [stack.start_worker() for _ in range(workers)]
        installation = "/api/v1/benchmarks/installation"
        stack.wait_until(lambda: stack.get(installation)["workers_alive"] == workers, "the workers are there")
        used, began = sum(processor_seconds(process.pid) for process in processes), time.monotonic()
        run = run_once(stack, "bench", min(1024, workers * SLOTS_PER_LEASE))
        took = time.monotonic() - began
        used = sum(processor_seconds(process.pid) for process in processes) - used
        return seconds_of(stack, run["id"]), fetch_stats(started.url)["most_in_flight"], used / took / workers


def processor_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


if __name__ == "__main__":
    main()
