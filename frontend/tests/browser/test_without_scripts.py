"""What people come to do, in a browser that runs no scripts; and the files they take along."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from frontend.tests.browser.site import Site
from frontend.tests.browser.visiting import Visit

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


@pytest.fixture
def plain_tab(open_tab: Callable[..., Visit], site: Site) -> Visit:
    """A tab in which no script runs; its pages are opened by ``goto``, for nothing in them can be waited for."""
    return open_tab(site, java_script_enabled=False, accept_downloads=True)


@pytest.fixture
def plain(plain_tab: Visit) -> Page:
    return plain_tab.page


def test_a_run_is_estimated_sized_and_launched(plain: Page, site: Site) -> None:
    plain.goto(site.url("/runs/new/?dataset=capitals"))
    plain.get_by_label("Model", exact=True).fill("baseline/reference")
    plain.locator("#metric-exact_match").check()
    plain.get_by_role("button", name="Estimate").click()
    assert plain.locator("#plan dd").first.inner_text() == "4"
    plain.get_by_text("How many tasks would show a difference?").click()
    plain.get_by_role("button", name="Calculate").click()
    assert "To detect a difference of 5.0 points with 80% power" in plain.locator("#size").inner_text()
    plain.get_by_role("button", name="Start run").click()
    plain.wait_for_url(re.compile(r"/runs/\d+/$"))
    site.wait_for_runs()
    plain.reload()
    assert plain.locator("#status .is-completed").is_visible()


def test_a_refused_launch_says_why_at_the_field(plain: Page, plain_tab: Visit, site: Site) -> None:
    plain.goto(site.url("/runs/new/?dataset=capitals"))
    plain.get_by_label("Model", exact=True).fill("nonsense")
    plain.locator("#metric-exact_match").check()
    plain.get_by_role("button", name="Start run").click()
    assert "provider/model" in plain.locator(".field", has=plain.locator("#id_model")).inner_text()
    assert plain.get_by_label("Model", exact=True).input_value() == "nonsense"
    plain_tab.problems.clear()  # Chromium itself notes a 400 on the console


def test_results_and_tasks_are_filtered(plain: Page, site: Site) -> None:
    plain.goto(site.url(f"/runs/{site.runs['canvases small']}/"))
    plain.locator("#outcome").select_option("wrong")
    plain.locator("#results").get_by_role("button", name="Filter").click()
    marks = plain.locator("#results tbody .mark").all_inner_texts()
    assert set(marks) == {"wrong"}
    plain.goto(site.url(f"/datasets/{site.canvas_set}/"))
    plain.locator("#group").select_option("count")
    plain.get_by_role("button", name="Filter").click()
    plain.get_by_role("link", name="Next").click()
    assert set(plain.locator("#tasks tbody td.nowrap").all_inner_texts()) == {"count"}


def test_two_runs_are_compared(plain: Page, site: Site) -> None:
    plain.goto(site.url("/compare/"))
    for name in ("canvases large", "canvases small"):
        plain.check(f"input[name=run][value='{site.runs[name]}']")
    plain.get_by_role("button", name="Compare").click()
    assert "is better by" in plain.get_by_label("In words").inner_text()
    plain.locator("#show").select_option("same")
    plain.locator("#tasks").get_by_role("button", name="Show").click()
    assert plain.locator("#tasks tbody tr").count() > 0


def rows_of(file: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(file.decode("utf-8-sig").splitlines()))


def test_a_run_is_taken_along_in_every_form(plain: Page, site: Site, tmp_path: Path) -> None:
    plain.goto(site.url(f"/runs/{site.runs['hostile']}/"))
    links = plain.locator("section", has_text="Take it along").locator("a[download]").all()
    kept: dict[str, bytes] = {}
    for link in links:
        with plain.expect_download() as started:
            link.click()
        file = tmp_path / started.value.suggested_filename
        started.value.save_as(file)
        kept[file.name.partition(".")[2]] = file.read_bytes()
    assert set(kept) == {"csv", "jsonl", "html", "scores.csv", "parquet"}
    assert kept["parquet"].startswith(b"PAR1")
    assert len([json.loads(line) for line in kept["jsonl"].splitlines()]) == 2
    csv.field_size_limit(10_000_000)
    assert len(rows_of(kept["csv"])) >= 2
    scores = rows_of(kept["scores.csv"])
    assert {"run", "difficulty"} <= {row["part"] for row in scores}
    assert b"<script" not in kept["html"]
