"""Doing something with many at once, so that one that cannot be done costs only itself."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from benchmarks.engine.patience import DATABASE_AWAY

logger = logging.getLogger(__name__)
K = TypeVar("K")
V = TypeVar("V")


def all_or_each(
    act: Callable[[Sequence[K]], Sequence[V]], things: Sequence[K]
) -> tuple[list[V], list[tuple[K, Exception]]]:
    """What ``act`` makes of the things; where it raises, of each alone. Returns with it those that it cannot do.

    A database that is away is nobody's fault: that error passes through.
    """
    try:
        return list(act(things)), []
    except DATABASE_AWAY:
        raise
    except Exception as error:
        if len(things) == 1:
            logger.exception("one of many failed")
            return [], [(things[0], error)]
    made: list[V] = []
    failed: list[tuple[K, Exception]] = []
    for thing in things:
        made_of_it, failed_of_it = all_or_each(act, [thing])
        made += made_of_it
        failed += failed_of_it
    return made, failed
