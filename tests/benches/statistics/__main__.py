"""Simulate the statistics and print the results as Markdown: ``python -m tests.benches.statistics``.

``python -m tests.benches.statistics share a text`` runs those whose titles contain that text.

All draws come from one seed, so the tables of ``docs/statistics.md`` can be reproduced. The measured functions are
those that the pages call.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

import numpy as np

from tests.benches.statistics import (
    clusters,
    coverage,
    false_alarms,
    margins,
    missing,
    people,
    preference,
    rankings,
    stopping,
    subsets,
    task_flags,
    variants,
)

SEED = 20_260_101
Bench = Callable[[np.random.Generator], Iterator[str]]
BENCHES: dict[str, Bench] = {
    "Independent 0/1 scores (exact)": lambda _: coverage.independent_zeros_and_ones(),
    "0/1 scores that share canvases": coverage.clustered_zeros_and_ones,
    "Uneven canvases": coverage.uneven_clusters,
    "Graded scores": coverage.graded_scores,
    "Chance-corrected averages": coverage.averaged_groups,
    "Two runs of one model": false_alarms.two_runs,
    "Six runs of one model": false_alarms.six_runs,
    "Published and fresh set": false_alarms.published_and_fresh,
    "Adaptive runs": stopping.adaptive_runs,
    "Thresholds": stopping.thresholds,
    "Cohen's κ": coverage.kappas,
    "Rankings": rankings.rankings,
    "Planted wrong references": task_flags.task_flags,
    "Effective tasks": task_flags.effective_numbers,
    "Fewer tasks": subsets.subsets,
    "Fewer tasks of readers of canvases": subsets.forgetful_readers,
    "Preference: strengths": preference.strengths,
    "Preference: equal candidates": preference.equal_candidates,
    "Preference: cycles": preference.intransitive,
    "Means corrected by labels": people.corrected_means,
    "Krippendorff's α": people.alphas,
    "Planned sizes (exact)": lambda _: false_alarms.planned_sizes(),
    "Weighted means": coverage.weighted_means,
    "Answers that nobody can score": missing.attacks,
    "Graded scores with rare zeros": coverage.rare_zeros,
    "Krippendorff's α of rare values": people.rare_values,
    "Mean ranks over datasets": rankings.ranks_over_datasets,
    "The same within a margin": margins.same,
    "A gate every night": margins.nights,
    "Averages over variants": variants.averages,
    "How a series of gates spends its 5%": margins.spending,
    "Tasks that share a text": clusters.means,
    "Two runs on tasks that share a text": clusters.pairs,
}


def main() -> None:
    started = time.process_time()
    chosen = " ".join(sys.argv[1:])
    for place, (title, bench) in enumerate(BENCHES.items()):
        if chosen not in title:
            continue
        begun = time.process_time()
        print(f"### {title}\n")
        for part in bench(np.random.default_rng([SEED, place])):
            print(part, flush=True)
        print(f"{title}: {time.process_time() - begun:.0f} s of processor time", file=sys.stderr)
    print(f"all: {time.process_time() - started:.0f} s of processor time", file=sys.stderr)


if __name__ == "__main__":
    main()
