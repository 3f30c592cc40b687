"""What a model gains by results without a score: it breaks the judge, or never answers, where it would be wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.statistics.ranking import Ranking, Scores
from tests.benches.statistics.report import share, table

DRAWS = 10_000
CANVAS = 6


@dataclass(frozen=True)
class Attack:
    """Two models on the same tasks, the honest one better by ``ahead``. The other makes up to a ``most`` of its results
    have no score, its worst ones first: an oracle, better than any real attack."""

    name: str
    tasks: int
    most: float
    ahead: float = 0.0
    repeats: int = 1
    graded: bool = False
    clustered: bool = False


ATTACKS = (
    Attack("breaks the judge on 5% of 200 answers", 200, 0.05),
    Attack("the same, 5 points behind", 200, 0.05, ahead=0.05),
    Attack("breaks the judge on every wrong answer", 200, 1.0),
    Attack("times out on 5% of 40 tasks", 40, 0.05),
    Attack("times out in 5% of 3 repeats of 100 tasks", 100, 0.05, repeats=3),
    Attack("breaks the judge on 5% of 120 graded answers", 120, 0.05, graded=True),
    Attack("times out on 5% of 40 canvases with 6 questions", 240, 0.05, clustered=True),
)


@dataclass(frozen=True)
class Drawn:
    """The attacker is the second row."""

    honest: Ranking
    attacked: Ranking


def draw(random: np.random.Generator, attack: Attack) -> Drawn:
    """One experiment, without and with the attack."""
    rates = random.uniform(0.55, 0.95, attack.tasks) - np.array([[0.0], [attack.ahead]])
    clusters = np.arange(attack.tasks) // (CANVAS if attack.clustered else 1)
    if attack.clustered:
        rates = np.clip(rates + random.uniform(-0.2, 0.2, (2, int(clusters.max()) + 1))[:, clusters], 0, 1)
    shape = (attack.repeats, 2, attack.tasks)
    if attack.graded:
        scores = random.beta(np.broadcast_to(4 * rates, shape), np.broadcast_to(4 * (1 - rates), shape))
    else:
        scores = random.binomial(1, np.broadcast_to(rates, shape)).astype(float)
    return Drawn(_ranking(scores, clusters), _ranking(_attacked(scores, attack), clusters))


def _attacked(scores: NDArray[np.float64], attack: Attack) -> NDArray[np.float64]:
    own = scores[:, 1].flatten()
    worst = np.argsort(own, kind="stable")[: int(attack.most * own.size)]
    worst = worst[own[worst] < 1]
    own[worst] = np.nan
    return np.stack([scores[:, 0], own.reshape(scores[:, 1].shape)], axis=1)


def _ranking(scores: NDArray[np.float64], clusters: NDArray[np.int64]) -> Ranking:
    """As ``scores_of`` makes it: the mean over the repeats with a score, and the share of those without one."""
    lacking = np.isnan(scores).mean(axis=0)
    known = np.isfinite(scores).sum(axis=0)
    with np.errstate(invalid="ignore"):
        means = np.nansum(scores, axis=0) / np.where(known, known, np.nan)
    return Ranking([Scores(means, clusters, lacking if lacking.any() else None)])


def attacks(random: np.random.Generator) -> Iterator[str]:
    rows = []
    for attack in ATTACKS:
        before = after = gained = naive = 0
        for _ in range(DRAWS):
            drawn = draw(random, attack)
            first = [ranking.order[0] == 1 for ranking in (drawn.honest, drawn.attacked)]
            gained += first[1] and not first[0]
            before += drawn.honest.is_above(1, 0)
            after += drawn.attacked.is_above(1, 0)
            scores = drawn.attacked.datasets[0].values
            naive += bool(np.nanmean(scores[1]) > np.nanmean(scores[0])) and not first[0]
        rows.append([attack.name, *(share(count / DRAWS) for count in (naive, gained, before, after))])
    head = [
        "attack",
        "first by the scored answers alone",
        "first by it",
        "significantly better, honest",
        "with the attack",
    ]
    yield table(head, rows)
