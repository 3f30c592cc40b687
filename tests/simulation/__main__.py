"""Try seeds: ``python -m tests.simulation --seeds 1000``. Replay one with its history: ``--seed 17``.

See whether planted faults of the engine are found: ``--mutants``. On PostgreSQL: ``--postgres URL``.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import django

if TYPE_CHECKING:
    from tests.simulation.scenario import Outcome

    Try = Callable[[int], Outcome]

PART = 25
"""Seeds that a process tries before another takes its place"""
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
    parser.add_argument("--mutant", type=int, metavar="NUMBER", nargs="+", help="plant these")
    parser.add_argument("--postgres", default="", metavar="URL", help="try on this server, in one process")
    options = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.environ["PYTHONHASHSEED"] = "0"  # sets of texts have an order of their own in every process
        os.execv(sys.executable, [*COMMAND, *sys.argv[1:]])
    os.environ["DATABASE_URL"] = options.postgres
    os.environ.setdefault("APP_ENV", "development")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codeforge.settings")
    django.setup()
    from tests.simulation.trying import prepared

    seeds = range(options.begin, options.begin + options.seeds)
    with prepared() as tried:
        if options.mutants or options.mutant:
            return plant(options.mutant, seeds, tried, options.processes)
        if options.seed is not None:
            return show([tried(options.seed)], shows_history=True)
        if options.processes == 1:
            return show(map(tried, seeds))

        def part(begin: int) -> list[Outcome]:
            return [tried(seed) for seed in range(begin, min(begin + PART, seeds.stop))]

        return show(chain.from_iterable(in_processes(part, seeds[::PART], options.processes)))


def in_processes(function: Callable[[int], Any], numbers: Iterable[int], processes: int) -> Iterator[Any]:
    """What comes of each number, in their order, in a process of its own: a copy of this one, database included."""
    context, running = get_context("fork"), deque[Any]()
    for number in numbers:
        receiver, sender = context.Pipe(duplex=False)
        context.Process(target=lambda number=number, sender=sender: sender.send(function(number))).start()
        sender.close()
        running.append(receiver)
        if len(running) >= processes:
            yield running.popleft().recv()
    for receiver in running:
        yield receiver.recv()


def show(outcomes: Iterable[Outcome], *, shows_history: bool = False) -> int:
    """Print what came of the seeds, and the history of the first that broke a rule."""
    began, totals, broken = time.perf_counter(), Counter[str](), 0
    for outcome in outcomes:
        totals.update(outcome.counts, seeds=1, seconds=int(outcome.seconds), calls=outcome.calls)
        if shows_history or (outcome.broken and not broken):
            print(*outcome.history, sep="\n")
        if outcome.broken:
            broken += 1
            print(
                f"seed {outcome.seed}: {outcome.broken}\nTo replay it: python -m tests.simulation --seed {outcome.seed}"
            )
    hours, took = totals.pop("seconds", 0) / 3600, time.perf_counter() - began
    seeds, calls = totals.pop("seeds", 0), totals.pop("calls", 0)
    print(f"{seeds} seeds, {hours:.1f} virtual hours, {calls} answers in {took:.0f} s; {broken} broke a rule")
    for name, count in sorted(totals.items()):
        print(f"{count:9,}  {name}")
    return 1 if broken else 0


def plant(numbers: list[int] | None, seeds: Iterable[int], tried: Try, processes: int) -> int:
    """Plant each fault in a process of its own, and try seeds until one breaks a rule; how many were not found."""
    from tests.simulation.mutants import MUTANTS

    def found(number: int) -> str:
        MUTANTS[number].plant()
        return next((f"seed {each.seed}: {each.broken}" for each in map(tried, seeds) if each.broken), "")

    chosen, missed = numbers or [*range(len(MUTANTS))], []
    for number, how in zip(chosen, in_processes(found, chosen, processes), strict=True):
        print(f"{number:2} {MUTANTS[number].name}: {how or 'not found'}", flush=True)
        missed += [] if how else [MUTANTS[number].name]
    print(
        f"{len(chosen) - len(missed)} of {len(chosen)} planted faults found. Not found: {', '.join(missed) or 'none'}"
    )
    return len(missed)


if __name__ == "__main__":
    sys.exit(main())
