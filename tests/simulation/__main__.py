"""Try seeds: ``python -m tests.simulation --seeds 1000``. Replay one with its history: ``--seed 17``.

See whether planted faults of the engine are found: ``--mutants``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import django

COMMAND = (sys.executable, "-m", "tests.simulation")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many seeds to try")
    parser.add_argument("--begin", type=int, default=0, help="the first of them")
    parser.add_argument("--seed", type=int, help="replay this seed and print its history")
    parser.add_argument("--processes", type=int, default=1, help="how many processes share the seeds, or the mutants")
    parser.add_argument(
        "--mutants", action="store_true", help="plant each fault in turn, and try seeds until one breaks"
    )
    parser.add_argument("--mutant", type=int, metavar="NUMBER", help="plant this one")
    options = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.environ["PYTHONHASHSEED"] = "0"  # sets of texts have an order of their own in every process
        os.execv(sys.executable, [*COMMAND, *sys.argv[1:]])
    if options.mutants:
        return all_mutants(options.processes, options.seeds)
    if options.processes > 1:
        return in_parts(options.processes, options.begin, options.seeds)
    os.environ.setdefault("APP_ENV", "development")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codeforge.settings")
    django.setup()
    if options.mutant is not None:
        return one_mutant(options.mutant, range(options.begin, options.begin + options.seeds))
    if options.seed is not None:
        return tried([options.seed], shows_history=True)
    return tried(range(options.begin, options.begin + options.seeds))


def tried(seeds: Iterable[int], *, shows_history: bool = False) -> int:
    """Try the seeds, print what came of them, and the history of the first that broke a rule."""
    from tests.simulation.trying import in_new_database

    began, totals, broken = time.perf_counter(), Counter[str](), 0
    for outcome in in_new_database(seeds):
        totals.update(outcome.counts, seeds=1, seconds=int(outcome.seconds), calls=outcome.calls)
        if shows_history or (outcome.broken and not broken):
            print(*outcome.history, sep="\n")
        if outcome.broken:
            broken += 1
            print(
                f"seed {outcome.seed}: {outcome.broken}\nTo replay it: python -m tests.simulation --seed {outcome.seed}"
            )
    hours, took = totals.pop("seconds", 0) / 3600, time.perf_counter() - began
    seeds_, calls = totals.pop("seeds", 0), totals.pop("calls", 0)
    print(f"{seeds_} seeds, {hours:.1f} virtual hours, {calls} answers in {took:.0f} s; {broken} broke a rule")
    for name, count in sorted(totals.items()):
        print(f"{count:9,}  {name}")
    return 1 if broken else 0


def in_parts(processes: int, begin: int, seeds: int) -> int:
    """The seeds in several processes, each with its own summary."""
    step = -(-seeds // processes)
    parts = [(first, min(step, begin + seeds - first)) for first in range(begin, begin + seeds, step)]
    started = [subprocess.Popen([*COMMAND, "--begin", str(first), "--seeds", str(n)]) for first, n in parts]
    return max(process.wait() for process in started)


def one_mutant(number: int, seeds: Iterable[int]) -> int:
    """Plant a fault and try seeds until one breaks a rule; 0 if one does."""
    from tests.simulation.mutants import MUTANTS
    from tests.simulation.trying import in_new_database

    mutant = MUTANTS[number]
    for outcome in in_new_database(seeds, mutant):
        if outcome.broken:
            print(f"{mutant.name}: seed {outcome.seed}: {outcome.broken}", flush=True)
            return 0
    print(f"{mutant.name}: not found", flush=True)
    return 1


def all_mutants(processes: int, seeds: int) -> int:
    """Each fault in a process of its own; how many were not found."""
    from tests.simulation.mutants import MUTANTS

    def found(number: int) -> bool:
        command = [*COMMAND, "--mutant", str(number), "--seeds", str(seeds)]
        return subprocess.run(command, check=False).returncode == 0

    with ThreadPoolExecutor(processes) as pool:
        missed = [
            MUTANTS[number].name for number, is_found in enumerate(pool.map(found, range(len(MUTANTS)))) if not is_found
        ]
    print(
        f"{len(MUTANTS) - len(missed)} of {len(MUTANTS)} planted faults found. Not found: {', '.join(missed) or 'none'}"
    )
    return len(missed)


if __name__ == "__main__":
    sys.exit(main())
