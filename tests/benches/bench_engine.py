"""``make bench-engine``: how close a run comes to what the endpoint and the number in flight allow.

Its own loopback endpoint (50 ms an answer), the real web server and worker, results and scores persisted; the time is
from the accepted POST until the completed run with its summary is in the database. Beside each figure stands a bare
aiohttp loop against the same endpoint in the same run of the benchmark. While the long run goes, a reader asks for its
pages one after the other, and the worker's memory is read every second. ``--services`` takes PostgreSQL and Redis, as
``CODEFORGE_TEST_POSTGRES`` and ``CODEFORGE_TEST_REDIS`` name them, instead of the embedded stack. ``--limit`` sets a
limit in flight, which workers with Redis share.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import math
import statistics
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp

from tests.loopback.hosting import spawn
from tests.support.stack import Stack, installed

DELAY_MS = 50.0
PAGES = ("/", "/runs/", "/runs/{run}/", "/runs/{run}/status/", "/api/v1/benchmarks/runs/{run}/results")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--long", type=int, default=0, help="also one run of this number of tasks, at 128 in flight")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--services", action="store_true", help="on PostgreSQL and Redis")
    parser.add_argument("--limit", type=int, help="the provider's max_in_flight")
    arguments = parser.parse_args()
    print("| in flight | tasks | ideal s | bare aiohttp s | run s | × bare | results/s | worker MB |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    ratios: dict[int, list[float]] = {}
    with (
        spawn("--delay-ms", str(DELAY_MS)) as url,
        environment(arguments.services) as extra,
        installed(url, extra) as stack,
    ):
        if arguments.limit:
            set_limit(stack, arguments.limit)
        stack.write_sums("bench", arguments.tasks)
        if arguments.long:
            make = f"from tests.support.factories import make_dataset; make_dataset({arguments.long}, slug='long')"
            stack.manage("shell", "--no-imports", "-c", make)
        stack.manage("datasets", "sync")
        stack.start_web()
        worker = stack.start_worker()
        run_once(stack, "bench", 32)
        if arguments.long:
            watch = Watch(stack, worker.pid)
            with watch:
                report(stack, url, worker.pid, dataset="long", tasks=arguments.long, concurrency=128)
        for concurrency in (32, 64, 128):
            ratios[concurrency] = [
                report(stack, url, worker.pid, dataset="bench", tasks=arguments.tasks, concurrency=concurrency)
                for _ in range(arguments.rounds)
            ]
    print("\nMedians, × bare:", *(f"{number}: {statistics.median(each):.2f}" for number, each in ratios.items()))
    if arguments.long:
        print(f"\nDuring the run of {arguments.long:,} tasks: {watch.found()}")


@contextlib.contextmanager
def environment(services_wanted: bool) -> Iterator[dict[str, str]]:
    if not services_wanted:
        yield {}
        return
    from tests.support import services

    with services.postgres_database() as database:
        yield {"DATABASE_URL": database, "REDIS_URL": services.redis_url()}


def set_limit(stack: Stack, limit: int) -> None:
    path = stack.state / "codeforge.yaml"
    written = path.read_text()
    limited = written.replace("  loop: {", f"  loop: {{limits: {{max_in_flight: {limit}}}, ", 1)
    if limited == written:
        raise RuntimeError(f"no provider loop in {path}")
    path.write_text(limited)


class Watch:
    """What a reader of the pages and the worker's memory saw while its block was running."""

    def __init__(self, stack: Stack, pid: int) -> None:
        self._stack, self._pid = stack, pid
        self._ended = threading.Event()
        self._page_ms: list[float] = []
        self._memory_mb: list[float] = []
        self._threads = [threading.Thread(target=self._read_pages), threading.Thread(target=self._read_memory)]

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def found(self) -> str:
        ordered = sorted(self._page_ms)
        at_95 = ordered[math.ceil(0.95 * len(ordered)) - 1]
        middle = len(self._memory_mb) // 2
        return (
            f"{len(ordered)} pages read, median {statistics.median(ordered):.0f} ms, 95th percentile {at_95:.0f} ms, "
            f"slowest {ordered[-1]:.0f} ms; the worker's memory at most {max(self._memory_mb[:middle]):.0f} MB in the "
            f"first half and {max(self._memory_mb[middle:]):.0f} MB in the second"
        )

    def _read_pages(self) -> None:
        """Ask for one page every 200 ms, as a reader who clicks fast would."""
        while not self._ended.wait(0.2):
            run = self._stack.get("/api/v1/benchmarks/runs?page_size=1")["results"][0]["id"]
            for page in PAGES:
                began = time.perf_counter()
                with urllib.request.urlopen(self._stack.address + page.format(run=run), timeout=60) as response:
                    response.read()
                self._page_ms.append((time.perf_counter() - began) * 1000)
                if self._ended.wait(0.2):
                    return

    def _read_memory(self) -> None:
        while not self._ended.wait(1.0):
            self._memory_mb.append(resident_mb(self._pid))


def report(stack: Stack, url: str, pid: int, *, dataset: str, tasks: int, concurrency: int) -> float:
    """Print one row; return the run's time divided by the bare loop's."""
    ideal = math.ceil(tasks / concurrency) * DELAY_MS / 1000
    bare = asyncio.run(bare_loop(url, min(tasks, 5000), concurrency)) * tasks / min(tasks, 5000)
    run = run_once(stack, dataset, concurrency)
    took = seconds_of(stack, run["id"])
    memory = resident_mb(pid)
    print(
        f"| {concurrency} | {tasks} | {ideal:.2f} | {bare:.2f} | {took:.2f} | {took / bare:.2f} "
        f"| {tasks / took:.0f} | {memory:.0f} |",
        flush=True,
    )
    return took / bare


def run_once(stack: Stack, dataset: str, concurrency: int) -> dict[str, Any]:
    request = {"dataset": dataset, "model": "loop/model", "metrics": ["exact_match"], "concurrency": concurrency}
    run = stack.post("/api/v1/benchmarks/runs", request)
    path = f"/api/v1/benchmarks/runs/{run['id']}"

    def ended() -> bool:
        time.sleep(0.2)
        run.update(stack.get(path))
        return run["status"] not in ("queued", "preparing", "running")

    stack.wait_until(ended, "the run has ended", 600)
    if run["status"] != "completed":
        raise RuntimeError(f"run {run['id']} is {run['status']}: {run['error_message']}")
    return run


def seconds_of(stack: Stack, run_id: int) -> float:
    """From the stored moments, which need no polling: a run completes after its summary is written."""
    command = f"from benchmarks.models import Run; r = Run.objects.get(pk={run_id}); "
    printed = stack.manage(
        "shell", "--no-imports", "-c", command + "print((r.completed_at - r.created_at).total_seconds())"
    )
    return float(printed.strip().splitlines()[-1])


async def bare_loop(url: str, requests: int, concurrency: int) -> float:
    """Seconds that an aiohttp loop takes which asks and reads, and does nothing else."""
    left = iter(range(requests))
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def work() -> None:
            for number in left:
                body = {"model": "model", "messages": [{"role": "user", "content": f"What is {number} + {number}?"}]}
                async with session.post(f"{url}/chat/completions", json=body) as response:
                    json.loads(await response.read())

        began = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(concurrency)))
        return time.perf_counter() - began


def resident_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("no VmRSS")


if __name__ == "__main__":
    main()
