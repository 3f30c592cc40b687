"""What is said of equal means, of baselines and of scores that a judge gave, wherever models are ranked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from benchmarks.analysis.rankings import THRESHOLD, places
from benchmarks.metrics.deciding import deciding_name
from benchmarks.models import Dataset, Experiment, Run, RunStatus
from benchmarks.presentation.ranks import PHRASES
from benchmarks.providers.baseline import BASELINE_MODELS
from benchmarks.queries.experiments import experiment_runs, findings
from benchmarks.queries.judge_words import measured
from benchmarks.queries.leaderboard import completed_runs, scored_runs, standings
from benchmarks.queries.matrix import Matrix, matrix
from benchmarks.queries.matrix_export import matrix_file
from benchmarks.queries.overall_leaderboard import overall_leaderboard
from benchmarks.queries.ranked_tables import table_of
from tests.support.factories import make_dataset
from tests.support.labeled_runs import JUDGE
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    cache.clear()  # runs of another test had the same ids and times


@pytest.fixture
def tasks() -> Dataset:
    return make_dataset(23)


def right_of(n: int, right: int) -> list[float]:
    return [1.0] * right + [0.0] * (n - right)


def run(dataset: Dataset, model: str, values: Sequence[float | None], **fields: Any) -> Run:
    return make_scored_run(dataset, values, model=model, summarized_at=timezone.now(), **fields)


def experiment_of(dataset: Dataset, right: dict[str, int | list[float]], **fields: Any) -> Experiment:
    """One run for each model, which is right on so many tasks or has these scores."""
    experiment = Experiment.objects.create(name="Prompts", request={})
    version = dataset.current_version
    assert version is not None
    for model, given in right.items():
        values = right_of(version.task_count, given) if isinstance(given, int) else given
        run(dataset, model, values, experiment=experiment, **fields)
    return experiment


def matrix_of(experiment: Experiment) -> Matrix:
    return matrix(experiment_runs(experiment))


def verdict(dataset: Dataset, right: dict[str, int | list[float]], **fields: Any) -> str:
    return matrix_of(experiment_of(dataset, right, **fields)).verdict


def test_two_models_with_equal_means_tie(tasks: Dataset) -> None:
    other_tasks = [*right_of(8, 0), *right_of(15, 15)]
    experiment = experiment_of(tasks, {"openai/gpt-4o": 15, "openai/gpt-4.1-mini": other_tasks})
    grid = matrix_of(experiment)
    assert grid.verdict == "gpt-4o and gpt-4.1-mini tie at 0.652; 23 tasks can show gaps of 48 points or more."
    assert [(row.place.rank_low, row.place.rank_high) for row in grid.rows if row.place] == [(1, 2), (1, 2)]
    assert " ".join(findings([experiment])[experiment.pk]) == grid.verdict
    caption = matrix_file("tex", experiment=experiment.pk, runs=[])[0].decode()
    assert "tie at 0.652" in caption
    assert "scores highest" not in caption


def test_equal_means_in_spite_of_rounding_tie(tasks: Dataset) -> None:
    assert verdict(tasks, {"a/x": [0.1 + 0.2] * 23, "a/y": [0.3] * 23}).startswith("x and y tie at 0.300; ")


def test_all_models_with_equal_means_are_named_by_their_number(tasks: Dataset) -> None:
    assert verdict(tasks, dict.fromkeys(("a/x", "a/y", "a/z", "a/w"), 15)).startswith("All four models score 0.652; ")


def test_more_than_two_first_ones_tie_before_the_others(tasks: Dataset) -> None:
    found = verdict(tasks, {**dict.fromkeys(("a/x", "a/y", "a/z"), 22), "a/last": 1, "a/close": 21})
    assert found == (
        "x and 2 others tie at 0.957; 23 tasks can show gaps of 42 points or more. last is 91.3 points behind x "
        "(63.9 to 97.6). The difference between x and close is not significant."
    )


def test_too_few_tasks_show_no_gap() -> None:
    assert (
        verdict(make_dataset(3), {"a/x": 2, "a/y": 2}) == "x and y tie at 0.667; 3 tasks are too few to show any gap."
    )


def test_a_baseline_does_not_lead(tasks: Dataset) -> None:
    grid = matrix_of(experiment_of(tasks, {"baseline/solver": 23, "baseline/empty": 0, "a/good": 20, "a/bad": 2}))
    assert grid.verdict == "good leads. bad is 78.3 points behind (52.7 to 90.3)."
    assert [(row.model, row.place and row.place.rank_low) for row in grid.rows] == [
        ("a/good", 1), ("a/bad", 2), ("baseline/solver", None), ("baseline/empty", None)
    ]  # fmt: skip
    solver = grid.rows[2]
    assert solver.overall is not None
    assert (solver.overall[0], solver.reason) == (1.0, "A baseline has no rank.")
    assert not grid.is_partial


def test_a_model_under_a_baseline_is_said(tasks: Dataset) -> None:
    beside: dict[str, int | list[float]] = {"baseline/majority": 8, "baseline/random": 6, "baseline/solver": 23}
    assert verdict(tasks, {**beside, "openai/gpt-4o": 5}) == (
        "gpt-4o scores 0.217; always giving the most common answer scores 0.348."
    )


def test_a_model_behind_another_is_not_said_to_be_behind_the_baseline(tasks: Dataset) -> None:
    assert verdict(tasks, {"baseline/random": 23, "a/x": 20, "a/y": 2}) == (
        "x scores 0.870; guessing at random scores 1.000. y is 78.3 points behind x (52.7 to 90.3)."
    )


def test_a_tie_under_a_baseline_is_said(tasks: Dataset) -> None:
    assert verdict(tasks, {"baseline/random": 9, "a/x": 5, "a/y": 5}).startswith(
        "x and y tie at 0.217; guessing at random scores 0.391. 23 tasks can show"
    )


def test_models_under_a_baseline_that_the_leader_exceeds_are_said_last(tasks: Dataset) -> None:
    beside: dict[str, int | list[float]] = {"baseline/random": 9, "a/good": 22}
    assert verdict(tasks, {**beside, "a/x": 5}).endswith("x scores 0.217; guessing at random scores 0.391.")
    assert verdict(tasks, {**beside, "a/x": 5, "a/y": 4}).endswith(
        "x (0.217) and y (0.174) score less than guessing at random (0.391)."
    )


def test_where_only_baselines_have_run_nobody_wins(tasks: Dataset) -> None:
    assert verdict(tasks, {"baseline/random": 6, "baseline/majority": 8}) == (
        "Only baselines have run: always giving the most common answer scores 0.348 and guessing at random scores "
        "0.261."
    )


def test_baselines_alone_say_nothing_while_models_run(tasks: Dataset) -> None:
    experiment = experiment_of(tasks, {"baseline/random": 6})
    run(tasks, "a/x", right_of(23, 3), experiment=experiment, status=RunStatus.RUNNING)
    grid = matrix_of(experiment)
    assert (grid.verdict, grid.is_partial) == ("", True)


def test_every_baseline_has_a_phrase() -> None:
    assert PHRASES.keys() == BASELINE_MODELS.keys()


def test_a_judged_score_that_leads_names_metric_judge_and_calibration(tasks: Dataset) -> None:
    judged = {"metrics": ["correctness"], "judge_model": JUDGE}
    experiment = experiment_of(tasks, {"a/x": 22, "a/y": 2}, **judged)
    known = f"(Correctness, judged by {JUDGE}, not checked by people)"
    assert matrix_of(experiment).verdict.startswith(f"x leads {known}. y is ")
    assert " ".join(findings([experiment])[experiment.pk]).startswith(f"x leads {known}. y is ")
    assert verdict(tasks, {"a/x": 5, "a/y": 5}, **judged).startswith(f"x and y tie at 0.217 {known}; ")
    assert verdict(tasks, {"a/x": 23, "a/y": 22}, **judged).startswith(f"x scores highest before y {known}; ")
    assert verdict(tasks, {"a/x": 5, "baseline/random": 9}, **judged).startswith(f"x scores 0.217 {known}; guessing")
    assert verdict(tasks, {"a/x": 5}, **judged).endswith(f" {known}.")


def test_a_score_of_several_metrics_names_the_judge_of_those_that_are_judged(tasks: Dataset) -> None:
    own = run(tasks, "a/x", right_of(23, 5), metrics=["exact_match", "correctness"], judge_model=JUDGE)
    name = deciding_name(["exact_match", "correctness"])
    assert measured([(own, name)]) == f"Correctness, judged by {JUDGE}, not checked by people"
    assert measured([(own, "exact_match")]) == ""


def test_equal_means_share_a_rank_and_baselines_have_none(tasks: Dataset) -> None:
    for model, right in {"a/x": 20, "a/y": 20, "a/z": 9, "baseline/solver": 23, "baseline/empty": 0}.items():
        run(tasks, model, right_of(23, right))
    run(tasks, "a/poor", [*right_of(10, 10), *[None] * 13])
    candidates = list(completed_runs())
    for order in ({}, {"rank": THRESHOLD}, {"choose": "best"}):
        found = places(candidates, "exact_match", **order)
        assert [(place.run.model, place.rank) for place in found] == [
            ("a/y", 1), ("a/x", 1), ("a/z", 3), ("a/poor", None), ("baseline/solver", None), ("baseline/empty", None)
        ]  # fmt: skip
        assert found[-1].reason == "A baseline has no rank."
    [standing] = standings(scored_runs(50))
    assert [place.rank for place in standing.places] == [1, 1, 3, None, None, None]


def test_a_run_stands_among_models_only(tasks: Dataset) -> None:
    solver, own = run(tasks, "baseline/solver", right_of(23, 23)), run(tasks, "a/x", right_of(23, 9))
    assert [(place.run.model, place.rank) for place in table_of(own).places] == [
        ("a/x", 1), ("baseline/solver", None)
    ]  # fmt: skip
    assert table_of(solver).places[-1].rank is None


def test_over_several_datasets_baselines_neither_rank_nor_count() -> None:
    first, second = make_dataset(20, slug="first"), make_dataset(20, slug="second")
    for dataset in (first, second):
        for model, right in {"a/x": 15, "a/y": 15, "a/z": 3, "baseline/solver": 20}.items():
            run(dataset, model, right_of(20, right))
    alone = make_dataset(20, slug="alone")
    for model in ("a/x", "baseline/solver"):
        run(alone, model, right_of(20, 10))
    board = overall_leaderboard()
    assert [(row.model, row.rank, row.mean_rank and row.mean_rank.mean) for row in board.rows] == [
        ("a/x", 1, 1.5), ("a/y", 1, 1.5), ("a/z", 3, 3.0), ("baseline/solver", None, None)
    ]  # fmt: skip
    assert board.rows[-1].reason == "A baseline has no rank."
    assert [dataset.slug for dataset in board.offered] == ["first", "second"], "one model is no ranking"


def test_the_api_ranks_no_baseline(tasks: Dataset, client: Client) -> None:
    for model, right in {"a/x": 15, "a/y": 15, "baseline/solver": 23}.items():
        run(tasks, model, right_of(23, right))
    listed = client.get("/api/v1/benchmarks/leaderboard").json()["results"]
    assert [(row["model"], row["rank"]) for row in listed] == [("a/x", 1), ("a/y", 1), ("baseline/solver", None)]


@pytest.mark.parametrize(("status", "is_partial"), [(RunStatus.RUNNING, True), (RunStatus.CANCELLED, False)])
def test_a_verdict_is_partial_only_while_a_run_without_a_rank_goes_on(
    tasks: Dataset, status: RunStatus, is_partial: bool
) -> None:
    experiment = experiment_of(tasks, {"a/x": 5, "a/y": 5})
    run(tasks, "a/z", [0.0] * 9 + [None] * 14, experiment=experiment, status=status)
    grid = matrix_of(experiment)
    assert grid.verdict.startswith("x and y tie at 0.217")
    assert grid.rows[2].place is None
    assert grid.is_partial == is_partial
