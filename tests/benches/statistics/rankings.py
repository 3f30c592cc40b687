"""How often a ranking separates candidates that are equal, and how often it finds the best and the order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from benchmarks.statistics.ranking import MeanRank, Ranking, Scores, mean_ranks
from tests.benches.statistics.report import share, table

EXPERIMENTS = 300
DRAWS = 4_000
SKILLS: dict[str, tuple[Sequence[float], float]] = {
    "equal, alike on all datasets": ((0.0,) * 5, 0.0),
    "equal, unlike on each dataset": ((0.0,) * 5, 0.7),
    "close, unlike on each dataset": ((0.0, 0.15, 0.3, 0.45, 0.6), 0.5),
    "far apart": ((0.0, 0.8, 1.6, 2.4, 3.2), 0.3),
}
"""Five models on the scale of log odds, and the standard deviation of what each dataset adds to each of them."""


@dataclass(frozen=True)
class Design:
    """Candidates with these true gains over the tasks' own rates; each dataset has ``tasks`` tasks, in canvases of six
    or, without canvases, independent ones."""

    name: str
    gains: Sequence[float]
    tasks: Sequence[int]
    per_cluster: int = 1
    graded: bool = False


DESIGNS = (
    Design("5 equal, 120 tasks", (0.0,) * 5, (120,)),
    Design("15 equal, 120 + 80 tasks", (0.0,) * 15, (120, 80)),
    Design("8 equal, 48 canvases of 6", (0.0,) * 8, (288,), per_cluster=6),
    Design("6 equal, graded, 100 + 40 tasks", (0.0,) * 6, (100, 40), graded=True),
    Design("3 above 3 equal ones by 15 points, 300 tasks", (0.15, 0.15, 0.15, 0.0, 0.0, 0.0), (300,)),
    Design("5 apart by 8 points each, 300 + 120 tasks", (0.0, 0.08, 0.16, 0.24, 0.32), (300, 120)),
)


def simulated(random: np.random.Generator, design: Design) -> Ranking:
    """The ranking of one experiment. Candidates have their own good and bad clusters."""
    datasets = []
    for n in design.tasks:
        clusters = np.arange(n) // design.per_cluster
        base = random.uniform(0.2, 0.5, n)
        effects = random.uniform(-0.15, 0.15, (len(design.gains), int(clusters.max()) + 1))[:, clusters]
        rates = base + np.array(design.gains)[:, None] + (effects if design.per_cluster > 1 else 0.0)
        drawn = random.beta(4 * rates, 4 * (1 - rates)) if design.graded else random.binomial(1, rates)
        datasets.append(Scores(drawn.astype(float), clusters))
    return Ranking(datasets)


@dataclass(frozen=True)
class Board:
    """The mean ranks of one drawn leaderboard, and the true ones on its own datasets."""

    found: Sequence[MeanRank]
    here: NDArray[np.float64]


def leaderboard(
    random: np.random.Generator, skills: Sequence[float], unlike: float, n_datasets: int, n_tasks: int
) -> Board:
    """Models on datasets drawn from a population; the skills of each dataset are ``unlike`` those of the others."""
    own = np.array(skills) + unlike * random.normal(size=(n_datasets, len(skills)))
    chances = 1 / (1 + np.exp(random.normal(size=(n_datasets, 1, n_tasks)) - own[:, :, None]))
    drawn = (random.random(chances.shape) < chances).astype(float)
    here = rankdata(-own, axis=1).mean(axis=0)
    return Board(mean_ranks([Scores(each, np.arange(n_tasks)) for each in drawn]), here)


def places_of(mean_ranks: Sequence[float]) -> list[tuple[int, int]]:
    """The first and the last place of each by its true mean rank; equal ones share all of theirs."""
    rounded = np.round(mean_ranks, 6)
    return [(1 + int(np.sum(rounded < own)), int(np.sum(rounded <= own))) for own in rounded]


def ranks_over_datasets(random: np.random.Generator, draws: int = DRAWS) -> Iterator[str]:
    """How often the ranges of all models hold together: on these datasets, and on the population of datasets."""
    rows = []
    for name, (skills, unlike) in SKILLS.items():
        places = places_of(np.argsort(np.argsort(-np.array(skills))) if len({*skills}) > 1 else [0.0] * len(skills))
        for n_datasets in (3, 10):
            held = here = 0
            widths: list[float] = []
            spans: list[int] = []
            for _ in range(draws):
                board = leaderboard(random, skills, unlike, n_datasets, 100)
                here += all(row.low <= true <= row.high for row, true in zip(board.found, board.here, strict=True))
                # Of equal models each has all places: none may be separated.
                held += all(
                    row.rank_low <= first and last <= row.rank_high
                    for row, (first, last) in zip(board.found, places, strict=True)
                )
                widths += [row.high - row.low for row in board.found]
                spans += [row.rank_high - row.rank_low + 1 for row in board.found]
            cells = [share(held_by / draws) for held_by in (here, held)]
            rows.append([name, n_datasets, cells[0], f"{np.mean(widths):.1f}", cells[1], f"{np.mean(spans):.1f}"])
    head = ["five models", "datasets", "all mean ranks hold", "width", "all places hold", "places"]
    yield table(head, rows)


def false_separations(ranking: Ranking, gains: Sequence[float]) -> int:
    """How many pairs are separated that are equal, or in the wrong direction."""
    return sum(
        ranking.is_above(a, b) and gains[a] <= gains[b] for a in range(ranking.n) for b in range(ranking.n) if a != b
    )


def rankings(random: np.random.Generator) -> Iterator[str]:
    rows = []
    for design in DESIGNS:
        wrong = held = found = best = 0.0
        apart = sum(a > b for a in design.gains for b in design.gains)
        for _ in range(EXPERIMENTS):
            ranking = simulated(random, design)
            wrong += false_separations(ranking, design.gains) > 0
            places = ranking.places()
            ahead = [sum(other > own for other in design.gains) for own in design.gains]
            ties = [sum(other == own for other in design.gains) for own in design.gains]
            held += all(
                place.rank_low <= above + tied and above + 1 <= place.rank_high
                for place, above, tied in zip(places, ahead, ties, strict=True)
            )
            pairs = [(a, b) for a in range(ranking.n) for b in range(ranking.n) if design.gains[a] > design.gains[b]]
            found += sum(ranking.is_above(a, b) for a, b in pairs) / apart if apart else 0.0
            best += places[int(np.argmax(design.gains))].best
        shares = [share(count / EXPERIMENTS) for count in (wrong, held)]
        powers = [share(count / EXPERIMENTS) if apart else "–" for count in (found, best)]
        rows.append([design.name, *shares, *powers])
    yield table(["experiment", "any false separation", "all ranks hold", "pairs separated", "chance of the best"], rows)
