"""``python -m frontend.tests.browser.journeys_walked``: walk 26 journeys, count clicks, keep pictures.

A journey begins on the overview and follows links, as a person would. It prints clicks, fields filled in, pages and
seconds; the pictures, the last of them also dark and on a phone, show what the person saw.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frontend.tests.browser.conftest import chromium
from frontend.tests.browser.site import API, Site, fresh_site, seed
from frontend.tests.browser.tabs import OPTIONS, new_context
from tests.support.stack import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

FOLDER = ROOT / "var" / "journeys"
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
LOGS = ROOT / "benchmarks" / "imports" / "tests" / "tool_logs"
END_MS = 60_000
RIVERS = """name: Rivers
description: Where they end
tasks:
  - id: nile
    name: The Nile
    {}: Which sea?
    expected_output: The sea
"""
PEAKS = "peak,meters\nHow high is Ararat?,5137\nHow high is Etna?,3403\n"


@dataclass
class Walk:
    """One journey: what was done so far, and the browser's page."""

    title: str
    page: Page
    site: Site
    folder: Path
    clicks: int = 0
    fields: int = 0
    steps: int = 0
    pages: list[str] = field(default_factory=list)
    seconds: float = 0.0
    stopped: str = ""
    """At which step and why, if not at the end"""

    def click(self, name: str, role: Any = None, within: str = "body") -> None:
        """Press what a person reads as ``name``: a link or a button, the first of its kind that is seen."""
        scope = self.page.locator(within)
        found = scope.get_by_role(role, name=name) if role else _pressable(scope, name)
        self.press(found.locator("visible=true").first)

    def press(self, found: Locator) -> None:
        found.click()
        self.clicks += 1
        self.look()

    def open_run(self, name: str) -> None:
        """Press a link to the run that is seeded under ``name``, which may be on a later page of the list."""
        link = self.page.locator(f"main a[href='/runs/{self.site.runs[name]}/']")
        while not link.count():
            self.click("Next", "link", ".pager")
        self.press(link.first)

    def fill(self, label: str, text: str) -> None:
        self.page.get_by_label(label).locator("visible=true").first.fill(text)
        self.fields += 1

    def choose(self, label: str, option: str) -> None:
        self.page.get_by_label(label, exact=True).select_option(option)
        self.clicks += 2
        self.look()

    def tick(self, label: str, within: str = "body") -> None:
        self.page.locator(within).get_by_label(label).locator("visible=true").first.check()
        self.clicks += 1

    def upload(self, name: str, text: str) -> None:
        file = self.folder / name
        file.write_text(text)
        self.page.locator("input[type=file]").set_input_files([])
        self.page.locator("input[type=file]").set_input_files(file)
        self.clicks += 2

    def see(self, text: str | re.Pattern[str], within: str = "main") -> None:
        """Wait for a text; without it, the journey ends here."""
        self.page.locator(within).get_by_text(text).locator("visible=true").first.wait_for(timeout=END_MS)
        self.look()

    def ended(self) -> None:
        self.page.locator("#status [class*='is-completed']").wait_for(timeout=END_MS)
        self.look()

    def look(self) -> None:
        """Keep a picture of what is in view."""
        self.page.wait_for_load_state()
        self.page.wait_for_timeout(150)
        if not self.pages or self.pages[-1] != self.page.url:
            self.pages.append(self.page.url)
        self.steps += 1
        self.page.screenshot(path=self.folder / f"{self.steps:02}.png")


Journey = Callable[[Walk], None]


def starter_experiment(walk: Walk) -> None:
    walk.click("Start starter experiment")
    walk.page.locator(".page-head .is-completed").first.wait_for(timeout=END_MS)
    walk.press(walk.page.locator("#board a[href^='/runs/']").first)
    walk.ended()
    walk.press(walk.page.locator("#results th a").first)
    walk.page.locator("#answer-title").wait_for(state="attached")


def provider_key(walk: Walk) -> None:
    walk.click("Models", within="header")
    walk.press(walk.page.get_by_text("Without a key:"))
    walk.fill("API key of openai", "sk-example")
    walk.click("Save and check", within="section:has(#key-openai), body")
    walk.see(re.compile("openai"))
    walk.click("Test", "button", "tr:has-text('medium')")
    walk.see(re.compile("Supported|Not supported|just now|tested", re.I))


def compared_pair(walk: Walk) -> None:
    walk.click("New run", within="header")
    walk.tick("scripted/large")
    walk.tick("scripted/small")
    walk.click("Start 2 runs", "button")
    walk.page.locator(".statement strong").wait_for(timeout=END_MS)
    walk.look()


def from_benchmarks(walk: Walk) -> None:
    walk.page.goto(walk.site.url("/benchmarks/"))
    walk.press(walk.page.locator("tr:has-text('Basic coding')").get_by_text("Run", exact=True))
    walk.page.locator("#sheet[open] #plan dt", has_text="Requests").wait_for()
    walk.click("Start", "button", "#sheet")
    walk.page.wait_for_url(re.compile(r"/(runs|experiments)/\d+/$"))
    walk.look()


def with_judge(walk: Walk) -> None:
    models = [f"scripted/{name}" for name in ("large", "medium", "small", "drifting")]
    request = {"name": "Used last", "datasets": ["basic-coding"], "models": models, "metrics": ["exact_match"]}
    walk.site.stack.post(f"{API}/experiments", request | {"limit": 1})
    walk.page.goto(walk.site.url("/benchmarks/"))
    walk.press(walk.page.locator("tr:has-text('RAG faithfulness')").get_by_text("Run", exact=True))
    for dataset in ("Reasoning", "Basic coding"):
        walk.tick(dataset, "#sheet #benchmarks-options")
    walk.click("Change the metrics of RAG faithfulness", "button", "#sheet")
    walk.page.locator("#metrics-of-rag-faithfulness input[value=correctness]").check()  # the judge here can score it
    walk.clicks += 1
    walk.see("to the judge", "#sheet")
    walk.click("Start 12 runs", "button", "#sheet")
    walk.page.locator(".page-head .is-completed").first.wait_for(timeout=2 * END_MS)
    walk.look()


def shared_experiment(walk: Walk) -> None:
    walk.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    walk.press(walk.page.locator("main a[href^='/experiments/']").first)
    walk.click("Share", "button")
    walk.page.get_by_role("button", name="Copied").wait_for()
    copied = walk.page.evaluate("navigator.clipboard.readText()")
    assert copied == walk.page.locator("#share-link").input_value()
    walk.page.goto(copied)
    walk.see(re.compile("95%"), "body")


def fixed_reference(walk: Walk) -> None:
    cell = ".board tr:has-text('Reasoning') td[data-label='scripted/small'] a[href^='/runs/']"
    walk.press(walk.page.locator(cell).first)
    walk.press(walk.page.locator("#results th a").first)
    walk.click("Fix this task")
    walk.fill("Expected", "42")
    walk.click("Save task", "button")
    walk.click("Rescore all", "button")
    walk.click("Rescore", "button")
    walk.see(re.compile("queued"))


def one_run(walk: Walk) -> None:
    walk.click("New run", within="header")
    walk.tick("reasoning")
    walk.tick("scripted/medium")
    walk.page.locator("#plan dt", has_text="Requests").wait_for()
    walk.click("Start run", "button")
    walk.ended()


def why_a_run_failed(walk: Walk) -> None:
    walk.open_run("failed")
    walk.see(re.compile("24 of 24 results failed"))
    walk.see(re.compile("API key"))


def live_run(walk: Walk) -> None:
    walk.site.models.delay_ms = 700.0
    try:
        walk.click("Benchmarks", within="header")
        walk.press(walk.page.locator("tr:has-text('Basic coding')").get_by_text("Run", exact=True))
        walk.click("Start run", "button", "#sheet")
        walk.see("Newest results")
        walk.click("Pause run", "button")
        walk.see("Paused")
        walk.click("Resume run", "button")
        walk.see("Running")
        walk.click("Cancel run", "button")
        walk.see("Canceled")
    finally:
        walk.site.models.delay_ms = 0.0


def retry_errors(walk: Walk) -> None:
    walk.open_run("errors")
    walk.click("Retry", "button")
    walk.ended()


def upload_with_mistakes(walk: Walk) -> None:
    walk.click("Benchmarks", within="header")
    walk.click("Datasets", within=".tabs")
    walk.click("Add dataset")
    walk.upload("rivers.yaml", RIVERS.format("inptu"))
    walk.see("did you mean input?")
    walk.upload("rivers.yaml", RIVERS.format("input"))
    walk.see("1 task without errors")
    walk.click("Upload dataset", "button")
    walk.see("Dataset rivers created with 1 task.")


def import_table(walk: Walk) -> None:
    walk.click("Benchmarks", within="header")
    walk.click("Datasets", within=".tabs")
    walk.click("Add dataset")
    walk.click("Import table")
    walk.upload("peaks.csv", PEAKS)
    walk.see(re.compile("no column is recognized", re.I))
    walk.choose("peak becomes", "peak=input")
    walk.choose("meters becomes", "meters=expected")
    walk.see("3403")
    walk.click("Import table", "button")
    walk.see("Dataset peaks created with 2 tasks.")


def edit_task(walk: Walk) -> None:
    walk.click("Benchmarks", within="header")
    walk.click("Datasets", within=".tabs")
    walk.click("Basic tool use", "link", "main")
    walk.click("Tasks", within=".tabs")
    walk.click("weather-now", "link")
    walk.click("Edit task")
    walk.fill("Input", "How warm is it in Bergen right now?")
    walk.see("How warm is it in Bergen right now?", "#checked")
    walk.click("Save task", "button")
    walk.see("now has version 2")


def canvas_set(walk: Walk) -> None:
    walk.click("Benchmarks", within="header")
    walk.click("Canvas sets", within=".tabs")
    walk.click("New canvas set")
    walk.fill("Shapes", "3-5")
    walk.fill("Canvases", "12")
    walk.fill("Seed", "5")
    walk.click("Generate set", "button")
    walk.see("12 canvases")
    walk.press(walk.page.locator("main").get_by_role("link", name="Run", exact=True))
    walk.click("Start", "button", "#sheet")
    walk.page.locator("#status, .page-head").locator("[class*='is-completed']").first.wait_for()
    walk.look()


def glossary(walk: Walk) -> None:
    walk.click("Help", within="footer")
    walk.click("Glossary", "link")
    walk.see(re.compile("strict mean", re.I))


def three_models(walk: Walk) -> None:
    walk.click("New run", within="header")
    walk.tick("reasoning")
    for model in ("large", "medium", "small"):
        walk.tick(f"scripted/{model}")
    walk.click("Start 3 runs", "button")
    walk.page.locator(".statement strong").wait_for(timeout=END_MS)
    walk.look()


def where_two_models_disagree(walk: Walk) -> None:
    walk.press(walk.page.locator("main a[href^='/experiments/']").first)
    walk.click("Answers", "link", ".tabs")
    walk.click("They disagree", "link")
    walk.press(walk.page.locator(".task-grid [data-row]").first)
    walk.page.locator(".answer-card").first.wait_for()
    walk.look()


def suspect_references(walk: Walk) -> None:
    walk.click("Benchmarks", within="header")
    walk.click("Datasets", within=".tabs")
    walk.click("reasoning", "link", "main")
    walk.click("Analysis")
    walk.page.locator("tbody input[name=task]").first.check()
    walk.clicks += 1
    walk.click("Create version without them", "button")
    walk.see(re.compile(r"Version \d+ created without 1 task"))


def search(walk: Walk) -> None:
    walk.page.keyboard.press("/")
    walk.page.locator("#palette[open] input[type=search]").fill("syrup")
    walk.fields += 1
    walk.press(walk.page.locator("#palette").get_by_role("option", name="Thinning syrup"))
    walk.see("Thinning syrup")


def shared_report(walk: Walk) -> None:
    walk.click("Runs", within="header")
    walk.open_run("canvases medium")
    walk.click("Share", "button")
    address = walk.page.locator("#share-link").input_value()
    assert walk.page.context.browser is not None
    phone = new_context(walk.page.context.browser, viewport=PHONE).new_page()
    phone.goto(address)
    phone.locator("h1").wait_for()
    walk.pages.append(address)
    phone.screenshot(path=walk.folder / "phone-report.png")
    phone.set_viewport_size(WIDE)
    phone.screenshot(path=walk.folder / "report.png")
    phone.context.close()


def nightly(walk: Walk) -> None:
    walk.click("Compare", "link", "main")
    walk.see(re.compile("points"))
    walk.click("Settings", within="header")
    walk.click("Schedules", within="main")
    walk.click("New schedule")
    walk.tick("scripted/large")
    walk.tick("capitals")
    walk.fill("Schedule", "0 7 * * *")
    walk.click("Save schedule", "button")
    walk.see(re.compile("07:00"))


def calibration(walk: Walk) -> None:
    walk.click("Review", within="header")
    walk.click("Judges", within=".tabs")
    walk.click("Calibrate judge", "button")
    walk.see("Completed")


def exports(walk: Walk) -> None:
    walk.click("Runs", within="header")
    walk.open_run("reasoning medium")
    walk.press(walk.page.locator("#export summary"))
    with walk.page.expect_download():
        walk.page.get_by_role("link", name="CSV").first.click()
    walk.clicks += 1
    walk.click("Runs", within="header")
    walk.click("Experiments", within=".tabs")
    walk.press(walk.page.locator("main tbody a").first)
    walk.press(walk.page.locator("main summary", has_text="Export"))
    with walk.page.expect_download():
        walk.page.get_by_role("button", name="LaTeX").first.click()
    walk.clicks += 1


def import_and_token(walk: Walk) -> None:
    walk.click("Settings", within="header")
    walk.click("Import runs", within="main")
    walk.page.locator("input[type=file]").set_input_files(LOGS / "inspect_graded.eval")
    walk.clicks += 2
    walk.look()
    walk.click("Import", "button", "main")
    walk.see(re.compile("Imported"))
    walk.click("Settings", within="header")
    walk.click("API tokens", within="main")
    walk.click("New token")
    walk.fill("Name", "Pipeline")
    walk.page.locator("#id_account").select_option(label="ada")
    walk.clicks += 2
    walk.click("Create token", "button")
    walk.page.locator("#token").wait_for()
    walk.look()


def failure_to_dataset(walk: Walk) -> None:
    walk.click("Runs", within="header")
    walk.open_run("reasoning small")
    walk.press(walk.page.locator("#results").get_by_role("checkbox").first)
    walk.click("Copy selected tasks to a dataset", "button")
    walk.fill("Identifier", "hard-cases")
    walk.click("Copy 1 task", "button")
    walk.see("1 task copied")


FRESH: dict[str, Journey] = {
    "First visit: starter experiment, read one result": starter_experiment,
    "Newcomer to a compared pair": compared_pair,
}
SEEDED: dict[str, Journey] = {
    "Add a provider key and test a model": provider_key,
    "Start one run on the form": one_run,
    "Understand why a run failed": why_a_run_failed,
    "Watch a live run, pause, resume and cancel it": live_run,
    "Retry the errors of a run": retry_errors,
    "Upload a dataset with a mistake and fix it": upload_with_mistakes,
    "Import a CSV table": import_table,
    "Edit a task with preview": edit_task,
    "Generate a canvas set and run it": canvas_set,
    "Find the glossary": glossary,
    "Compare three models in one experiment": three_models,
    "Four models on three benchmarks with a judge": with_judge,
    "Start from Benchmarks": from_benchmarks,
    "Share an experiment": shared_experiment,
    "Find tasks on which two models disagree": where_two_models_disagree,
    "Fix an expected answer and rescore": fixed_reference,
    "Make a version without a flagged task": suspect_references,
    "Search for a task": search,
    "Share a report and read it on a phone": shared_report,
    "See a drop of a nightly run and schedule another": nightly,
    "Calibrate a judge": calibration,
    "Export results as CSV and a matrix as LaTeX": exports,
    "Import an Inspect log and create an API token": import_and_token,
    "Add a model's failure to a dataset": failure_to_dataset,
}


MOST: dict[str, tuple[int, int]] = {
    "Newcomer to a compared pair": (4, 0),
    "Start one run on the form": (4, 0),
    "Start from Benchmarks": (2, 0),
    "Four models on three benchmarks with a judge": (6, 0),
    "Share an experiment": (2, 0),
    "Find tasks on which two models disagree": (4, 0),
    "Retry the errors of a run": (2, 0),
    "Fix an expected answer and rescore": (6, 1),
    "Calibrate a judge": (3, 0),
}
"""Clicks and filled in fields of the journeys that people make most; more of them fail a test."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("titles", nargs="*", help="parts of titles of journeys; all without any")
    given = parser.parse_args()
    from playwright.sync_api import sync_playwright  # not installed where the documents are checked alone

    print("| journey | clicks | fields | pages | seconds | stopped at |\n|---|--:|--:|--:|--:|---|", flush=True)
    titles = [title for title in FRESH | SEEDED if not given.titles or any(part in title for part in given.titles)]
    stopped = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(OPTIONS))
        for walk in walked(browser, titles, given.folder):
            row = (walk.title, walk.clicks, walk.fields, len(walk.pages), f"{walk.seconds:.0f}", walk.stopped)
            print(f"| {' | '.join(map(str, row))} |", flush=True)
            stopped.append(walk.stopped)
        browser.close()
    raise SystemExit(any(stopped))


def walked(browser: Browser, titles: Collection[str], folder: Path) -> Iterator[Walk]:
    """Walk the journeys of these titles on a site of their own, in the order in which they are listed here."""
    with fresh_site() as site:
        for number, (title, journey) in enumerate((FRESH | SEEDED).items(), 1):
            if number == len(FRESH) + 1:
                seed(site)
            if title in titles:
                yield _walked(browser, site, folder / f"{number:02}", title, journey)


def _walked(browser: Browser, site: Site, folder: Path, title: str, journey: Journey) -> Walk:
    from playwright.sync_api import Error

    folder.mkdir(parents=True, exist_ok=True)
    page = new_context(browser, viewport=WIDE).new_page()
    page.set_default_timeout(END_MS)
    walk = Walk(title, page, site, folder)
    start = time.monotonic()
    try:
        page.goto(site.url("/"))
        walk.look()
        journey(walk)
    except (Error, AssertionError) as error:
        walk.stopped = f"step {walk.steps}: {str(error).splitlines()[0][:120]}"
    walk.seconds = time.monotonic() - start
    page.screenshot(path=folder / "end.png", full_page=True)
    for name, options in {"dark": {"viewport": WIDE, "color_scheme": "dark"}, "phone": {"viewport": PHONE}}.items():
        again = new_context(browser, **options).new_page()
        with suppress(Error):  # the address of a form that was refused accepts only POST
            again.goto(page.url)
        again.screenshot(path=folder / f"{name}.png")
        again.context.close()
    page.context.close()
    return walk


def _pressable(scope: Locator, name: str) -> Locator:
    return scope.get_by_role("link", name=name).or_(scope.get_by_role("button", name=name))


if __name__ == "__main__":
    main()
