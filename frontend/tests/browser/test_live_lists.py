"""Lists follow what happens without being loaded anew, and nothing untrue stays on them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from frontend.tests.browser.conftest import NewTab
from frontend.tests.browser.site import API, Site
from frontend.tests.browser.tabs import Tab

if TYPE_CHECKING:
    from playwright.sync_api import Locator

pytestmark = pytest.mark.slow

SLOW_MS = 700.0


def test_overview_runs_and_experiments_follow_a_slow_run_from_its_start_to_its_end(new_tab: NewTab, site: Site) -> None:
    tabs = {path: new_tab(site) for path in ("/", "/runs/single/", "/experiments/")}
    overview, runs, experiments = (tab.open(path) for path, tab in tabs.items())
    runs.locator("input[name=runs]").nth(2).check()
    ticked = runs.locator("input[name=runs]:checked").get_attribute("value")
    runs.locator("#run-list tbody a").nth(3).focus()
    request = {
        "name": "Followed",
        "datasets": ["reasoning"],
        "models": ["scripted/medium"],
        "metrics": ["exact_match"],
        "limit": 10,
        "concurrency": 2,
    }
    site.models.delay_ms = SLOW_MS
    try:
        run = site.stack.post(f"{API}/experiments", request)["runs"][0]
        rows: list[Locator] = [
            overview.locator("#now .leads tr", has_text="Followed"),
            runs.locator("#run-list tr", has=runs.locator(f"a[href='/runs/{run}/']")),
            experiments.locator("#run-list tr", has_text="Followed"),
        ]
        for row in rows:
            row.locator(".is-running:visible").wait_for(timeout=20_000)
        assert overview.get_by_text("No runs in progress").count() == 0
    finally:
        site.models.delay_ms = 0.0
    for row in rows:
        row.locator(".is-completed:visible").wait_for(timeout=60_000)
    assert overview.locator(f"#now .running a[href='/runs/{run}/']").count() == 0
    assert runs.locator("input[name=runs]:checked").evaluate_all("(boxes) => boxes.map((box) => box.value)") == [ticked]
    assert runs.evaluate("document.activeElement.matches('#run-list tbody a')"), "the focus is lost"
    assert [tab.loads for tab in tabs.values()] == [1, 1, 1], "a page was loaded anew"


def test_a_gallery_fills_while_its_canvases_are_generated_and_says_so_only_meanwhile(tab: Tab, site: Site) -> None:
    page = tab.open("/canvases/?new=1")
    page.fill("#id_shapes", "20")
    page.fill("#id_count", "3000")
    page.get_by_role("button", name="Generate set").click()
    page.wait_for_url(re.compile(r"/canvases/[^/]+/$"))
    loads = tab.loads
    page.get_by_text("canvases generated so far").wait_for()
    page.get_by_text("canvases generated so far").wait_for(state="detached", timeout=60_000)
    assert page.locator(".gallery img").count() > 20
    assert page.get_by_text("Generating").count() == 0
    assert tab.loads == loads, "the page was loaded anew"


def test_a_message_that_a_run_is_queued_goes_away_when_it_runs(tab: Tab, site: Site) -> None:
    page = tab.open("/runs/new/?dataset=reasoning&model=scripted/medium")
    site.models.delay_ms = SLOW_MS
    try:
        page.get_by_role("button", name="Start run").click()
        page.wait_for_url(re.compile(r"/runs/\d+/$"))
        page.get_by_text(re.compile(r"^\s*Run \d+ queued\.\s*$")).wait_for(state="detached", timeout=20_000)
    finally:
        site.models.delay_ms = 0.0
