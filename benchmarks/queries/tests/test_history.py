"""Scores over time: which runs belong together, where versions change, which changes the test finds; and a model's
place among the others."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks.models import Dataset, Run
from benchmarks.queries.history import histories, latest_changes, latest_runs
from benchmarks.queries.models import model_standings, model_totals
from tests.support.factories import make_dataset, make_task
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db
N = 30
GOOD, POOR = [1.0] * N, [0.0] * 20 + [1.0] * 10


def run(dataset: Dataset, values: list[float | None], model: str = "a/one", **fields: object) -> Run:
    return make_scored_run(dataset, values, model=model, summarized_at=timezone.now(), **fields)


def test_runs_of_a_model_asked_in_the_same_way_are_one_history() -> None:
    dataset = make_dataset(N)
    first, second = run(dataset, GOOD), run(dataset, POOR)
    run(dataset, GOOD, parameters={"system_prompt": "Think."})
    run(dataset, GOOD, limit=5)
    run(dataset, GOOD, model="a/alone")
    run(dataset, [None] * N)
    (history,) = histories(latest_runs(dataset=dataset))
    assert [point.run for point in history.points] == [first, second]
    assert [point.mean for point in history.points] == pytest.approx([1.0, 10 / N])
    assert {(point.numbers.n, point.numbers.n_expected) for point in history.points} == {(N, N)}
    assert (history.model, history.metric, history.setting) == ("a/one", "exact_match", "no system prompt")
    low, high = history.last.numbers.low, history.last.numbers.high
    assert low is not None
    assert high is not None
    assert low < 10 / N < high
    assert latest_runs(model="a/alone")[0].model == "a/alone"


def test_estimates_from_a_subset_are_a_history_of_their_own() -> None:
    dataset = make_dataset(N)
    runs = [run(dataset, GOOD, subset=subset) for subset in (None, 20, None, 20)]
    for part in (runs[1], runs[3]):
        Run.objects.filter(pk=part.pk).update(summary={**part.summary, "subset": {"n_all": N}})
    found = {history.setting: [point.run for point in history.points] for history in histories(latest_runs())}
    assert found == {"": [runs[0], runs[2]], "estimated from a subset": [runs[1], runs[3]]}


def test_a_new_version_is_marked_and_the_history_goes_on() -> None:
    dataset = make_dataset(N)
    run(dataset, GOOD)
    run(dataset, GOOD)
    changed = make_dataset([*(make_task(number) for number in range(1, N)), make_task(N, input="Other?")])
    run(changed, GOOD)
    run(changed, GOOD)
    (history,) = histories(latest_runs(dataset=dataset))
    assert [point.is_new_version for point in history.points] == [False, False, True, False]


def test_a_change_is_told_only_if_the_paired_test_finds_it() -> None:
    dataset = make_dataset(N)
    for model, before, after in (("a/falls", GOOD, POOR), ("a/stays", GOOD, [*GOOD[1:], 0.0]), ("a/rises", POOR, GOOD)):
        run(dataset, before, model)
        run(dataset, after, model)
    found = histories(latest_runs(dataset=dataset))
    changes = latest_changes(found)
    clear = {history.model: changes[history.last.run.pk].is_clear for history in found}
    assert clear == {"a/falls": True, "a/stays": False, "a/rises": True}
    assert changes[found[-1].last.run.pk].is_drop
    assert {change.family_size for change in changes.values()} == {3}


def test_the_more_histories_are_tested_the_more_a_change_must_differ() -> None:
    dataset = make_dataset(N)
    barely = [0.0] * 6 + GOOD[6:]  # six of six against: p = 0.031 alone
    run(dataset, GOOD)
    run(dataset, barely)
    assert [change.is_clear for change in latest_changes(histories(latest_runs(dataset=dataset))).values()] == [True]
    run(dataset, GOOD, "a/two")
    run(dataset, barely, "a/two")
    assert [change.is_clear for change in latest_changes(histories(latest_runs(dataset=dataset))).values()] == [
        False
    ] * 2


def test_a_model_stands_where_paired_tests_place_its_latest_run() -> None:
    dataset = make_dataset(N)
    run(dataset, POOR, "a/mine")  # an earlier run does not count
    mine = run(dataset, [*GOOD[:-2], 0.0, 0.0], "a/mine")
    run(dataset, GOOD, "a/best")
    run(dataset, POOR, "a/worst")
    run(dataset, GOOD, "a/otherwise", parameters={"system_prompt": "Think."})
    (standing,) = model_standings("a/mine")
    assert standing.run == mine
    assert standing.table.n_ranked == 3
    assert not standing.ahead, "two tasks are no significant difference"
    assert [place.run.model for place in standing.others] == ["a/best", "a/worst"]
    assert standing.mean_of_others == pytest.approx((1.0 + 10 / N) / 2)
    assert standing.setting == "no system prompt"
    [of_worst] = model_standings("a/worst")
    assert [place.run.model for place in of_worst.ahead] == ["a/best", "a/mine"]


def test_a_run_without_enough_scores_has_no_place_and_says_why() -> None:
    dataset = make_dataset(N)
    run(dataset, [None] * 10 + GOOD[10:], "a/mine")
    run(dataset, GOOD, "a/best")
    (standing,) = model_standings("a/mine")
    assert standing.place.rank is None
    assert "20 of 30" in standing.place.reason


def test_the_totals_of_a_model_keep_unknown_costs_apart() -> None:
    dataset = make_dataset(2)
    earlier = timezone.now() - timedelta(days=3)
    Run.objects.filter(pk=run(dataset, [1.0, 1.0], cost_usd=0.5).pk).update(created_at=earlier)
    run(dataset, [1.0, None], cost_usd=None)
    totals = model_totals("a/one")
    assert totals is not None
    assert (totals.runs, totals.datasets, totals.results) == (2, 1, 4)
    assert (totals.cost_usd, totals.n_unknown, totals.first) == (0.5, 1, earlier)
    assert model_totals("a/nobody") is None
