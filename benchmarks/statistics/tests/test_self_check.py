"""A gate on a system against itself: the formulas against simulated runs, and what cannot be checked."""

from __future__ import annotations

import random

import pytest

from benchmarks.statistics.margins import Verdict
from benchmarks.statistics.self_check import outlook, self_check


def scores(n: int, repeats: int, noisy: float, seed: int = 1) -> list[list[float]]:
    """Tasks of which a share is right half of the time; the others always."""
    draw = random.Random(seed)
    return [[float(draw.random() < 0.5) if task < noisy * n else 1.0 for _ in range(repeats)] for task in range(n)]


def test_the_flip_rate_is_the_share_of_tasks_that_two_repeats_score_differently() -> None:
    check = self_check([[1, 1, 1], [1, 0, 1], [0, 0, 0], [0, 1, 1]], 0.02)

    assert check.flip_rate == pytest.approx((0 + 2 + 0 + 2) / (4 * 3))
    assert (check.flipping_tasks, check.n_tasks, check.repeats) == (2, 4, 3)
    assert sum(check.verdicts.values()) == 3 * 2


def test_a_system_that_never_changes_always_passes_however_few_repeats() -> None:
    check = self_check([[1.0, 1.0]] * 150 + [[0.0, 0.0]] * 50, 0.05)

    assert (check.flip_rate, check.verdicts) == (0.0, {Verdict.PASS: 2})
    assert {each.passes for each in check.outlooks} == {1.0}


def test_the_chances_are_those_of_simulated_runs() -> None:
    n, noisy, margin, rounds = 200, 0.4, 0.05, 400
    within = 0.25 * noisy
    for repeats in (1, 3):
        verdicts = dict.fromkeys(Verdict, 0)
        for seed in range(rounds):
            rows = scores(n, 2 * repeats, noisy, seed)
            halves = [[sum(row[:repeats]) / repeats, sum(row[repeats:]) / repeats] for row in rows]
            earlier = self_check(halves, margin).verdicts
            verdicts = {verdict: verdicts[verdict] + earlier.get(verdict, 0) for verdict in verdicts}
        expected = outlook(within, n, repeats, margin)
        assert verdicts[Verdict.PASS] / (2 * rounds) == pytest.approx(expected.passes, abs=0.1)
        assert verdicts[Verdict.WORSE] / (2 * rounds) <= expected.called_worse + 0.02


def test_a_night_of_a_series_is_called_worse_more_rarely() -> None:
    single, nightly = (outlook(0.1, 100, 1, 0.02, level) for level in (0.05, 0.0005))

    assert nightly.called_worse < single.called_worse / 10
    assert nightly.passes == single.passes


@pytest.mark.parametrize("rows", [[], [[1.0]], [[1.0, 0.0], [1.0]]])
def test_what_has_no_repeats_cannot_be_checked(rows: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="at least two"):
        self_check(rows, 0.02)
