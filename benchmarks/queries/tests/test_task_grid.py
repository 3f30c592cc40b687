"""Tasks against runs: filters, order and pages of the grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from django.utils import timezone

from benchmarks.models import Outcome, Run, Task
from benchmarks.queries.task_grid import TaskGridFilters, TaskPage, open_task, shared_tasks, task_page
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
    assert [[cell.score for cell in row.cells] for row in page.rows][4:] == [[1.0, 0.5, 0.0], [None, 0.0, 0.0]]
    assert [row.right for row in page.rows] == [3, 1, 0, 2, 1, 0]
    assert [cell.result.answer for cell in page.rows[0].cells] == ["an answer"] * 3
    assert (page.count, page.total, page.all_right, page.all_wrong, page.disagree) == (6, 6, 1, 2, 3)


def test_a_text_and_a_group_narrow_the_tasks(runs: list[Run]) -> None:
    Task.objects.filter(name="Task 2").update(input="Was sagt die Möwe? 100%", group="birds")
    Task.objects.filter(name="Task 4").update(group="birds")
    assert shown(runs, text="task 3") == ["3"]
    assert shown(runs, text="SAGT DIE") == shown(runs, text="100%") == ["2"]
    assert shown(runs, group="birds") == ["2", "4"]
    assert shown(runs, "disagree", group="birds", text="task 4") == ["4"]
    assert shown(runs, text="%") == ["2"]
    assert shown([], text="anything", group="birds") == []
    runs[1].dataset_version = make_dataset(6, slug="other").current_version
    runs[1].save()
    assert shown(runs, text="task 3") == ["3"], "also where versions are merged"


def test_filters_show_where_the_runs_differ(runs: list[Run]) -> None:
    a, b, _ = (run.pk for run in runs)
    assert shown(runs, "disagree") == ["2", "4", "5"]
    assert shown(runs, "all_wrong") == ["3", "6"]
    assert shown(runs, "only", run=a) == ["2", "5"]
    assert shown(runs, "only", run=b) == []
    assert shown(runs, "worse", run=b, baseline=a) == ["2", "5"]
    assert shown(runs, "worse", run=a, baseline=b) == ["4"]
    assert shown(runs, "only_wrong", run=a) == ["4"]
    assert shown(runs, "only_wrong", run=b) == []
    assert shown(runs, "lost", run=b, baseline=a) == ["2", "5"]
    assert shown(runs, "lost", run=a, baseline=b) == ["4"], "not where a run has no score"
    assert shown(runs, "worse", run=10**12) == ["2", "5"], "by default, the first other run and the oldest as reference"


def test_doubtful_references_are_flagged_and_every_kind_is_counted(runs: list[Run]) -> None:
    Task.objects.filter(name="Task 2").update(is_doubtful=True)
    assert shown(runs, "flagged") == ["2"]
    counts = task_page(runs, "", TaskGridFilters(text="Task 1")).counts
    assert counts == {
        **{"": 6, "disagree": 3, "all_wrong": 2, "only": 0},
        **{"only_wrong": 0, "lost": 2, "worse": 2, "flagged": 1},
    }


def test_tasks_are_those_that_failed_in_one_way(runs: list[Run]) -> None:
    a, b, c = runs
    b.results.filter(position=2).update(outcome=Outcome.UNPARSABLE, failure="no answer line")
    c.results.filter(position__in=(2, 4)).update(outcome=Outcome.PROVIDER_ERROR, failure="", error_kind="timeout")
    assert shown(runs, outcome="unparsable") == shown(runs, reason="no answer line") == ["2"]
    assert shown(runs, outcome="provider_error", reason="timeout", run=c.pk) == ["2", "4"]
    assert shown(runs, reason="timeout", run=b.pk) == []
    again = make_scored_run(make_dataset(6, slug="again"), (0.0,) * 6, model="loop/again")
    again.results.filter(position=3).update(failure="swapped")
    assert shown([a, again], reason="swapped") == ["3"], "also where versions are merged"


def test_tasks_are_sorted_by_difficulty_and_disagreement(runs: list[Run]) -> None:
    assert shown(runs, sort="difficulty") == ["3", "6", "2", "5", "4", "1"]
    assert shown(runs, sort="disagreement")[:3] == ["2", "4", "5"]


def test_a_page_beyond_the_last_is_the_last(runs: list[Run]) -> None:
    page = task_page(runs, "", TaskGridFilters(), 99, size=4)
    assert (names(page), page.number, page.pages) == (["5", "6"], 2, 2)
    last = page.rows[-1].task.pk
    assert names(task_page(runs, "", TaskGridFilters(), size=4, containing=last)) == ["5", "6"]


def test_a_page_costs_three_queries_once_the_scores_are_cached(runs: list[Run], django_assert_num_queries: Any) -> None:
    task_page(runs, "", TaskGridFilters())
    with django_assert_num_queries(3):
        task_page(runs, "", TaskGridFilters("disagree"))


def test_without_runs_there_is_an_empty_page() -> None:
    page = task_page([], "", TaskGridFilters("only"))
    assert (page.rows, page.count, page.pages) == ([], 0, 1)


def test_tasks_of_identical_content_are_one_row_whatever_their_version(runs: list[Run]) -> None:
    again = make_dataset(4, slug="again")
    other = make_scored_run(again, (0.0, 1.0, 1.0, None), model="loop/other", summarized_at=timezone.now())
    page = task_page([runs[0], other], "", TaskGridFilters())
    assert names(page) == ["1", "2", "3", "4", "5", "6"]
    assert [[cell.score for cell in row.cells] for row in page.rows][:4] == [[1, 0], [1, 1], [0, 1], [0, None]]
    assert [row.cells[1].result is None for row in page.rows] == [False] * 4 + [True] * 2
    opened = open_task([runs[0], other], "", page.rows[1].task.pk)
    assert opened is not None
    assert [answer.result and answer.result.transcript.actual_output for answer in opened.answers] == ["an answer"] * 2
    assert shared_tasks(runs[0], other, "") == (1, 1, 1, 0)


def test_an_opened_task_has_the_score_of_the_chosen_metric(runs: list[Run]) -> None:
    pk = task_page(runs, "", TaskGridFilters()).rows[5].task.pk
    opened = open_task(runs, "exact_match", pk)
    assert opened is not None
    assert [answer.score and answer.score.value for answer in opened.answers] == [None, 0.0, 0.0]
    assert open_task(runs, "", 10**12) is None
    make_scored_run(make_dataset(1, slug="other"), (1.0,))
    foreign = Task.objects.get(version__dataset__slug="other")
    assert open_task(runs, "", foreign.pk) is None
