"""A site that is closed to strangers, as in production: logging in, being refused, a shared report, a failure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from frontend.tests.browser.site import ADMIN, PASSWORD, READER, Site, closed_site
from frontend.tests.browser.visiting import Visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

OLD_KEY = """
import time
now = time.time
time.time = lambda: now() - 8 * 86_400
from django.core import signing
print(signing.dumps({{"run": {run}}}, salt="shared run"))
"""
BREAK = "from django.db import connection; connection.cursor().execute('ALTER TABLE benchmarks_run RENAME TO gone')"


@pytest.fixture(scope="module")
def closed(browser: Browser) -> Iterator[Site]:
    """Asks for the browser first: where there is none, nothing is started."""
    with closed_site() as site:
        yield site


def log_in(page: Page, name: str, password: str = PASSWORD) -> None:
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def test_a_stranger_logs_in_and_comes_to_the_page_that_was_asked_for(
    open_tab: Callable[..., Visit], closed: Site
) -> None:
    tab = open_tab(closed)
    page = tab.open("/runs/")
    assert page.locator("h1").inner_text() == "Log in"
    assert tab.faults() == []
    assert tab.overflow() == []
    log_in(page, ADMIN, "not the password")
    assert "correct" in page.get_by_role("alert").inner_text()
    assert page.get_by_label("User name").input_value() == ADMIN
    log_in(page, ADMIN)
    page.wait_for_url(re.compile("/runs/$"))
    assert page.locator("h1").inner_text() == "Runs"
    assert ADMIN in page.locator("footer").inner_text()


def test_who_may_only_read_is_told_what_is_missing(open_tab: Callable[..., Visit], closed: Site) -> None:
    tab = open_tab(closed)
    log_in(tab.open("/"), READER)
    page = tab.page
    page.wait_for_url(closed.url("/"))
    assert page.get_by_role("link", name="New run").count() == 0
    page = tab.open("/runs/new/", status=403)
    assert page.locator("h1").inner_text() == "Not permitted"
    assert "launch runs" in page.locator("main").inner_text()
    assert tab.faults() == []
    tab.problems.clear()  # Chromium itself notes a 403 on the console


def test_a_form_that_was_left_open_too_long_is_refused_in_a_page_of_the_site(
    open_tab: Callable[..., Visit], closed: Site
) -> None:
    tab = open_tab(closed)
    page = tab.open("/login/")
    page.context.clear_cookies()
    log_in(page, ADMIN)
    assert page.locator("h1").inner_text() == "Not sent"
    assert tab.faults() == []
    tab.problems.clear()  # as above


def test_a_shared_report_is_read_by_a_stranger_until_its_link_ends(
    open_tab: Callable[..., Visit], closed: Site
) -> None:
    tab = open_tab(closed)
    log_in(tab.open(f"/runs/{closed.runs['random']}/"), ADMIN)
    page = tab.page
    page.get_by_role("button", name="Make a link to the report").click()
    told = page.get_by_text("Whoever has this link").inner_text()
    found = re.search(r"(/shared/\S+/)", told)
    assert found is not None
    stranger = open_tab(closed)
    report = stranger.open(found[1])
    assert "baseline/random on basic-coding" in report.locator("h1").inner_text()
    assert report.locator("table").count() >= 2
    assert stranger.faults() == []
    assert stranger.open("/runs/").locator("h1").inner_text() == "Log in"
    old = closed.stack.manage("shell", "--no-imports", "-c", OLD_KEY.format(run=closed.runs["random"])).strip()
    for key in (old, "forged:key:here"):
        page = stranger.open(f"/shared/{key}/", status=404)
        assert "expired" in page.locator("main").inner_text()
    stranger.problems.clear()  # as above


def test_a_failure_of_the_server_is_said_without_its_secrets(open_tab: Callable[..., Visit], closed: Site) -> None:
    """Stands last: the database does not recover from it."""
    tab = open_tab(closed)
    log_in(tab.open("/"), READER)
    tab.page.wait_for_url(closed.url("/"))
    closed.stack.manage("shell", "--no-imports", "-c", BREAK)
    page = tab.open("/runs/", status=500)
    assert page.locator("h1").inner_text() == "Something failed"
    assert "benchmarks_run" not in page.content()
    assert tab.faults() == []
    assert tab.overflow() == []
    tab.problems.clear()  # as above
