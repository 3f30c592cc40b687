"""How many canvases a second one core makes: shapes, descriptions, questions, and the JSON file on disk.

Run as `python -m tests.benches.bench_canvases`. Compared with the generator of the original data, whose figures
were taken for the same files on one core (at 20 shapes after repairs, without which it does not end).

Three rates stand side by side: by the wall clock, which is what a user waits for and what other programs on the machine
slow down; by this process's own time on its core, both as medians over the rounds; and by its own time in the least
disturbed round. On an idle machine they agree. Rounds of the cases take turns, so that a busy minute hits all alike.
It measures and does not judge: the exit code is 0 whatever the numbers.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from tasks_app.canvas.original import file_name
from tasks_app.loader import build_canvas

SEED = 11

MEMORY = Path("/dev/shm")
"""Where the files go if there is such a folder: the generator is measured, not the disk."""


@dataclass(frozen=True, slots=True)
class Case:
    n_shapes: int
    original_rate: int
    """Canvases a second of the original generator."""
    goal: int
    """How many times that ours should reach."""


CASES = (Case(3, 410, 10), Case(7, 258, 10), Case(20, 37, 20))


def canvases_per_second(n_shapes: int, count: int, folder: str) -> tuple[float, float]:
    """Build and write `count` canvases; return how many a second by the wall clock and by the time on the core."""
    began, began_on_core = perf_counter(), process_time()
    for index in range(count):
        document = build_canvas(n_shapes, SEED, index, count)
        with open(f"{folder}/{file_name(n_shapes, index)}", "wb", buffering=0) as file:
            file.write(document.to_json())
    return count / (perf_counter() - began), count / (process_time() - began_on_core)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each number of shapes, and how busy the machine was."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=500, help="canvases a round (default 500)")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of each number of shapes (default 9)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        rounds = [
            [canvases_per_second(case.n_shapes, options.count, folder) for case in CASES] for _ in range(options.rounds)
        ]
    print("shapes   wall/s   times   core/s   times   best/s   times  original/s   goal")
    for case, rates in zip(CASES, zip(*rounds, strict=True), strict=True):
        wall, core = zip(*rates, strict=True)
        cells = "".join(
            f"  {rate:>7,.0f}  {rate / case.original_rate:>5.1f}×" for rate in (median(wall), median(core), max(core))
        )
        print(f"{case.n_shapes:>6}{cells}  {case.original_rate:>10,}  {case.goal:>4}×")
    print(f"Load of the machine over the last minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.")


if __name__ == "__main__":
    main()
