"""What is computed from the scores of runs, kept in the cache until a run gets new numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TypeVar

from django.core.cache import cache

from benchmarks.models import TERMINAL, Run

CACHE_SECONDS = 24 * 3600

Computed = TypeVar("Computed")


def has_ended(run: Run) -> bool:
    """Whether a run has its final numbers, which change only with the time of its summary."""
    return run.status in TERMINAL and run.summarized_at is not None


def kept_for(name: str, runs: Sequence[Run], compute: Callable[[], Computed]) -> Computed:
    """What is computed from the scores of runs; once all have ended, from the cache until one gets new numbers."""
    if not all(map(has_ended, runs)):
        return compute()
    kept: Computed | None = cache.get(key := _key(name, runs))
    if kept is None:
        kept = compute()
        cache.set(key, kept, CACHE_SECONDS)
    return kept


def is_kept(name: str, runs: Sequence[Run]) -> bool:
    """Whether ``kept_for`` has it, and computes nothing."""
    return all(map(has_ended, runs)) and _key(name, runs) in cache


def _key(name: str, runs: Sequence[Run]) -> str:
    # The time of the summary is part of the key: a run whose errors are retried gets a new one.
    stamps = ":".join(f"{run.pk}-{run.summarized_at.timestamp()}" for run in runs if run.summarized_at)
    return f"{name}:{hashlib.sha256(stamps.encode()).hexdigest()}"
