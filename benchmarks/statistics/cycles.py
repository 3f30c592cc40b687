"""Cycles of preferences: a is preferred to b, b to c, and c to a, more clearly than chance explains.

No strengths can describe a cycle, so a ranking of candidates in one says less than it seems to. With close candidates
some cycles come by chance. Chance is a wild bootstrap by task (Cameron, Gelbach & Miller 2008, Rev. Econ. Stat. 90:414)
of the fitted strengths, which have no cycles: each task's deviations from the fit keep or change their signs together.
Fitted strengths are further apart than true ones by their own error, which would make cycles seem rare; their leads are
shrunk by what the covariance explains of the spread (James & Stein 1961).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from benchmarks.statistics.preference import LEVEL, Preference

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SAMPLES = 1_000
_CHUNK = 100
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Cycle:
    """Each of ``members`` is preferred to the next, the last to the first; ``margin`` is the smallest lead, in points
    for each judgement (a win 1, a tie 0.5), above 0.5."""

    members: tuple[int, int, int]
    margin: float


@dataclass(frozen=True, slots=True)
class Cycles:
    """How many of the triples that were compared in all three pairs are cycles, and how many come by chance.

    ``p_value`` is the share of samples whose margins of cycles add up to at least as much. ``largest`` has the cycles
    with the largest margins, at most five.
    """

    n_triples: int
    n_cycles: int
    expected: float
    p_value: float
    largest: tuple[Cycle, ...]

    @property
    def is_clear(self) -> bool:
        return self.n_cycles > 0 and self.p_value <= LEVEL


def cycles(preference: Preference, *, seed: int = 0) -> Cycles:
    """Count the cycles of three candidates, and compare with chance."""
    import numpy as np

    leads, deviations, expected = _leads(preference)
    triples = [
        triple for triple in combinations(range(preference.n), 3) if all(p in leads for p in combinations(triple, 2))
    ]
    if not triples:
        return Cycles(0, 0, 0.0, 1.0, ())
    places = {pair: place for place, pair in enumerate(leads)}
    # Forward is a over b, b over c, c over a; the last pair is stored as (a, c), so its sign changes.
    columns = np.array([[places[a, b], places[b, c], places[a, c]] for a, b, c in triples])
    signs = np.array([1.0, 1.0, -1.0])
    observed = _margins(np.array([list(leads.values())])[:, columns] * signs)[0]
    random = np.random.default_rng(seed)
    counts, totals = [], []
    for _ in range(0, SAMPLES, _CHUNK):
        flips = random.choice((-1.0, 1.0), size=(_CHUNK, len(deviations)))
        drawn = _margins((expected + flips @ deviations)[:, columns] * signs)
        counts.append((drawn != 0).sum(axis=1))
        totals.append(np.abs(drawn).sum(axis=1))
    as_much = int((np.concatenate(totals) >= np.abs(observed).sum() - 1e-12).sum())
    cyclic = [
        Cycle((a, b, c) if margin > 0 else (a, c, b), abs(float(margin)))
        for (a, b, c), margin in zip(triples, observed, strict=True)
        if margin != 0
    ]
    largest = tuple(sorted(cyclic, key=lambda cycle: -cycle.margin)[:_SHOWN])
    p_value = (as_much + 1) / (SAMPLES + 1)
    return Cycles(len(triples), len(cyclic), float(np.concatenate(counts).mean()), p_value, largest)


def _margins(leads: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sample × triple: the smallest lead around a cycle, negative if it goes backward, 0 where there is none."""
    import numpy as np

    forward, backward = leads.min(axis=2), leads.max(axis=2)
    return np.where(forward > 0, forward, np.where(backward < 0, backward, 0.0))


def _leads(
    preference: Preference,
) -> tuple[dict[tuple[int, int], float], NDArray[np.float64], NDArray[np.float64]]:
    """The mean lead of a over b for each compared pair, task × pair deviations from the fit, and the fitted leads."""
    import numpy as np

    tasks: dict[Hashable, int] = {}
    rows: list[tuple[int, tuple[int, int], float, float]] = []
    for given in preference.judgements:
        a, b = (min(given.first, given.second), max(given.first, given.second))
        points = preference.expected_points(given.first, given.second)
        expected = (points if given.first == a else 1 - points) - 0.5
        rows.append((tasks.setdefault(given.task, len(tasks)), (a, b), given.points_of(a) - 0.5, expected))
    pairs = sorted({pair for _, pair, _, _ in rows})
    place = {pair: number for number, pair in enumerate(pairs)}
    counts, leads, fitted = np.zeros((3, len(pairs)))
    deviations = np.zeros((len(tasks), len(pairs)))
    for task, pair, lead, expected in rows:
        counts[place[pair]] += 1
        leads[place[pair]] += lead
        fitted[place[pair]] += expected
        deviations[task, place[pair]] += lead - expected
    spread = float((preference.strengths**2).sum())
    error = float(np.trace(preference.covariance[: preference.n, : preference.n]))
    shrunk = np.sqrt(max(0.0, 1 - error / spread)) if spread else 0.0
    return dict(zip(pairs, (leads / counts).tolist(), strict=True)), deviations / counts, shrunk * fitted / counts
