"""One browser and one seeded site for the whole folder; a screenshot of every tab of a failed test."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from frontend.tests.browser.site import ADMIN, PASSWORD, Site, fresh_site, seed
from frontend.tests.browser.tabs import OPTIONS, Tab, new_context, open_tab
from tests.support.services import missing
from tests.support.stack import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ARTIFACTS = ROOT / "test-artifacts"
NewTab = Callable[..., Tab]


def chromium() -> str:
    """Path of Chromium: ``CODEFORGE_CHROMIUM``, otherwise the first of its usual names on the path."""
    names = ("chromium", "chromium-browser", "google-chrome")
    path = os.environ.get("CODEFORGE_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if path is None or not Path(path).exists():
        missing("Chromium: install Debian's chromium, or set CODEFORGE_CHROMIUM to its path")
    return str(path)


# Playwright keeps an event loop running in this thread, so it has to end before tests elsewhere start their own.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    try:
        import_module("axe_playwright_python")
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        missing(f"Playwright for Python and axe-playwright-python ({error})")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(OPTIONS))
        yield browser
        browser.close()


# Both request the browser first: without one, no site is started.
@pytest.fixture(scope="package")
def installation(browser: Browser) -> Iterator[Site]:
    with fresh_site() as site:
        yield site


@pytest.fixture(scope="package")
def site(installation: Site) -> Site:
    """The installation with runs in every state. Starting it twice would take longer than all pages together."""
    seed(installation)
    return installation


@pytest.fixture
def new_tab(request: pytest.FixtureRequest, browser: Browser) -> Iterator[NewTab]:
    """Open a tab on a site, by default wide, light and with scripts. Any problem in it fails the test."""
    tabs: list[Tab] = []

    def start(site: Site, **options: Any) -> Tab:
        tabs.append(open_tab(new_context(browser, **options), site.url("")))
        return tabs[-1]

    yield start
    problems = [problem for tab in tabs for problem in tab.problems]
    for number, tab in enumerate(tabs):
        if problems or getattr(request.node, "failed_call", False):
            ARTIFACTS.mkdir(exist_ok=True)
            name = re.sub(r"[^-\w]+", "-", f"{request.node.name}-{number}")
            tab.page.screenshot(path=ARTIFACTS / f"{name}.png", full_page=True)
        tab.page.context.close()
    assert not problems, "\n".join(problems)


@pytest.fixture
def tab(new_tab: NewTab, site: Site) -> Tab:
    return new_tab(site)


@pytest.fixture(scope="package")
def admin_state(browser: Browser, site: Site) -> Any:
    """The cookies of a session in the admin."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(site.url("/admin/"))
    page.fill("#id_username", ADMIN)
    page.fill("#id_password", PASSWORD)
    page.click("[type=submit]")
    page.wait_for_url("**/admin/")
    state = context.storage_state()
    context.close()
    return state


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    if report.when == "call":
        item.failed_call = report.failed  # type: ignore[attr-defined]  # read by fixtures when they end
    return report
