"""Try seeds: ``python -m tests.simulation --seeds 1000``. Replay one with its history: ``--seed 17``."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter

import django


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many seeds to try")
    parser.add_argument("--begin", type=int, default=0, help="the first of them")
    parser.add_argument("--seed", type=int, help="replay this seed and print its history")
    options = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.environ["PYTHONHASHSEED"] = "0"  # sets of texts have an order of their own in every process
        os.execv(sys.executable, [sys.executable, "-m", "tests.simulation", *sys.argv[1:]])
    os.environ.setdefault("APP_ENV", "development")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codeforge.settings")
    django.setup()
    from tests.simulation.trying import in_new_database

    seeds = [options.seed] if options.seed is not None else range(options.begin, options.begin + options.seeds)
    began, totals, broken = time.perf_counter(), Counter[str](), 0
    for outcome in in_new_database(seeds):
        totals.update(outcome.counts, seeds=1, seconds=int(outcome.seconds), calls=outcome.calls)
        if os.environ.get("SHOW") or options.seed is not None or (outcome.broken and not broken):
            print(*outcome.history, sep="\n")
        if outcome.broken:
            broken += 1
            print(f"seed {outcome.seed}: {outcome.broken}\nTo replay it: python -m tests.simulation --seed {outcome.seed}")
    took = time.perf_counter() - began
    print(f"{totals['seeds']} seeds, {totals['seconds'] / 3600:.1f} virtual hours, {totals['calls']} answers in {took:.0f} s; {broken} broke a rule")
    for name, count in sorted(totals.items()):
        if name not in ("seeds", "seconds", "calls"):
            print(f"  {count:7,}  {name}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
