"""Pages of results: complete, in order, whatever the filter and the direction."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks.models import Result, Run, Score
from benchmarks.queries import results as reads
from benchmarks.queries.keyset import BadCursor
from benchmarks.queries.results import NOT_CORRECT, ORDERS, ResultFilters, newest_results, result_neighbors, result_page
from tests.support.factories import make_dataset, make_run

pytestmark = pytest.mark.django_db

VALUES = (1.0, 0.0, None, 0.5, 1.0, 0.0, 1.0)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run of seven results with many ties, shown three to a page."""
    monkeypatch.setattr(reads, "PAGE_SIZE", 3)
    run = make_run(make_dataset(len(VALUES)), model="baseline/reference", metrics=["exact_match", "contains"])
    assert run.dataset.current_version is not None
    for task, value in zip(run.dataset.current_version.tasks.order_by("position"), VALUES, strict=True):
        result = Result.objects.create(
            run=run,
            task=task,
            position=task.position,
            value=value,
            outcome={1.0: "correct", 0.0: "wrong", 0.5: "partial", None: "provider_error"}[value],
            state="error" if value is None else "done",
            difficulty="easy" if task.position % 2 else "hard",
            duration_ms=100.0 if task.position < 4 else 50.0,
        )
        if value is not None:
            for metric in run.metrics:
                Score.objects.create(run=run, result=result, metric=metric, status="scored", value=value)
    Run.objects.filter(pk=run.pk).update(total=len(VALUES))
    run.refresh_from_db()
    return run


def walk(run: Run, filters: ResultFilters) -> list[int]:
    """Positions of all results, page after page."""
    found, after = [], None
    while True:
        page = result_page(run, filters, after)
        found += [result.position for result in page.rows]
        after = page.after
        if after is None:
            return found


def walk_back(run: Run, filters: ResultFilters) -> list[int]:
    """The same from the last page to the first."""
    page = result_page(run, filters)
    while page.after:
        page = result_page(run, filters, page.after)
    found = [result.position for result in page.rows]
    while page.before:
        page = result_page(run, filters, before=page.before)
        found = [result.position for result in page.rows] + found
    return found


@pytest.mark.parametrize("sort", ORDERS)
def test_all_pages_together_are_the_whole_order_both_ways(run: Run, sort: str) -> None:
    order = ORDERS[sort]
    rows = [row for row in Result.objects.filter(run=run) if getattr(row, order.field) is not None]
    rows.sort(key=lambda row: (getattr(row, order.field), row.pk), reverse=order.descending)
    expected = [row.position for row in rows]
    assert walk(run, ResultFilters(sort=sort)) == expected
    assert walk_back(run, ResultFilters(sort=sort)) == expected


@pytest.mark.parametrize(
    ("filters", "positions"),
    [
        (ResultFilters(outcome="correct"), [1, 5, 7]),
        (ResultFilters(outcome=NOT_CORRECT), [2, 3, 4, 6]),
        (ResultFilters(difficulty="hard"), [2, 4, 6]),
        (ResultFilters(low=0.5), [1, 4, 5, 7]),
        (ResultFilters(high=0.5), [2, 4, 6]),
        (ResultFilters(outcome="correct", difficulty="hard"), []),
        (ResultFilters(text="task-4"), [4]),
        (ResultFilters(text="nowhere"), []),
    ],
)
def test_a_filter_keeps_what_it_says(run: Run, filters: ResultFilters, positions: list[int]) -> None:
    assert walk(run, filters) == positions


@pytest.mark.parametrize("metric", ["", "exact_match", "contains"])
@pytest.mark.parametrize("few", [0, 100])
def test_a_score_filter_finds_the_same_in_either_way(
    run: Run, metric: str, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "FEW_MATCHES", few)
    assert walk(run, ResultFilters(metric=metric, low=0.4, high=0.9)) == [4]
    assert walk(run, ResultFilters(metric=metric, low=0.5)) == [1, 4, 5, 7]
    assert walk(run, ResultFilters(outcome=NOT_CORRECT, metric=metric, low=0.5)) == [4]


def test_the_newest_results_come_latest_first_and_without_those_not_finished(run: Run) -> None:
    now = timezone.now()
    for seconds, position in enumerate((2, 5, 1)):
        run.results.filter(position=position).update(finished_at=now + timedelta(seconds=seconds))
    run.results.filter(position=7).update(finished_at=now, outcome="")
    page = newest_results(run)
    assert [row.position for row in page.rows] == [1, 5, 2]
    assert page.scores[page.rows[0].pk]["contains"].value == 1.0


@pytest.mark.parametrize("sort", ["position", "-value"])
def test_the_neighbours_of_a_result_are_those_of_the_list(run: Run, sort: str) -> None:
    filters = ResultFilters(low=0.0, sort=sort)
    listed = walk(run, filters)
    by_position = {row.position: row for row in Result.objects.filter(run=run).select_related("run")}
    for place, position in enumerate(listed):
        before, after = result_neighbors(by_position[position], filters)
        assert before == (by_position[listed[place - 1]].pk if place else None)
        assert after == (by_position[listed[place + 1]].pk if place + 1 < len(listed) else None)


def test_a_text_search_goes_on_where_it_stopped(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reads, "SEARCH_WINDOW", 2)
    first = result_page(run, ResultFilters(text="task"))
    assert [row.position for row in first.rows] == [1]
    assert first.searched_to == 1
    assert walk(run, ResultFilters(text="task")) == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("cursor", ["", "~", "x~1", "1~x", "nan~1", "1e999~1", "1~99999999999999999999999"])
def test_a_cursor_nobody_handed_out_is_refused(run: Run, cursor: str) -> None:
    if cursor:
        with pytest.raises(BadCursor):
            result_page(run, ResultFilters(sort="value"), cursor)


def test_a_page_costs_two_queries(run: Run, django_assert_num_queries: pytest.FixtureRequest) -> None:
    with django_assert_num_queries(2):  # type: ignore[operator]
        page = result_page(run, ResultFilters())
        [(row.task.name, row.run.model, row.expected_preview) for row in page.rows]
