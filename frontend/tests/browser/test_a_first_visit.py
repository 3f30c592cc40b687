"""The first visit. The name of this file makes it run before any test that seeds the same installation."""

from __future__ import annotations

import re

import pytest

from frontend.tests.browser.conftest import NewTab
from frontend.tests.browser.site import Site

pytestmark = pytest.mark.slow


def test_a_first_visitor_starts_the_starter_experiment_and_opens_a_result(new_tab: NewTab, installation: Site) -> None:
    assert not installation.runs, "run this test first: the installation is no longer empty"
    page = new_tab(installation).open("/")
    assert page.locator("main button.primary").all_inner_texts() == ["Start starter experiment"]
    page.click("main button.primary")
    page.wait_for_url(re.compile(r"/experiments/\d+/$"))
    page.locator(".page-head .is-completed").first.wait_for(timeout=60_000)
    page.locator("#board a[href^='/runs/']").first.click()
    page.wait_for_url(re.compile(r"/runs/\d+/$"))
    page.locator("#status .is-completed").wait_for(timeout=60_000)
    page.locator("#report table a").first.click()
    page.locator("h2", has_text="Expected and answered").wait_for()
    assert page.locator(".text").first.inner_text().strip()
