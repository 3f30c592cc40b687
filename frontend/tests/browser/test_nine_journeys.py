"""What people come to do most takes no more clicks and typed texts than the documents say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from frontend.tests.browser.journeys_walked import MOST, Walk, walked

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def walks(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Walk]:
    return {walk.title: walk for walk in walked(browser, MOST, tmp_path_factory.mktemp("journeys"))}


@pytest.mark.parametrize(("title", "most"), MOST.items())
def test_a_journey_takes_few_clicks_and_types_no_names(
    walks: dict[str, Walk], title: str, most: tuple[int, int]
) -> None:
    walk = walks[title]
    assert not walk.stopped
    assert (walk.clicks, walk.fields) == most
