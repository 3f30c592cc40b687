"""Scores of full runs estimated from a part of the tasks: a model is left out and compared with the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray

from benchmarks.statistics.intervals import score_bounds
from benchmarks.statistics.spread import two_sided_z
from benchmarks.statistics.subset import draw, estimate
from tasks_app.loader import CanvasDocument, build_canvas, build_prompt
from tasks_app.shortcuts import scoring
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS
from tests.benches.bench_shortcuts import forgetful_answer
from tests.benches.statistics.report import share, table

REPEATS = 1_000
MEMORIES = (4, 6, 8, 10, 12, 16, 20, 24)
SIZES = ((300, 30), (300, 60), (300, 100), (1_000, 100))
Values = NDArray[np.float64]


def two_parameter(random: np.random.Generator, models: int, tasks: int) -> Values:
    return _answers(random, models, random.lognormal(0.0, 0.3, tasks))


def half_saturated(random: np.random.Generator, models: int, tasks: int) -> Values:
    values = two_parameter(random, models, tasks)
    easy = random.choice(tasks, tasks // 2, replace=False)
    values[:, easy] = random.random((models, len(easy))) < 0.985
    return values


def steep(random: np.random.Generator, models: int, tasks: int) -> Values:
    """Models agree on the order of difficulty."""
    return _answers(random, models, np.full(tasks, 4.0))


def _answers(random: np.random.Generator, models: int, slope: Values) -> Values:
    ability, difficulty = random.normal(0.5, 1.0, (models, 1)), random.normal(0.0, 1.2, len(slope))
    return (random.random((models, len(slope))) < 1 / (1 + np.exp(-slope * (ability - difficulty)))).astype(float)


def unrelated(random: np.random.Generator, models: int, tasks: int) -> Values:
    """The last model, which is left out, has nothing in common with the others."""
    values = two_parameter(random, models, tasks)
    values[-1] = random.permutation(values[-1])
    return values


KINDS: dict[str, Callable[[np.random.Generator, int, int], Values]] = {
    "two-parameter logistic": two_parameter,
    "half of the tasks saturated": half_saturated,
    "steep": steep,
    "unrelated to the other models": unrelated,
}


def compared(random: np.random.Generator, others: Values, own: Values, n: int) -> tuple[bool, float, bool, float]:
    """Whether the interval holds the score on all tasks, its width, and both for a simple random part."""
    truth, n_tasks = float(own.mean()), len(own)
    subset = draw(others, n, random)
    found = estimate(subset, own[subset.drawn].tolist())
    assert found is not None
    plain = float(own[random.choice(n_tasks, n, replace=False)].mean())
    low, high = score_bounds(plain, two_sided_z(0.95) ** 2 / n * (1 - n / n_tasks))
    holds = found.low - 1e-9 <= truth <= found.high + 1e-9
    return holds, found.high - found.low, low - 1e-9 <= truth <= high + 1e-9, high - low


def subsets(random: np.random.Generator, repeats: int = REPEATS) -> Iterator[str]:
    rows, coverages = [], []
    for name, simulated in KINDS.items():
        for others in (4, 12):
            for tasks, n in SIZES:
                found = []
                for _ in range(repeats):
                    values = simulated(random, others + 1, tasks)
                    found.append(compared(random, values[:-1], values[-1], n))
                held, width, plain_held, plain_width = np.mean(found, axis=0)
                coverages.append(held)
                widths = [f"{100 * width:.1f}", f"{100 * plain_width:.1f}", f"{width / plain_width:.2f}"]
                rows.append([name, others, f"{n} of {tasks}", share(held), share(plain_held), *widths])
    head = ["left-out model", "other models", "tasks", "holds", "random part holds", "width", "random part", "ratio"]
    yield table(head, rows)
    yield f"Mean {share(float(np.mean(coverages)))}, from {share(min(coverages))} to {share(max(coverages))}.\n"


def forgetful_readers(random: np.random.Generator) -> Iterator[str]:
    """Real answers: readers of the same canvases that remember from 4 to 24 names, each left out in turn."""
    documents = [build_canvas(n_shapes, 15, number, 70) for n_shapes in range(3, 13) for number in range(7)]
    chance = Random(15)
    values = np.array([_scores(documents, memory, chance) for memory in MEMORIES])
    rows = []
    for n in (40, 80, 120):
        for left_out, memory in enumerate(MEMORIES):
            others = np.delete(values, left_out, axis=0)
            found = [compared(random, others, values[left_out], n) for _ in range(REPEATS // 2)]
            held, width, plain_held, plain_width = np.mean(found, axis=0)
            widths = [f"{100 * width:.1f}", f"{100 * plain_width:.1f}", f"{width / plain_width:.2f}"]
            score = f"{values[left_out].mean():.3f}"
            rows.append(
                [f"{n} of {values.shape[1]}", f"{memory} names", score, share(held), share(plain_held), *widths]
            )
    yield table(
        ["tasks", "left-out reader", "score", "holds", "random part holds", "width", "random part", "ratio"], rows
    )


def _scores(documents: Sequence[CanvasDocument], memory: int, chance: Random) -> list[float]:
    scores = []
    for name, task in REGISTERED_TASKS.items():
        asked = [document for document in documents if document.questions[name]]
        answers = [str(document.questions[name][0][1]) for document in asked]
        for document, answer in zip(asked, answers, strict=True):
            given = forgetful_answer(build_prompt(document, name, "coordinates").text, chance, memory)
            scores.append(float(scoring(task)(answer, chance.choice(answers) if given is None else given)))
    return scores
