"""Pages of tasks: complete and in order, and a search that looks through a bounded part at a time."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchmarks.models import DatasetVersion, Task
from benchmarks.queries import datasets as reads
from benchmarks.queries.datasets import TaskFilters, task_page
from benchmarks.queries.keyset import BadCursor, KeysetPage
from tests.support.factories import make_dataset, make_task

pytestmark = pytest.mark.django_db

RARE = (3, 8, 19)


@pytest.fixture
def version(monkeypatch: pytest.MonkeyPatch) -> DatasetVersion:
    """Twenty tasks, of which three say "rare" and are hard; three to a page, five to a search."""
    monkeypatch.setattr(reads, "TASKS_ON_A_PAGE", 3)
    monkeypatch.setattr(reads, "TEXTS_SEARCHED", 5)
    tasks = [
        make_task(number, input="A Rare one", difficulty="hard") if number in RARE else make_task(number, input="Plain")
        for number in range(1, 21)
    ]
    found = make_dataset(tasks).current_version
    assert found is not None
    return found


def walk(version: DatasetVersion, filters: TaskFilters) -> tuple[list[int], list[KeysetPage[Task]]]:
    """The positions of everything found, page after page, and the pages."""
    pages = [task_page(version, filters)]
    while pages[-1].after:
        pages.append(task_page(version, filters, pages[-1].after))
    return [task.position for page in pages for task in page.rows], pages


def test_pages_hold_every_task_once_and_lead_back(version: DatasetVersion) -> None:
    found, pages = walk(version, TaskFilters())
    assert found == list(range(1, 21))
    before = task_page(version, TaskFilters(), before=pages[-1].before)
    assert [task.position for task in before.rows] == [task.position for task in pages[-2].rows]


def test_a_filter_passes_what_has_the_value_and_asks_nothing_for_a_value_that_none_has(version: DatasetVersion) -> None:
    assert walk(version, TaskFilters(difficulty="hard"))[0] == list(RARE)
    with CaptureQueriesContext(connection) as asked:
        assert task_page(version, TaskFilters(difficulty="easy")) == KeysetPage([], None)
        assert task_page(version, TaskFilters(group="nowhere")) == KeysetPage([], None)
    assert len(asked) == 0


def test_a_search_goes_on_where_it_stopped_and_says_how_far_it_came(version: DatasetVersion) -> None:
    found, pages = walk(version, TaskFilters(text="rare"))
    assert found == list(RARE)
    assert [page.searched_to for page in pages] == [4, 9, 14, 19, 20]


def test_a_page_of_matches_is_full_before_its_window_ends(version: DatasetVersion) -> None:
    page = task_page(version, TaskFilters(text="PLAIN"))
    assert [task.position for task in page.rows] == [1, 2, 4]
    assert page.searched_to == 4


def test_a_task_of_just_that_id_comes_first_wherever_it_stands(version: DatasetVersion) -> None:
    page = task_page(version, TaskFilters(text="task-19"))
    assert [task.task_id for task in page.rows] == ["task-19"]
    page = task_page(version, TaskFilters(text="task-2"))
    assert [task.task_id for task in page.rows] == ["task-2"]
    last = task_page(version, TaskFilters(text="task-2"), page.after)
    assert "task-2" not in [task.task_id for task in last.rows]


@pytest.mark.parametrize(("text", "cursor"), [("", "x"), ("rare", "x"), ("rare", "-1~0"), ("rare", "99999999999~0")])
def test_a_cursor_that_no_page_handed_out_is_refused(version: DatasetVersion, text: str, cursor: str) -> None:
    with pytest.raises(BadCursor):
        task_page(version, TaskFilters(text=text), cursor)
