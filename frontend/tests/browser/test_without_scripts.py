"""What users come to do, in a browser that runs no scripts, and the files that they export."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from frontend.tests.browser.conftest import NewTab
from frontend.tests.browser.site import Site
from frontend.tests.browser.tabs import Tab

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow


@pytest.fixture
def plain_tab(new_tab: NewTab, site: Site) -> Tab:
    """A tab without scripts. Pages are opened by ``goto``, because there are no charts to wait for."""
    return new_tab(site, java_script_enabled=False, accept_downloads=True)


@pytest.fixture
def plain(plain_tab: Tab) -> Page:
    return plain_tab.page


def test_a_run_is_estimated_sized_and_started(plain: Page, site: Site) -> None:
    plain.goto(site.url("/runs/new/?dataset=capitals&repeats=1"))
    plain.get_by_label("Find or add models").fill("baseline/reference")
    plain.get_by_role("button", name="Change the metrics of capitals").click()
    plain.get_by_role("checkbox", name="Regular expression").uncheck()
    plain.get_by_role("button", name="Estimate").last.click()
    assert plain.locator("#plan dd").first.inner_text() == "4"
    plain.get_by_text("How many tasks do you need?").click()
    plain.get_by_role("button", name="Calculate").click()
    assert "To detect a difference of 5.0 points with 80% power" in plain.locator("#size").inner_text()
    plain.get_by_role("button", name="Start run").click()
    plain.wait_for_url(re.compile(r"/runs/\d+/$"))
    site.wait_for_runs()
    plain.reload()
    assert plain.locator("#status .is-completed").is_visible()


def test_a_rejected_form_shows_the_error_at_its_field(plain: Page, plain_tab: Tab, site: Site) -> None:
    plain.goto(site.url("/runs/new/?dataset=capitals&repeats=1"))
    plain.get_by_label("Find or add models").fill("nonsense")
    plain.get_by_role("button", name="Start run").click()
    assert "provider/model" in plain.locator("section", has=plain.locator("#models-title")).inner_text()
    assert plain.get_by_role("checkbox", name="nonsense").is_checked()
    plain_tab.problems.clear()  # Chromium itself reports the 400 on the console


def test_results_and_tasks_are_filtered(plain: Page, site: Site) -> None:
    plain.goto(site.url(f"/runs/{site.runs['canvases small']}/"))
    plain.locator("#results").get_by_text("+ Filter").click()
    plain.locator("#outcome").select_option("wrong")
    plain.locator("#results").get_by_role("button", name="Apply filters").click()
    plain.wait_for_url(re.compile("outcome=wrong"))
    outcomes = plain.locator("#results tbody .mark").all_inner_texts()
    assert set(outcomes) == {"Wrong"}
    plain.goto(site.url(f"/datasets/{site.canvas_set}/tasks/"))
    plain.locator("#tasks").get_by_text("+ Filter").click()
    plain.locator("#group").select_option("count")
    plain.get_by_role("button", name="Apply filters").click()
    plain.wait_for_url(re.compile("group=count"))
    plain.get_by_role("link", name="Next").click()
    plain.wait_for_url(re.compile("after="))
    names = plain.locator("#tasks tbody th .small").all_inner_texts()
    assert {name.partition(",")[0] for name in names} == {"Count"}


def test_two_runs_are_compared(plain: Page, site: Site) -> None:
    plain.goto(site.url("/compare/"))
    plain.locator("#offered summary", has_text="shapes").click()
    for name in ("canvases large", "canvases small"):
        plain.check(f"input[name=runs][value='{site.runs[name]}']")
    plain.get_by_role("button", name="Compare", exact=True).click()
    plain.wait_for_url(re.compile("runs="))
    assert "is better than" in plain.get_by_label("Summary").inner_text()
    plain.get_by_role("link", name="all tasks").click()
    plain.wait_for_url(re.compile("/compare/tasks/"))
    plain.get_by_role("link", name=re.compile("^All wrong")).click()
    plain.wait_for_url(re.compile("show=all_wrong"))
    row = plain.locator("[data-row]").first
    row.click()
    plain.locator("tr.drawer").wait_for()
    assert plain.locator(".answer-card").get_by_role("link", name="Result in run").count() == 2
    plain.locator("[data-row][aria-expanded=true]").click()
    plain.locator("tr.drawer").wait_for(state="detached")


def rows_of(file: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(file.decode("utf-8-sig").splitlines()))


def test_a_run_is_exported_in_every_format(plain: Page, site: Site, tmp_path: Path) -> None:
    plain.goto(site.url(f"/runs/{site.runs['hostile']}/"))
    plain.locator("#export summary").click()
    links = plain.locator("#export a[download]").all()
    files: dict[str, bytes] = {}
    for link in links:
        with plain.expect_download() as started:
            link.click()
        file = tmp_path / started.value.suggested_filename
        started.value.save_as(file)
        files[file.name.partition(".")[2]] = file.read_bytes()
    assert set(files) == {"csv", "jsonl", "html", "scores.csv", "parquet"}
    assert files["parquet"].startswith(b"PAR1")
    assert len([json.loads(line) for line in files["jsonl"].splitlines()]) == 2
    csv.field_size_limit(10_000_000)
    assert len(rows_of(files["csv"])) >= 2
    scores = rows_of(files["scores.csv"])
    assert {"run", "difficulty"} <= {row["part"] for row in scores}
    assert b"<script" not in files["html"]
