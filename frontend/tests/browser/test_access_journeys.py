"""A site that requires a login, as in production: logging in, denied access, a shared report, a server error."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from django.core import signing
from django.template.loader import render_to_string

from frontend.tests.browser.conftest import NewTab
from frontend.tests.browser.site import ADMIN, CLOSED_ENVIRONMENT, PASSWORD, READER, Site, closed_site
from tests.support.oidc_provider import OidcProvider, oidc_provider

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def provider() -> Iterator[OidcProvider]:
    with oidc_provider() as provider:
        yield provider


@pytest.fixture(scope="module")
def closed(browser: Browser, provider: OidcProvider) -> Iterator[Site]:
    """Requests the browser first: without one, no site is started."""
    with closed_site(provider) as site:
        yield site


def log_in(page: Page, name: str, password: str = PASSWORD) -> None:
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def test_a_visitor_logs_in_and_returns_to_the_requested_page(new_tab: NewTab, closed: Site) -> None:
    tab = new_tab(closed)
    page = tab.open("/runs/")
    assert page.locator("h1").inner_text() == "Log in"
    assert tab.violations() == []
    assert tab.overflow() == []
    log_in(page, ADMIN, "not the password")
    assert "correct" in page.get_by_role("alert").inner_text()
    assert page.get_by_label("Username").input_value() == ADMIN
    log_in(page, ADMIN)
    page.wait_for_url(re.compile("/runs/$"))
    assert page.locator("h1").inner_text() == "Runs"
    assert ADMIN in page.locator("footer").inner_text()


def test_a_visitor_logs_in_with_the_account_of_a_provider(
    new_tab: NewTab, closed: Site, provider: OidcProvider
) -> None:
    provider.person = {"sub": "1", "email": "mary@example.com", "email_verified": True, "groups": ["bench"]}
    page = new_tab(closed).open("/runs/")
    page.get_by_role("link", name="Log in with Example SSO").click()
    page.wait_for_url(re.compile("/runs/$"))
    assert "mary@example.com" in page.locator("footer").inner_text()
    assert page.get_by_role("link", name="New run").count() > 0
    provider.person["groups"] = []
    page = new_tab(closed).open("/")
    page.get_by_role("link", name="Log in with Example SSO").click()
    assert page.get_by_text("No group of mary@example.com has access here. Ask an administrator.").is_visible()


def test_a_reader_learns_which_permission_is_missing(new_tab: NewTab, closed: Site) -> None:
    tab = new_tab(closed)
    log_in(tab.open("/"), READER)
    page = tab.page
    page.wait_for_url(closed.url("/"))
    assert page.get_by_role("link", name="New run").count() == 0
    page = tab.open("/runs/new/", status=403)
    assert page.locator("h1").inner_text() == "Access denied"
    assert "launch runs" in page.locator("main").inner_text()
    assert tab.violations() == []


def test_an_expired_form_has_an_error_page_of_the_site(new_tab: NewTab, closed: Site) -> None:
    tab = new_tab(closed)
    page = tab.open("/login/")
    page.context.clear_cookies()
    log_in(page, ADMIN)
    assert page.locator("h1").inner_text() == "Form not submitted"
    assert tab.violations() == []
    tab.problems.clear()  # Chromium itself reports the 403 on the console


def test_anyone_reads_a_shared_report_until_its_link_expires(new_tab: NewTab, closed: Site) -> None:
    tab = new_tab(closed)
    log_in(tab.open(f"/runs/{closed.runs['random']}/"), ADMIN)
    page = tab.page
    page.get_by_role("button", name="Share", exact=True).click()
    path = re.search(r"/shared/\S+/", page.locator("#share-link").input_value())
    assert path is not None
    visitor = new_tab(closed)
    report = visitor.open(path[0])
    assert "baseline/random on Basic coding" in report.locator("h1").inner_text()
    assert report.locator("table").count() >= 2
    assert visitor.violations() == []
    assert visitor.open("/runs/").locator("h1").inner_text() == "Log in"
    page.get_by_role("button", name="Revoke share link").click()
    page.get_by_role("button", name="Revoke share link").click()
    page.get_by_text("It no longer opens the page.").wait_for()
    for gone in (path[0], f"/shared/{_key_of_last_week(closed.runs['random'])}/", "/shared/forged:key:here/"):
        page = visitor.open(gone, status=404)
        assert "expired" in page.locator("main").inner_text()


def test_a_server_error_has_a_page_without_internals(new_tab: NewTab, closed: Site) -> None:
    """Must be the last test: the database stays broken."""
    tab = new_tab(closed)
    log_in(tab.open("/"), READER)
    tab.page.wait_for_url(closed.url("/"))
    with sqlite3.connect(closed.stack.state / "codeforge.sqlite3") as database:
        database.execute("PRAGMA ignore_check_constraints = ON")  # one of them refuses what is not JSON
        database.execute("UPDATE benchmarks_run SET summary = '{hunter22'")
    page = tab.open("/runs/", status=500)
    assert page.locator("h1").inner_text() == "Something went wrong"
    for internal in ("hunter22", "JSONDecodeError", "Traceback", "benchmarks_run"):
        assert internal not in page.content(), internal
    assert tab.violations() == []
    assert tab.overflow() == []
    # Of tables that are not those of this version, it says what to do.
    with sqlite3.connect(closed.stack.state / "codeforge.sqlite3") as database:
        database.execute("ALTER TABLE benchmarks_run RENAME TO gone")
    page = tab.open("/runs/", status=500)
    assert "a different schema from this version" in page.locator("main").inner_text()
    for internal in ("no such table", "OperationalError", "Traceback", "benchmarks_run"):
        assert internal not in page.content(), internal
    assert tab.violations() == []
    assert tab.overflow() == []
    # A fault that passes has another page, which tells to try again.
    busy = render_to_string("503.html", {"problem": "Another process is changing the same data.", "changing": False})
    tab.page.route("**/runs/", lambda route: route.fulfill(status=503, content_type="text/html", body=busy))
    page = tab.open("/runs/", status=503)
    assert page.locator("h1").inner_text() == "Try again in a few seconds"
    for internal in ("no such table", "OperationalError", "Traceback", "benchmarks_run"):
        assert internal not in page.content(), internal
    assert tab.violations() == []
    assert tab.overflow() == []


def _key_of_last_week(run: int) -> str:
    """A key that was valid until a day ago."""
    signer = signing.TimestampSigner(key=CLOSED_ENVIRONMENT["SECRET_KEY"], salt="shared run")
    with mock.patch("time.time", return_value=time.time() - 8 * 86_400):
        return signer.sign_object({"run": run})
