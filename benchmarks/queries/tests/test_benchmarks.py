"""Benchmarks: what they show of their recent scores, and what may keep them from telling models apart."""

from __future__ import annotations

import pytest

from benchmarks.models import Dataset
from benchmarks.presentation.cells import cell_text
from benchmarks.queries.benchmarks import Benchmark, benchmarks_of
from benchmarks.queries.datasets import recently_run_datasets
from benchmarks.queries.tables.benchmarks import BENCHMARKS
from tests.support.factories import make_dataset
from tests.support.page_factories import make_canvas_set, make_scored_run

pytestmark = pytest.mark.django_db


def benchmark(dataset: Dataset) -> Benchmark:
    (row,) = [row for row in benchmarks_of(list(recently_run_datasets())) if row.dataset == dataset]
    return row


def test_those_run_last_come_first_and_those_without_a_run_at_last() -> None:
    first, second = make_dataset(1, slug="b"), make_dataset(1, slug="c")
    make_dataset(1, slug="a")
    for dataset in (second, first):
        make_scored_run(dataset, (1.0,))
    assert [dataset.slug for dataset in recently_run_datasets()] == ["b", "c", "a"]
    assert [dataset.slug for dataset in recently_run_datasets("C")] == ["c"]


def test_a_benchmark_has_the_means_of_all_models_and_baselines_are_none_of_them() -> None:
    dataset = make_dataset(4)
    for model, right in (("a/x", 3), ("a/y", 1), ("baseline/reference", 4)):
        make_scored_run(dataset, [1.0] * right + [0.0] * (4 - right), model=model)
    row = benchmark(dataset)
    assert row.means == [0.75, 0.25]
    assert [run.model for run in row.leaders] == ["a/x"]


def test_few_tasks_are_marked_with_the_gap_that_they_can_show() -> None:
    assert benchmark(make_dataset(3, slug="a")).few_tasks == "Can show no gap between two models"
    assert benchmark(make_dataset(40, slug="b")).few_tasks == "Can show only gaps of 25 points or more"
    assert benchmark(make_dataset(120, slug="c")).few_tasks == ""


def test_scores_near_1_are_saturated() -> None:
    dataset = make_dataset(120)
    make_scored_run(dataset, [1.0] * 120, model="a/x")
    assert benchmark(dataset).is_saturated


def test_missing_scores_neither_saturate_a_benchmark_nor_hide_that_a_baseline_scores_more() -> None:
    dataset = make_dataset(200)
    make_scored_run(dataset, [1.0] * 192 + [None] * 8, model="a/x")
    make_scored_run(dataset, [1.0] * 196 + [0.0] * 4, model="baseline/random")
    assert not benchmark(dataset).is_saturated
    assert benchmark(dataset).under == "Guessing at random scores 0.980"


def test_scores_of_an_older_version_are_marked() -> None:
    dataset = make_dataset(120)
    make_scored_run(dataset, [0.5] * 120, model="a/x")
    assert benchmark(dataset).newer == ""
    assert benchmark(make_dataset(121)).newer == "Version 2 has no full run"


def test_guessing_is_known_where_every_task_class_has_a_guess_rate() -> None:
    canvases = make_canvas_set([3] * 4).dataset
    make_scored_run(canvases, [1.0] * 100, metrics=["task_score"], model="a/x")
    guess = benchmark(canvases).guess
    assert guess is not None
    assert 0 < guess < 1
    assert benchmark(make_dataset(2)).guess is None


def test_the_table_says_in_words_what_the_page_draws() -> None:
    dataset = make_dataset(2, slug="sums")
    make_scored_run(dataset, (1.0, 0.0), model="a/x")
    text = BENCHMARKS.text([benchmark(dataset)])
    assert "Exact match" in text
    assert "a/x" in text
    assert cell_text(BENCHMARKS.columns[3].cell(benchmark(dataset))).startswith("0.500")


def test_scores_by_another_metric_than_that_of_new_runs_say_so() -> None:
    dataset = make_dataset(4, metrics=("contains",))
    make_scored_run(dataset, [1.0] * 4, metrics=["exact_match"])
    assert benchmark(dataset).otherwise == "New runs: Contains"
    make_scored_run(dataset, [1.0] * 4, metrics=["contains"], model="a/x")
    make_scored_run(dataset, [1.0] * 4, metrics=["contains"], model="a/y")
    assert benchmark(dataset).otherwise == ""
