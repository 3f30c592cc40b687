"""The paired permutation test: if two runs differ by chance alone, each difference is as likely to have the other sign.

The clusters' summed differences are flipped as a whole, because results that share a canvas are not exchangeable one by
one. For 0/1 scores without clusters this is McNemar's exact test. Sources: Fisher (1935), The Design of
Experiments, chapter 3; McNemar (1947), Psychometrika 12:153; Phipson & Smyth (2010), Stat. Appl. Genet. Mol. Biol.
9:39, for the plus one that keeps a p-value from random draws from being too small; Hoeffding (1963), JASA 58:13.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ENUMERATED = 16
"""Up to this many differences all sign patterns are enumerated; 2^16 of them take milliseconds."""
DRAWS = 10_000
"""Random sign patterns if neither enumeration nor a grid is affordable: a p-value of 0.05 then varies by 0.002."""
_GRIDS = (*range(1, 13), 15, 16, 20, 24, 60, 100)
"""Steps per unit in which scores come: whole ones, means of repeats, tenths, percent. Sums on a grid are exact."""
_MAX_GRID_WORK = 300_000
"""Cosines: about 30 ms, as long as the random patterns take."""
_MOST_FLIPPED = 200
"""The largest differences, whose signs are drawn. The sum of the others is as good as normal, with lighter tails."""
_CHUNK = 1_000
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class SignFlip:
    """The two-sided p-value of the sum of the differences, and how it was computed."""

    p_value: float
    method: str


def sign_flip_test(differences: Sequence[float], *, seed: int = 0, enough: float = 0.0) -> SignFlip:
    """Test whether the sum of independent differences (one for each task or cluster) differs from zero only by chance.

    Zero differences carry no sign and are dropped. The result does not depend on the order of the differences. An upper
    bound of the p-value that is at most ``enough`` is not made more exact, which spares the draws.
    """
    import numpy as np
    from scipy.special import bdtr

    sizes = np.sort(np.abs(np.asarray([value for value in differences if abs(value) > _TOLERANCE], dtype=float)))
    total = abs(float(sum(differences)))
    if not sizes.size:
        return SignFlip(1.0, "exact")
    if np.all(sizes == 1):
        # All differences are ±1, so the rarer sign follows a fair coin: McNemar's exact test.
        rarer = (sizes.size - round(total)) // 2
        return SignFlip(min(1.0, 2 * float(bdtr(rarer, sizes.size, 0.5))), "exact")
    if (bound := _tail_bound(sizes, total)) <= enough:
        return SignFlip(bound, "Hoeffding's bound")
    grid = _grid_of(sizes)
    if grid is not None:
        return SignFlip(_tail_on_grid(np.rint(sizes * grid).astype(np.int64), round(total * grid)), "exact")
    if sizes.size <= ENUMERATED:
        return SignFlip(_tail_by_enumeration(sizes, total), "exact")
    return SignFlip(_tail_by_simulation(sizes, total, seed), f"Monte Carlo, {DRAWS} draws")


def _grid_of(sizes: NDArray[np.float64]) -> int | None:
    """The coarsest grid on which all sizes lie and whose exact calculation is affordable."""
    import numpy as np

    for grid in _GRIDS:
        steps = sizes * grid
        whole = np.rint(steps)
        if np.all(np.abs(steps - whole) < _TOLERANCE * grid) and np.all(whole > 0):
            work = (2 * whole.sum() + 1) * np.unique(whole).size
            return grid if work <= _MAX_GRID_WORK else None
    return None


def _tail_on_grid(steps: NDArray[np.int64], total: int) -> float:
    """The exact tail from the characteristic function of the flipped sum, Π cos(θ·step), inverted by one FFT.

    ``steps`` are the sizes and ``total`` their observed sum, both in grid steps.
    """
    import numpy as np

    points = 2 * int(steps.sum()) + 1
    angles = 2 * np.pi * np.arange(points) / points
    transform = np.ones(points)
    for step, count in zip(*np.unique(steps, return_counts=True), strict=True):
        transform *= np.cos(angles * step) ** int(count)
    probabilities = np.fft.fft(transform).real / points
    within = probabilities[0] + 2 * probabilities[1:total].sum() if total else 0.0
    # The FFT leaves errors of about 1e-16; no p-value is smaller than that of the two most extreme patterns.
    smallest = 2.0 ** (1 - steps.size)
    return float(min(1.0, max(1.0 - within, smallest)))


def _tail_by_enumeration(sizes: NDArray[np.float64], total: float) -> float:
    import numpy as np

    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums + size, sums - size])
    return float(np.mean(np.abs(sums) >= total - _TOLERANCE))


def _tail_by_simulation(sizes: NDArray[np.float64], total: float, seed: int) -> float:
    """The tail from random signs of the largest differences. ``sizes`` are in ascending order."""
    import numpy as np
    from scipy.special import ndtr

    random = np.random.default_rng(seed)
    largest, others = sizes[-_MOST_FLIPPED:], sizes[:-_MOST_FLIPPED]
    deviation = float(np.sqrt(others @ others))
    reached = 0.0
    for _ in range(0, DRAWS, _CHUNK):
        heads = np.unpackbits(np.frombuffer(random.bytes(_CHUNK * ((largest.size + 7) // 8)), dtype=np.uint8))
        signs = heads.reshape(_CHUNK, -1)[:, : largest.size].astype(float) * 2 - 1
        sums = signs @ largest
        if deviation:
            reached += float(np.sum(ndtr((sums - total) / deviation) + ndtr((-sums - total) / deviation)))
        else:
            reached += float(np.count_nonzero(np.abs(sums) >= total - _TOLERANCE))
    # The bound of the same tail holds where the draws can say no more than that it is small.
    return min((reached + 1) / (DRAWS + 1), _tail_bound(sizes, total))


def _tail_bound(sizes: NDArray[np.float64], total: float) -> float:
    """Hoeffding's upper bound of the two-sided tail."""
    return max(2 * math.exp(-(total**2) / (2 * float(sizes @ sizes))), sys.float_info.min)
