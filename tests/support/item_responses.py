"""Simulated answers of models to tasks by item response theory, with references that are wrong on purpose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

OPEN_ANSWERS = 20
"""Different wrong answers to a task without choices; few of them are popular."""


@dataclass(frozen=True)
class Responses:
    """``answers`` has a row for each model and a column for each task: 0 is the truth, above it a wrong answer.

    ``values`` are the scores by the ``references``, which are the truth except for the tasks ``planted``; ``rates`` are
    the chances of the truth.
    """

    answers: NDArray[np.int64]
    references: NDArray[np.int64]
    rates: NDArray[np.float64]
    planted: NDArray[np.int64]

    @property
    def values(self) -> NDArray[np.float64]:
        return (self.answers == self.references).astype(float)


def simulated_responses(
    random: np.random.Generator, models: int, tasks: int = 300, *, planted: int = 0, choices: int = 0
) -> Responses:
    """The two-parameter logistic model: ability N(½, 1), difficulty N(0, 1.2²), log-slope N(0, 0.3²).

    With choices, a model that does not know guesses the truth at their rate. Wrong answers have their own popularity in
    each task, and a wrong reference is one of them, by that popularity.
    """
    guess, others = (1 / choices, choices - 1) if choices else (0.0, OPEN_ANSWERS)
    ability = random.normal(0.5, 1.0, (models, 1))
    slope, difficulty = random.lognormal(0.0, 0.3, tasks), random.normal(0.0, 1.2, tasks)
    rates = guess + (1 - guess) / (1 + np.exp(-slope * (ability - difficulty)))
    popularity = random.dirichlet(np.full(others, 0.5), tasks)
    picked = np.column_stack([1 + random.choice(others, models, p=own) for own in popularity])
    wrong = random.choice(tasks, planted, replace=False)
    references = np.zeros(tasks, dtype=np.int64)
    references[wrong] = [1 + random.choice(others, p=popularity[task]) for task in wrong]
    return Responses(np.where(random.random(rates.shape) < rates, 0, picked), references, rates, wrong)
