"""Draw the pairs of answers between which people choose: of a preference run, or of runs.

A pair is a result of a preference run, which holds two answers in one order. Of every two runs, either is shown first
in half of the pairs.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from benchmarks.models import Run, RunKind
from benchmarks.services.access import Caller
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.preference_pairs import Pair, in_both_orders
from benchmarks.services.preferences import store_pairs


def draw_pairs(request: Mapping[str, Any], user: Caller = None) -> tuple[list[int], dict[str, Any]]:
    """Ids of at most ``size`` results in a random order, and the source of a review of them.

    Pairs of runs are stored as a new preference run, in the caller's transaction. Raises ``InvalidRequest``.
    """
    chance = random.Random(request["seed"])
    if request["preference"] is None:
        run = store_pairs(request, user)
    else:
        compared = Run.objects.filter(pk=request["preference"], kind=RunKind.PREFERENCE).first()
        if compared is None:
            raise InvalidRequest({"preference": [f"Preference run {request['preference']} does not exist."]})
        run = compared
    drawn, n_pairs = _drawn(run, request["size"], chance)
    described: Mapping[str, Any] = run.preference or {}
    return drawn, {
        "preference": run.pk,
        "runs": [each["run"] for each in described["candidates"]],
        "experiment": described["experiment"],
        "filters": {},
        "answers": n_pairs,
    }


def _drawn(run: Run, size: int, chance: random.Random) -> tuple[list[int], int]:
    """Ids of drawn results, one for each pair, and the number of pairs to draw from."""
    stored: dict[tuple[str, frozenset[int]], dict[tuple[int, int], int]] = defaultdict(dict)
    rows = run.results.filter(transcript__isnull=False).order_by("position")
    for pk, task, pair in rows.values_list("pk", "cluster", "task__known_answer"):
        order = (pair["first"], pair["second"]) if pair else (0, 0)
        stored[task, frozenset(order)][order] = pk
    chosen = chance.sample(list(stored), min(size, len(stored)))
    if not chosen:
        raise InvalidRequest({"preference": [f"Preference run {run.pk} has no prepared pairs yet. Try again later."]})
    drawn = []
    for pair in in_both_orders([_pair(task, runs) for task, runs in chosen], chance):
        by_order = stored[pair.task, frozenset(pair.runs)]
        drawn.append(by_order.get(pair.runs) or next(iter(by_order.values())))
    chance.shuffle(drawn)
    return drawn, len(stored)


def _pair(task: str, runs: frozenset[int]) -> Pair:
    a, b = sorted(runs)
    return Pair(task, (a, b), (a, b))
