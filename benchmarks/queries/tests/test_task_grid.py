"""Tasks against runs: filters, order and pages of the grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from django.utils import timezone

from benchmarks.models import Run
from benchmarks.queries.task_grid import TaskGridFilters, TaskPage, task_page
from tests.support.factories import make_dataset
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db

SCORES: dict[str, Sequence[float | None]] = {
    "a": (1.0, 1.0, 0.0, 0.0, 1.0, None),
    "b": (1.0, 0.0, 0.0, 1.0, 0.5, 0.0),
    "c": (1.0, 0.0, 0.0, 1.0, 0.0, 0.0),
}


@pytest.fixture
def runs() -> list[Run]:
    dataset = make_dataset(6)
    return [
        make_scored_run(dataset, values, model=f"loop/{name}", summarized_at=timezone.now())
        for name, values in SCORES.items()
    ]


def names(page: TaskPage) -> list[str]:
    return [row.task.name.removeprefix("Task ") for row in page.rows]


def shown(runs: list[Run], show: str = "", **filters: Any) -> list[str]:
    return names(task_page(runs, "", TaskGridFilters(show, **filters)))


def test_every_task_comes_with_the_score_and_answer_of_each_run(runs: list[Run]) -> None:
    page = task_page(runs, "", TaskGridFilters())
    assert names(page) == ["1", "2", "3", "4", "5", "6"]
    assert [row.scores for row in page.rows][4:] == [[1.0, 0.5, 0.0], [None, 0.0, 0.0]]
    assert [row.right for row in page.rows] == [3, 1, 0, 2, 1, 0]
    assert [result.answer for result in page.rows[0].results] == ["an answer"] * 3
    assert (page.count, page.total, page.all_right, page.all_wrong, page.disagree) == (6, 6, 1, 2, 3)


def test_filters_show_where_the_runs_differ(runs: list[Run]) -> None:
    a, b, _ = (run.pk for run in runs)
    assert shown(runs, "disagree") == ["2", "4", "5"]
    assert shown(runs, "all_wrong") == ["3", "6"]
    assert shown(runs, "only", run=a) == ["2", "5"]
    assert shown(runs, "only", run=b) == []
    assert shown(runs, "worse", run=b, baseline=a) == ["2", "5"]
    assert shown(runs, "worse", run=a, baseline=b) == ["4"]
    assert shown(runs, "only", run=10**12) == ["2", "5"], "an unknown run is the first one"


def test_tasks_are_sorted_by_difficulty_and_disagreement(runs: list[Run]) -> None:
    assert shown(runs, sort="difficulty") == ["3", "6", "2", "5", "4", "1"]
    assert shown(runs, sort="disagreement")[:3] == ["2", "4", "5"]


def test_a_page_beyond_the_last_is_the_last(runs: list[Run]) -> None:
    page = task_page(runs, "", TaskGridFilters(), 99, size=4)
    assert (names(page), page.number, page.pages) == (["5", "6"], 2, 2)


def test_a_page_costs_two_queries_once_the_scores_are_cached(runs: list[Run], django_assert_num_queries: Any) -> None:
    task_page(runs, "", TaskGridFilters())
    with django_assert_num_queries(2):
        task_page(runs, "", TaskGridFilters("disagree"))


def test_without_runs_there_is_an_empty_page() -> None:
    page = task_page([], "", TaskGridFilters("only"))
    assert (page.rows, page.count, page.pages) == ([], 0, 1)
