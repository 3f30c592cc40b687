"""Sameness within a margin, being no worse, being worse; and what missing scores may do to it."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.statistics.margins import Verdict, edges
from benchmarks.statistics.planning import PairedDesign, tasks_for_same


def runs(n, better=0, worse=0, missing=0):
    """Run A right everywhere but on ``better`` tasks; B wrong on ``worse`` others, and unscored on the last ones."""
    a = {task: 0.0 if task < better else 1.0 for task in range(n)}
    b = {task: 0.0 if better <= task < better + worse else 1.0 for task in range(n)}
    return a, {task: None if task >= n - missing else score for task, score in b.items()}


@pytest.mark.parametrize(
    ("n", "better", "worse", "same", "verdict"),
    [
        (400, 0, 0, True, Verdict.PASS),
        (100, 0, 0, False, Verdict.UNDECIDED),
        (400, 2, 2, True, Verdict.PASS),
        (400, 20, 20, False, Verdict.UNDECIDED),
        (400, 40, 0, False, Verdict.PASS),
        (400, 0, 40, False, Verdict.WORSE),
    ],
)
def test_a_verdict_follows_from_the_bounds(n, better, worse, same, verdict):
    found = edges(*runs(n, better, worse))
    assert (found.is_same(0.02), found.verdict(0.02)) == (same, verdict)


def test_runs_without_common_tasks_decide_nothing():
    found = edges({1: 1.0}, {2: 1.0})
    assert (found.is_same(1.0), found.verdict(0.02), found.more_tasks(0.02)) == (False, Verdict.UNDECIDED, None)


def test_runs_without_any_score_decide_nothing():
    found = edges({1: 1.0, 2: None}, {1: None, 2: 0.0})
    assert (found.is_same(0.99), found.verdict(0.02)) == (False, Verdict.UNDECIDED)


@pytest.mark.parametrize("missing", [1, 5, 20, 60, 400])
def test_a_missing_verdict_is_counted_against_the_run_that_would_gain_by_it(missing):
    found = edges(*runs(400, missing=missing))
    assert found.is_same(0.02) is (missing == 1)
    assert found.is_not_worse(0.02) is (missing == 1)
    assert not found.is_worse(0.02)


def test_missing_scores_that_prevent_a_verdict_are_named():
    assert edges(*runs(400, missing=20)).verdict(0.02) is Verdict.MISSING
    assert edges(*runs(400, worse=30, missing=60)).verdict(0.06) is Verdict.MISSING


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("repeats", [1, 4])
@pytest.mark.parametrize("graded", [False, True])
def test_no_attack_on_verdicts_passes_a_gate_that_it_would_fail(graded, repeats, clustered):
    """Of B's answers, any part loses its score, whole tasks or single repeats: no bound moves in B's favor."""
    random = np.random.default_rng([graded, repeats, clustered])
    for _ in range(200):
        n = int(random.integers(20, 150))
        shape = (2, n, repeats)
        scores = random.beta(4, 1, shape) if graded else random.binomial(1, 0.85, shape).astype(float)
        a = dict(enumerate(scores[0].mean(axis=1).tolist()))
        b = dict(enumerate(scores[1].mean(axis=1).tolist()))
        clusters = {task: task // 5 for task in a} if clustered else None
        hidden = (random.random((n, repeats)) < random.uniform(0, 0.5)) & (scores[1] < random.uniform(0.2, 1.01))
        kept = {task: scores[1][task][~hidden[task]] for task in b}
        attacked = {task: float(left.mean()) if left.size else None for task, left in kept.items()}
        unscored = {task: hidden[task].mean() for task, left in kept.items() if 0 < left.size < repeats}
        honest = edges(a, b, clusters)
        found = edges(a, attacked, clusters, unscored=({}, unscored))
        for margin in (0.01, 0.03, 0.1, 0.3):
            assert not (found.is_not_worse(margin) and not honest.is_not_worse(margin))
            assert not (found.is_same(margin) and not honest.is_same(margin))
            assert not (honest.is_worse(margin) and found.verdict(margin) is Verdict.PASS)


def test_more_tasks_are_those_that_decide_if_the_difference_stays():
    few = edges(*runs(200, 4, 4))
    more = few.more_tasks(0.02)
    assert more is not None
    factor = (200 + more) / 200
    decided = edges(*runs(round(200 * factor * 1.1), round(4 * factor * 1.1), round(4 * factor * 1.1)))
    assert decided.verdict(0.02) is Verdict.PASS
    assert edges(*runs(200, 0, 4)).more_tasks(0.02) is None, "a difference at the margin needs no end of tasks"


def test_the_planned_number_of_tasks_has_its_power():
    design = PairedDesign(discordance=0.2)
    size = tasks_for_same(0.05, design)
    random = np.random.default_rng(7)
    draws = random.choice([-1.0, 0.0, 1.0], p=[0.1, 0.8, 0.1], size=(400, size.tasks))
    zero = dict.fromkeys(range(size.tasks), 0.5)
    found = [
        edges(zero, {task: 0.5 + value / 2 for task, value in enumerate(row)}).is_same(0.025) for row in draws.tolist()
    ]
    assert 0.72 <= np.mean(found) <= 0.88
