"""What the answers of several models say of the tasks themselves.

All functions take ``values``: the scores from 0 to 1 with a row for each model and a column for each task, not a number
where there is none. Repeats, and several runs of one model, are averaged before.

- Discrimination is the corrected item-total correlation: of a task with the mean over all other tasks, over models.
- A reference is suspect if most strong models give one same other answer, which fits the models' scores on the other
  tasks better than the reference does.
- Two models differ on a share of tasks that is ½ if each task is a coin flip. The effective number of tasks is the
  number of coin flips with as many differences: 2 · Σ (x - y)², averaged over the pairs of models. Its interval is the
  jackknife's over models.

Sources: Henrysson (1963), Psychometrika 28:211, for the corrected correlation; arXiv:2605.30504, for comparing the fit
of a reference with that of the leading other answer; Arvesen (1969), Ann. Math. Stat. 40:2076, for the jackknife of
averages over pairs.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.statistics.spread import two_sided_t

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RIGHT = 0.999
"""Scores from here on are right; a mean of repeats is right only if all are."""
FEWEST_MODELS = 5
"""With fewer models, a correlation over models says nothing."""
FEWEST_STRONG = 3
"""With fewer strong models, their agreement says nothing."""
SIMILAR = 0.6
MOST_COMPARED = 5_000
MOST_SHARING = 50
"""Three words that more texts share do not make two of them similar."""
_PUNCTUATION = ".,;:!?\"'`*_()[]{}“”„‘’«»$"
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")


@dataclass(frozen=True, slots=True)
class Effective:
    """The effective number of tasks with its 95% interval; no bounds with two models."""

    tasks: float
    low: float | None
    high: float | None


class Duplicate(NamedTuple):
    """The place of an earlier text, and whether it is equal or only similar."""

    of: int
    is_equal: bool


class Suspect(NamedTuple):
    """``agreeing`` of ``strong`` models give ``answer``, which is not the reference."""

    answer: str
    agreeing: int
    strong: int


def strong_models(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """The half of the models with the higher means, at least ``FEWEST_STRONG``; none if there are fewer models."""
    import numpy as np

    count = len(values)
    strong = np.zeros(count, dtype=bool)
    if count >= FEWEST_STRONG:
        means = np.nan_to_num(np.nanmean(values, axis=1), nan=-1.0)
        strong[np.argsort(-means, kind="stable")[: max(FEWEST_STRONG, math.ceil(count / 2))]] = True
    return strong


def rest_scores(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each model and task, the model's mean over all other tasks."""
    import numpy as np

    known = ~np.isnan(values)
    filled = np.where(known, values, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        rest: NDArray[np.float64] = (filled.sum(axis=1, keepdims=True) - filled) / (
            known.sum(axis=1, keepdims=True) - known
        )
    return rest


def discrimination(values: NDArray[np.float64], rest: NDArray[np.float64]) -> NDArray[np.float64]:
    """The correlation of each column with the same column of the rest scores, over the models that have both; not a
    number with fewer than ``FEWEST_MODELS`` of them, or if either is constant."""
    import numpy as np

    known = ~np.isnan(values) & ~np.isnan(rest)
    n = known.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        x, y = (np.where(known, part - np.where(known, part, 0.0).sum(axis=0) / n, 0.0) for part in (values, rest))
        spread = np.sqrt((x * x).sum(axis=0) * (y * y).sum(axis=0))
        correlation: NDArray[np.float64] = (x * y).sum(axis=0) / spread
    return np.where((n >= FEWEST_MODELS) & (spread > 1e-9), correlation, np.nan)


def is_negative(correlation: NDArray[np.float64], n_models: int) -> NDArray[np.bool_]:
    """Which correlations are below 0 by the one-sided t test at 5%."""
    import numpy as np

    if n_models < FEWEST_MODELS:
        return np.zeros(correlation.shape, dtype=bool)
    t = two_sided_t(0.9, n_models - 2)
    return np.nan_to_num(correlation) < -t / math.sqrt(n_models - 2 + t * t)


def saturated(values: NDArray[np.float64], strong: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tasks that every strong model gets right, where at least ``FEWEST_STRONG`` have a score."""
    import numpy as np

    known = ~np.isnan(values[strong])
    every: NDArray[np.bool_] = (known.sum(axis=0) >= FEWEST_STRONG) & ((values[strong] >= RIGHT) | ~known).all(axis=0)
    return every


def never_solved(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tasks that no model gets right, where at least ``FEWEST_STRONG`` have a score."""
    import numpy as np

    known = ~np.isnan(values)
    never: NDArray[np.bool_] = (known.sum(axis=0) >= FEWEST_STRONG) & ~(values >= RIGHT).any(axis=0)
    return never


def mostly_wrong(values: NDArray[np.float64], strong: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tasks that most strong models get wrong: only their answers can make a reference suspect."""
    import numpy as np

    wrong = (values[strong] < RIGHT).sum(axis=0)
    most: NDArray[np.bool_] = (wrong >= FEWEST_STRONG) & (2 * wrong > (~np.isnan(values[strong])).sum(axis=0))
    return most


def suspect_reference(
    scores: NDArray[np.float64],
    rest: NDArray[np.float64],
    strong: NDArray[np.bool_],
    wrong_answers: Sequence[str | None],
) -> Suspect | None:
    """Whether the models' answers to one task make its reference suspect.

    ``scores`` and ``rest`` are the task's columns. ``wrong_answers`` are comparable texts in the order of the models;
    ``None`` for one that is right or gave no answer.
    """
    import numpy as np

    counts = Counter(answer for answer, own in zip(wrong_answers, strong, strict=True) if own and answer)
    leading, agreeing = counts.most_common(1)[0] if counts else ("", 0)
    n_strong = int((~np.isnan(scores[strong])).sum())
    if agreeing < FEWEST_STRONG or 2 * agreeing <= n_strong:
        return None
    chosen = np.where(np.isnan(scores), np.nan, [float(answer == leading) for answer in wrong_answers])
    columns = np.column_stack([chosen, scores])
    # A constant column fits neither well nor badly: if no model is right, the agreement alone decides.
    fit_other, fit_reference = np.nan_to_num(discrimination(columns, np.column_stack([rest, rest])))
    return Suspect(leading, agreeing, n_strong) if fit_other >= fit_reference else None


def effective_tasks(values: NDArray[np.float64]) -> Effective | None:
    """How many coin flips separate the models as often as these tasks do; ``None`` with fewer than two models.

    Tasks without scores of both models of a pair count as the pair's other tasks. Models that differ on more than half
    of the tasks are separated better than by coin flips, but a task is worth at most one.
    """
    import numpy as np

    n, n_tasks = values.shape
    known = ~np.isnan(values)
    filled = np.where(known, values, 0.0)
    shared = known.astype(float) @ known.T.astype(float)
    squares = (filled**2) @ known.T
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = (squares + squares.T - 2 * filled @ filled.T) / shared
    if n < 2 or not shared[np.triu_indices(n, 1)].all():
        return None
    np.fill_diagonal(apart, 0.0)
    total = apart.sum()
    estimate = 2 * n_tasks * total / (n * (n - 1))
    if n < FEWEST_STRONG:
        return Effective(min(float(n_tasks), float(estimate)), None, None)
    without = 2 * n_tasks * (total - 2 * apart.sum(axis=0)) / ((n - 1) * (n - 2))
    error = math.sqrt((n - 1) / n * float(((without - without.mean()) ** 2).sum()))
    half = two_sided_t(0.95, n - 1) * error
    low, high = max(0.0, float(estimate) - half), float(estimate) + half
    return Effective(*(min(float(n_tasks), value) for value in (float(estimate), low, high)))


def duplicates(texts: Sequence[str]) -> dict[int, Duplicate]:
    """Place → the earlier text that it repeats or resembles; letter case, white space and punctuation do not matter.

    Similar are texts with the same numbers whose sets of three consecutive words have a Jaccard index of at least
    ``SIMILAR``. Among more than ``MOST_COMPARED`` texts only equal ones are found.
    """
    first: dict[str, int] = {}
    by_place: dict[int, Duplicate] = {}
    for place, text in enumerate(map(comparable, texts)):
        earlier = first.setdefault(text, place)
        if earlier != place:
            by_place[place] = Duplicate(earlier, is_equal=True)
    if len(texts) <= MOST_COMPARED:
        by_place |= _similar([text.split() for text in first], list(first.values()))
    return by_place


def _similar(words: Sequence[Sequence[str]], places: Sequence[int]) -> dict[int, Duplicate]:
    import numpy as np
    from scipy.sparse import csr_array, triu

    columns: dict[tuple[str, ...], int] = {}
    shingles = [
        {columns.setdefault(tuple(each[at : at + 3]), len(columns)) for at in range(len(each) - 2)} for each in words
    ]
    if not columns:
        return {}
    sizes = [len(each) for each in shingles]
    at = (np.repeat(np.arange(len(words)), sizes), [column for each in shingles for column in each])
    matrix = csr_array((np.ones(len(at[1]), dtype=np.int32), at), shape=(len(words), len(columns)))
    # Words that very many texts share, such as an instruction, would make the product large and say little.
    sharing: NDArray[np.int64] = np.asarray(matrix.sum(axis=0)).ravel()
    rare = matrix[:, (sharing > 1) & (sharing <= MOST_SHARING)]
    pairs = triu(rare @ rare.T, 1).tocoo()
    numbers = [sorted(word for word in each if any(sign.isdigit() for sign in word)) for each in words]
    best: dict[int, tuple[float, int]] = {}
    for earlier, later in zip(pairs.row.tolist(), pairs.col.tolist(), strict=True):
        if numbers[earlier] == numbers[later]:
            shared = len(shingles[earlier] & shingles[later])
            similarity = shared / (sizes[earlier] + sizes[later] - shared)
            if similarity >= SIMILAR:
                best[later] = max(best.get(later, (0.0, -1)), (similarity, earlier))
    return {places[later]: Duplicate(places[earlier], is_equal=False) for later, (_, earlier) in best.items()}


def comparable(text: str) -> str:
    """A text for comparing: letter case, white space, punctuation around words and commas in numbers do not matter.

    Signs inside a word do: 3.5 and -7 stay as they are, and so does a text of punctuation alone.
    """
    words = (word.strip(_PUNCTUATION) for word in _THOUSANDS.sub("", text.casefold()).split())
    return " ".join(filter(None, words)) or " ".join(text.split())
