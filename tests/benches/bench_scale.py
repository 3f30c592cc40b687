"""``make bench-scale``: results a second with 1, 2 and 4 workers on an endpoint that takes two seconds for an answer.

Every worker has one thread, so that it holds one lease, with ``SLOTS_PER_LEASE`` requests in flight, and waits for most
of its time. On PostgreSQL and Redis, in real processes. The ideal is what those requests in flight allow. The second
table has what ``docs/performance.md`` computes with: what workers that wait for runs, and what results, cost the
database and Redis. Both servers must be on this machine and serve nothing else: PostgreSQL's log and Redis's commands
are counted for all of their clients.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

import psycopg
import redis

from tests.benches.bench_engine import run_once, seconds_of
from tests.loopback.hosting import fetch_stats
from tests.support.stack import Stack
from tests.support.stacks import SERVICES, site

DELAY_S = 2.0
SLOTS_PER_LEASE = 128
"""As in ``engine/execution/dispatch.py``, which cannot be imported without a database."""
WORKERS = (1, 2, 4)
IDLE_SECONDS = 20.0
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: its seconds, most requests in flight, processor seconds of its workers, and load before and in it."""

    seconds: float
    in_flight: int
    worker_seconds: float
    idle: Load
    busy: Load


@dataclass(frozen=True, slots=True)
class Load:
    """What a database has done in ``seconds``, and the whole servers of PostgreSQL (its log) and Redis (commands)."""

    seconds: float
    processor_seconds: float
    transactions: int
    log_bytes: int
    commands: int
    connections: int

    @classmethod
    def of(cls, stack: Stack) -> Load:
        """So far, and the connections now."""
        environment = stack.environment
        with psycopg.connect(environment["DATABASE_URL"]) as database:
            activity = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            pids = [row[0] for row in database.execute(f"SELECT pid {activity}")]
            counted = "SELECT xact_commit, pg_current_wal_lsn() - '0/0' FROM pg_stat_database"
            found = database.execute(f"{counted} WHERE datname = current_database()").fetchone()
        assert found, "the database has statistics"
        commands = redis.Redis.from_url(environment["REDIS_URL"]).info("stats")["total_commands_processed"]
        used = 0.0
        for pid in pids:
            with contextlib.suppress(FileNotFoundError):  # of a connection that was closed since
                used += processor_seconds(pid)
        return cls(time.monotonic(), used, int(found[0]), int(found[1]), commands, len(pids))

    def since(self, earlier: Load) -> Load:
        return Load(
            self.seconds - earlier.seconds,
            self.processor_seconds - earlier.processor_seconds,
            self.transactions - earlier.transactions,
            self.log_bytes - earlier.log_bytes,
            self.commands - earlier.commands,
            self.connections,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=5_120)
    tasks = parser.parse_args().tasks
    print("| workers | most in flight | ideal s | run s | results/s | × one worker | of the ideal | cores a worker |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    found = {}
    for workers in WORKERS:
        run = found[workers] = measure(workers, tasks)
        ideal = tasks / (workers * SLOTS_PER_LEASE) * DELAY_S
        print(
            f"| {workers} | {run.in_flight} | {ideal:.1f} | {run.seconds:.1f} | {tasks / run.seconds:.0f} "
            f"| {found[1].seconds / run.seconds:.2f} | {ideal / run.seconds:.0%} "
            f"| {run.worker_seconds / run.seconds / workers:.0%} |",
            flush=True,
        )
    idle = "idle: transactions/s a worker | database ms/s a worker | Redis commands/s a worker"
    busy = "per result: worker ms | database ms | transactions | log kB | Redis commands"
    print(f"\n| workers | connections | {idle} | {busy} |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for workers, run in found.items():
        before, during, waited = run.idle, run.busy, run.idle.seconds * workers
        print(
            f"| {workers} | {during.connections} | {before.transactions / waited:.1f} "
            f"| {1000 * before.processor_seconds / waited:.1f} | {before.commands / waited:.1f} "
            f"| {1000 * run.worker_seconds / tasks:.2f} | {1000 * during.processor_seconds / tasks:.2f} "
            f"| {during.transactions / tasks:.2f} | {during.log_bytes / tasks / 1000:.1f} "
            f"| {during.commands / tasks:.2f} |"
        )


def measure(workers: int, tasks: int) -> Measured:
    """One run of ``tasks`` on so many workers, after a while in which they have nothing to do."""
    with site(SERVICES, "--delay-ms", str(1000 * DELAY_S), extra={"CODEFORGE_WORKER_THREADS": "1"}) as started:
        stack = started.stack
        stack.write_sums("bench", tasks)
        stack.manage("datasets", "sync")
        stack.start_web()
        processes = [stack.start_worker() for _ in range(workers)]
        installation = "/api/v1/benchmarks/installation"
        stack.wait_until(lambda: stack.get(installation)["workers_alive"] == workers, "the workers are there")
        time.sleep(5)  # for their first sweeps
        first = Load.of(stack)
        time.sleep(IDLE_SECONDS)
        idle = Load.of(stack)
        used = sum(processor_seconds(process.pid) for process in processes)
        run = run_once(stack, "bench", min(1024, workers * SLOTS_PER_LEASE))
        used = sum(processor_seconds(process.pid) for process in processes) - used
        busy = Load.of(stack)
        in_flight = fetch_stats(started.url)["most_in_flight"]
        return Measured(seconds_of(stack, run["id"]), in_flight, used, idle.since(first), busy.since(idle))


def processor_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


if __name__ == "__main__":
    main()
