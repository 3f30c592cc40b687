"""The board of the overview: which rows and columns it has, and who chooses them."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from frontend.tests.test_pages import page
from tests.support.factories import make_dataset
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db


def shown(client: Client, query: str = "") -> tuple[list[str], list[str]]:
    """Rows and columns of the board."""
    html = page(client, f"/{query}").partition('<table class="board">')[2].partition("</table>")[0]
    rows = re.findall(r'href="/datasets/([^/"]+)/"', html)
    return rows, re.findall(r'<th scope="col">(loop/[^<]+)</th>', html)


def seven_by_seven() -> None:
    for name in "abcdefg":
        dataset = make_dataset(2, slug=name)
        for model in "tuvwxyz":
            make_scored_run(dataset, model=f"loop/{model}")


def test_the_board_shows_a_part_and_the_address_chooses_others(client: Client) -> None:
    seven_by_seven()
    rows, columns = shown(client)
    assert (len(rows), len(columns)) == (6, 5)
    rows, columns = shown(client, "?benchmark=a&benchmark=g&model=loop/t&model=loop/z")
    assert (sorted(rows), sorted(columns)) == (["a", "g"], ["loop/t", "loop/z"])
    html = page(client, "/?benchmark=a&model=loop/z")
    assert re.search(r'name="benchmark" value="a"\s+data-submit-on-change checked', html)
    assert not re.search(r'name="benchmark" value="g"\s+data-submit-on-change checked', html)


@pytest.mark.parametrize("query", ["?model=nobody/here", "?benchmark=../x", "?model=%00&benchmark=%F0", "?model="])
def test_what_has_no_runs_leaves_the_board_as_it_is(client: Client, query: str) -> None:
    seven_by_seven()
    assert shown(client, query) == shown(client)


def test_a_choice_without_any_run_in_common_shows_the_whole_board(client: Client) -> None:
    make_scored_run(make_dataset(2, slug="a"), model="loop/one")
    make_scored_run(make_dataset(2, slug="b"), model="loop/two")
    assert shown(client, "?benchmark=a&model=loop/two") == shown(client)


def test_a_row_shows_what_most_models_share_though_one_has_a_newer_run_of_another_kind(client: Client) -> None:
    dataset = make_dataset(4)
    make_scored_run(dataset, (1.0, 1.0, 1.0, 0.0), model="loop/one")
    make_scored_run(dataset, (1.0, 0.0, 0.0, 0.0), model="loop/two")
    make_scored_run(dataset, (0.0, 0.0, 0.0, 0.0), model="loop/one", parameters={"prompt_template": "Shout: {input}"})
    make_scored_run(dataset, (1.0, 1.0, 0.0, 0.0), model="loop/three", parameters={"prompt_template": "Sing: {input}"})
    html = page(client, "/").partition('<table class="board">')[2].partition("</table>")[0]
    assert re.findall(r">(\d\.\d{3})<", html) == ["0.750", "0.500", "0.250"]


def test_two_scores_are_no_trend_and_what_is_missing_stands_in_lines_that_do_not_break(client: Client) -> None:
    dataset = make_dataset(4)
    for _ in range(2):
        make_scored_run(dataset, (1.0, 1.0, 0.0, None), model="loop/one")
    board = page(client, "/").partition('<table class="board">')[2].partition("</table>")[0]
    assert "<circle" not in board
    assert "n = <span>3 of 4 (75%)</span>" in " ".join(board.split())
    assert "<span>at least 0.500</span>" in board
    make_scored_run(dataset, (1.0, 1.0, 0.0, None), model="loop/one")
    assert "<circle" in page(client, "/").partition('<table class="board">')[2]
