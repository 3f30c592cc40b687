"""Random draws built on `rng.random()` alone.

It is the one method whose sequence Python promises to keep between versions, so a canvas stays the same everywhere.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def pick(rng: random.Random, items: Sequence[T]) -> T:
    """Return one of `items`, each as likely as the other. `items` may not be empty."""
    return items[int(rng.random() * len(items))]


def draw(rng: random.Random, items: Sequence[T], k: int) -> list[T]:
    """Return `k` of `items` in random order, none twice (a Fisher-Yates shuffle stopped after `k` steps).

    Raises `ValueError` if there are fewer than `k`.
    """
    pool = list(items)
    n = len(pool)
    if k > n:
        raise ValueError(f"cannot draw {k} of {n} items")
    for i in range(k):
        j = i + int(rng.random() * (n - i))
        pool[i], pool[j] = pool[j], pool[i]
    return pool[:k]


def shuffled(rng: random.Random, items: Sequence[T]) -> list[T]:
    """Return all of `items` in random order."""
    return draw(rng, items, len(items))
