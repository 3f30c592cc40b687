"""How many planted wrong references the task analysis finds, what it flags without cause, and its effective tasks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.statistics import task_analysis as analysis
from tests.benches.statistics.report import coverage, share, table
from tests.support.item_responses import Responses, simulated_responses

DATASETS = 100
TASKS = 300
PLANTED = 10
JACKKNIFES = 400


def suspects(responses: Responses) -> set[int]:
    """The tasks with a suspect reference, as the page flags them."""
    values = responses.values
    strong, rest = analysis.strong_models(values), analysis.rest_scores(values)
    return {
        task
        for task in np.flatnonzero(analysis.mostly_wrong(values, strong)).tolist()
        if analysis.suspect_reference(
            values[:, task],
            rest[:, task],
            strong,
            [
                None if right else str(answer)
                for right, answer in zip(values[:, task], responses.answers[:, task], strict=True)
            ],
        )
    }


def task_flags(random: np.random.Generator) -> Iterator[str]:
    rows = []
    for choices in (0, 4, 2):
        for models in (5, 8, 12, 20, 40):
            hits = false = negative = 0
            for _ in range(DATASETS):
                responses = simulated_responses(random, models, TASKS, planted=PLANTED, choices=choices)
                found, planted = suspects(responses), set(responses.planted.tolist())
                hits += len(found & planted)
                false += len(found - planted)
                values = responses.values
                correlation = analysis.discrimination(values, analysis.rest_scores(values))
                flagged = np.flatnonzero(analysis.is_negative(correlation, models)).tolist()
                negative += len(set(flagged) - planted)
            rows.append(
                [
                    f"{choices} choices" if choices else "open answers",
                    models,
                    share(hits / (PLANTED * DATASETS)),
                    share(hits / max(1, hits + false)),
                    f"{false / DATASETS:.1f}",
                    f"{negative / DATASETS:.1f}",
                ]
            )
    head = ["answers", "models", "recall", "precision", "sound references flagged", "sound tasks flagged negative"]
    yield table(head, rows)


def effective_numbers(random: np.random.Generator) -> Iterator[str]:
    """The interval of the effective number of tasks: fixed tasks, models drawn anew."""
    rows = []
    for models in (4, 8, 12, 20):
        # The truth of these tasks is that of very many models.
        held, widths = [], []
        for _ in range(JACKKNIFES // 10):
            seed = int(random.integers(2**32))
            many = simulated_responses(np.random.default_rng(seed), 2_000, TASKS)
            truth = float(4 * (many.rates.mean(axis=0) * (1 - many.rates.mean(axis=0))).sum())
            for chosen in random.permutation(2_000)[: 10 * models].reshape(10, models):
                found = analysis.effective_tasks(many.values[chosen])
                assert found is not None
                assert found.low is not None
                assert found.high is not None
                held.append(found.low <= truth <= found.high)
                widths.append(found.high - found.low)
        rows.append([models, coverage(float(np.mean(held))), f"{np.mean(widths):.0f}"])
    yield table(["models", "interval holds", "mean width of 300 tasks"], rows)
