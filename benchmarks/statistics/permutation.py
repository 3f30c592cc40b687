"""The paired permutation test: if two runs differ by chance alone, every difference could as well have the other sign.

The clusters' summed differences are flipped, each as a whole, since results that share a canvas are not exchangeable
one by one. For 0/1 scores without clusters this is McNemar's exact test. Sources: Fisher (1935), The Design of
Experiments, chapter 3; McNemar (1947), Psychometrika 12:153; Phipson & Smyth (2010), Stat. Appl. Genet. Mol. Biol.
9:39, for the plus one that keeps a p-value from random draws from being too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.statistics.distributions import fair_coin_tail

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ENUMERATED = 16
"""Up to this many differences all sign patterns are counted; 2^16 of them take milliseconds."""
DRAWS = 10_000
"""Random sign patterns where neither counting nor a grid is affordable: a p-value of 0.05 is then off by about 0.002.
"""
_GRIDS = (*range(1, 13), 15, 16, 20, 24, 60, 100)
"""The steps in which scores come: whole ones, repeats' means, tenths, percent. Sums on a grid have an exact answer."""
_MOST_GRID_WORK = 2_000_000
"""Cosines: about 30 ms, as long as the random patterns take for some hundred tasks."""
_CHUNK = 1_000
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class SignFlip:
    """The two-sided p-value of the sum of the differences, and how it was got."""

    p_value: float
    method: str


def sign_flip_test(differences: Sequence[float], *, seed: int = 0) -> SignFlip:
    """Test whether the sum of independent differences (one for each task or cluster) is zero but for chance.

    Zero differences carry no sign and drop out. The answer depends on the differences alone, not on their order.
    """
    import numpy as np

    sizes = np.sort(np.abs(np.asarray([value for value in differences if abs(value) > _TOLERANCE], dtype=float)))
    total = abs(float(sum(differences)))
    if not sizes.size:
        return SignFlip(1.0, "exact")
    if np.all(sizes == 1):
        return SignFlip(fair_coin_tail((sizes.size + round(total)) // 2, sizes.size), "exact")
    grid = _grid_of(sizes)
    if grid is not None:
        return SignFlip(_tail_on_grid(np.rint(sizes * grid).astype(np.int64), round(total * grid)), "exact")
    if sizes.size <= ENUMERATED:
        return SignFlip(_tail_by_counting(sizes, total), "exact")
    return SignFlip(_tail_by_drawing(sizes, total, seed), f"Monte Carlo, {DRAWS} draws")


def _grid_of(sizes: NDArray[np.float64]) -> int | None:
    """The coarsest grid on which all sizes lie and whose exact calculation is affordable."""
    import numpy as np

    for grid in _GRIDS:
        steps = sizes * grid
        whole = np.rint(steps)
        if np.all(np.abs(steps - whole) < _TOLERANCE * grid) and np.all(whole > 0):
            work = (2 * whole.sum() + 1) * np.unique(whole).size
            return grid if work <= _MOST_GRID_WORK else None
    return None


def _tail_on_grid(steps: NDArray[np.int64], total: int) -> float:
    """The exact tail from the characteristic function of the flipped sum, Π cos(θ·step), inverted by one FFT."""
    import numpy as np

    points = 2 * int(steps.sum()) + 1
    angles = 2 * np.pi * np.arange(points) / points
    transform = np.ones(points)
    for step, count in zip(*np.unique(steps, return_counts=True), strict=True):
        transform *= np.cos(angles * step) ** int(count)
    probabilities = np.fft.fft(transform).real / points
    within = probabilities[0] + 2 * probabilities[1:total].sum() if total else 0.0
    smallest = 2.0 ** (1 - steps.size)
    return float(min(1.0, max(1.0 - within, smallest)))


def _tail_by_counting(sizes: NDArray[np.float64], total: float) -> float:
    import numpy as np

    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums + size, sums - size])
    return float(np.mean(np.abs(sums) >= total - _TOLERANCE))


def _tail_by_drawing(sizes: NDArray[np.float64], total: float, seed: int) -> float:
    import numpy as np

    random = np.random.default_rng(seed)
    reached = 0
    for _ in range(0, DRAWS, _CHUNK):
        heads = np.unpackbits(np.frombuffer(random.bytes(_CHUNK * ((sizes.size + 7) // 8)), dtype=np.uint8))
        signs = heads.reshape(_CHUNK, -1)[:, : sizes.size].astype(float) * 2 - 1
        reached += int(np.count_nonzero(np.abs(signs @ sizes) >= total - _TOLERANCE))
    return (reached + 1) / (DRAWS + 1)
