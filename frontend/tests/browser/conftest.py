"""One browser and one seeded site for the whole folder; a picture of the page where a test fails."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from frontend.tests.browser.site import ADMIN, PASSWORD, Site, seeded_site
from frontend.tests.browser.visiting import OPTIONS, Visit, new_context, visit
from tests.support.services import missing
from tests.support.stack import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ARTIFACTS = ROOT / "test-artifacts"


def chromium() -> str:
    """Where Chromium is: ``CODEFORGE_CHROMIUM``, else the first of its usual names on the path."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("CODEFORGE_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if found is None or not Path(found).exists():
        missing("Chromium: install Debian's chromium, or set CODEFORGE_CHROMIUM to its path")
    return str(found)


# Playwright keeps an event loop running in this thread, so it has to be gone before tests elsewhere start their own.
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


@pytest.fixture(scope="package")
def site(browser: Browser) -> Iterator[Site]:
    """Asks for the browser first: where there is none, nothing is seeded."""
    with seeded_site() as site:
        yield site


@pytest.fixture
def open_tab(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Callable[..., Visit]]:
    """Open a tab on a site, by default wide, light and with scripts; what it complained of fails the test."""
    opened: list[Visit] = []

    def start(site: Site, **options: Any) -> Visit:
        opened.append(visit(new_context(browser, **options), site.url("")))
        return opened[-1]

    yield start
    failed = getattr(request.node, "failed_call", False)
    problems = [problem for tab in opened for problem in tab.problems]
    for number, tab in enumerate(opened):
        if failed or problems:
            _keep_picture(tab, f"{request.node.name}-{number}")
        tab.page.context.close()
    assert not problems, "\n".join(problems)


@pytest.fixture
def tab(open_tab: Callable[..., Visit], site: Site) -> Visit:
    return open_tab(site)


@pytest.fixture(scope="package")
def admin_state(browser: Browser, site: Site) -> Any:
    """The cookies of somebody logged into the admin."""
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
        item.failed_call = report.failed  # type: ignore[attr-defined]  # where fixtures look when they end
    return report


def _keep_picture(tab: Visit, name: str) -> None:
    ARTIFACTS.mkdir(exist_ok=True)
    file = re.sub(r"[^-\w]+", "-", name)
    tab.page.screenshot(path=ARTIFACTS / f"{file}.png", full_page=True)
