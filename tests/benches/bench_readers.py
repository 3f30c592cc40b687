"""``make bench-readers``: what 50 readers feel while a run goes on, and what the run feels of them.

Real processes: gunicorn with two of them, a worker, a loopback endpoint. First a run with nobody looking, then the same
run again while the readers go through its live page, its results and everything else. Tells the median, the 95th
percentile and the longest time of each page, and any answer that was not 200.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections import Counter
from threading import Thread

from tests.benches.bench_engine import run_once, seconds_of
from tests.benches.readers import Page, read
from tests.support.stacks import BOTH, Site, site

DELAY_MS = 200.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readers", type=int, default=50)
    parser.add_argument("--think", type=float, default=3.0, help="seconds a reader reads before the next page")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--tasks", type=int, default=5_000)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--stack", choices=BOTH, action="append", help="by default both")
    arguments = parser.parse_args()
    for kind in arguments.stack or BOTH:
        with site(kind, "--delay-ms", str(DELAY_MS)) as started:
            measure(kind, started, arguments)


def measure(kind: str, started: Site, arguments: argparse.Namespace) -> None:
    stack = started.stack
    stack.write_sums("bench", arguments.tasks)
    stack.write_sums("few", 50)
    stack.manage("datasets", "sync")
    stack.start_web(processes=2)
    stack.start_worker()
    earlier = run_once(stack, "few", 32)
    quiet = seconds_of(stack, run_once(stack, "bench", arguments.concurrency)["id"])
    live = earlier["id"] + 2
    watched: list[float] = []
    runner = Thread(target=lambda: watched.append(_seconds(started, arguments.concurrency)))
    runner.start()
    stack.wait_until(lambda: _done(started, live) > 0, "the run answers")
    pages = {name: path.format(live=live, earlier=earlier["id"]) for name, path in PAGES.items()}
    found = read(stack.address, pages, readers=arguments.readers, seconds=arguments.seconds, think=arguments.think)
    load = os.getloadavg()[0]
    going_on = stack.get(f"/api/v1/benchmarks/runs/{live}")["status"]
    runner.join()
    report(found, f"{kind}, {arguments.readers} readers, load of the machine {load:.1f}")
    print(f"\nThe run of {arguments.tasks:,} tasks: {quiet:.1f} s alone, {watched[0]:.1f} s with the readers. It was")
    print(f"{going_on} when the last reader left.\n")


def _seconds(started: Site, concurrency: int) -> float:
    return seconds_of(started.stack, run_once(started.stack, "bench", concurrency)["id"])


def _done(started: Site, run: int) -> int:
    try:
        return started.done(f"/api/v1/benchmarks/runs/{run}")
    except OSError:  # 404 before it is started
        return 0


PAGES = {
    "overview": "/",
    "runs": "/runs/",
    "the live run": "/runs/{live}/",
    "its status, as the page polls it": "/runs/{live}/status/",
    "its wrong results": "/runs/{live}/?outcome=wrong",
    "its results by duration": "/runs/{live}/?sort=-duration",
    "an earlier run": "/runs/{earlier}/",
    "the two compared": "/compare/?run={earlier}&run={live}",
    "leaderboard": "/leaderboard/",
    "datasets": "/datasets/",
    "api: the live run": "/api/v1/benchmarks/runs/{live}",
    "api: its results": "/api/v1/benchmarks/runs/{live}/results",
    "figures": "/metrics",
}


def report(found: dict[str, Page], title: str) -> None:
    print(f"\n{title}\n")
    print("| page | asked | errors | median ms | p95 ms | longest ms |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, page in [*found.items(), ("all", _together(found))]:
        times = [1000 * seconds for seconds in page.seconds] or [float("nan")]
        asked = len(page.seconds) + len(page.failures)
        print(
            f"| {name} | {asked:,} | {_told(page)} | {statistics.median(times):.0f} "
            f"| {1000 * page.p95:.0f} | {max(times):.0f} |"
        )


def _told(page: Page) -> str:
    """How many failures of which kind."""
    return ", ".join(f"{count} × {kind}" for kind, count in Counter(page.failures).items()) or "0"


def _together(found: dict[str, Page]) -> Page:
    return Page(
        [seconds for page in found.values() for seconds in page.seconds],
        [failure for page in found.values() for failure in page.failures],
    )


if __name__ == "__main__":
    main()
