"""What users come to do, from start to end, against real web and worker processes."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest

from frontend.tests.browser.conftest import NewTab
from frontend.tests.browser.site import Site
from frontend.tests.browser.tabs import WIDE, Tab

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

# With two requests in flight, a run of 24 tasks takes 12 seconds: long enough to see three values of its progress.
SLOW_MS = 1_000.0
RIVERS = """name: Rivers
description: Where they end
tasks:
  - id: nile
    name: The Nile
    input: Which sea does the Nile reach?
    expected_output: The Mediterranean Sea
"""
NEW_PROGRESS = """(seen) => {
  const value = document.querySelector('#status progress')?.getAttribute('value');
  return value && !seen.includes(value) ? value : null;
}"""


def wait_for_status(page: Page, status: str) -> None:
    page.locator(f"#status .mark.is-{status}").wait_for(timeout=60_000)


def test_a_run_is_started_followed_without_reloading_and_its_error_opened(tab: Tab, site: Site) -> None:
    page = tab.open("/runs/new/?dataset=structured-output&repeats=1")
    page.get_by_label("Find or add models").fill("scripted/flaky")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Change the metrics of Structured output").click()
    page.check("#metric-structured-output-json_match")
    page.locator("details", has=page.locator("#id_concurrency")).locator("summary").click()
    page.fill("#id_concurrency", "2")
    page.locator("#plan dt", has_text="Requests").wait_for()
    site.models.delay_ms = SLOW_MS
    try:
        page.get_by_role("button", name="Start run").click()
        page.wait_for_url(re.compile(r"/runs/\d+/$"))
        loads = tab.loads
        seen: list[str] = []
        while len(seen) < 3:
            seen.append(page.wait_for_function(NEW_PROGRESS, arg=seen).json_value())
    finally:
        site.models.delay_ms = 0.0
    assert page.locator("#announcer").inner_text()
    wait_for_status(page, "completed_with_errors")
    page.locator("#actions").get_by_text(re.compile(r"Retry \d+ errors")).wait_for(state="attached")
    tab.settle()
    assert tab.loads == loads, "the page was loaded anew"
    assert page.locator("#status[hx-get]").count() == 0, "the status of an ended run is still requested"

    page.locator(".legend .is-provider_error").click()
    page.locator("#preview .ruling").wait_for()
    assert page.title().startswith("scripted/flaky on Structured output"), "the preview renamed the page"
    page.locator("#results tbody a").first.click()
    assert "400" in page.locator(".ruling").inner_text()
    first = page.locator("h1").inner_text()
    page.keyboard.press("j")
    page.wait_for_function("(first) => document.querySelector('h1').innerText !== first", arg=first)
    assert page.locator(".ruling .is-provider_error").is_visible()


def test_an_experiment_is_launched_read_task_by_task_with_the_keyboard_and_compared(tab: Tab, site: Site) -> None:
    page = tab.open("/experiments/new/")
    page.check("input[name=dataset][value=reasoning]")
    for model in ("large", "medium", "small"):
        page.check(f"input[name=model][value='scripted/{model}']")
    page.get_by_role("button", name="Start 3 runs").click()
    page.wait_for_url(re.compile(r"/experiments/\d+/$"))
    page.locator(".page-head .is-completed").first.wait_for(timeout=60_000)
    page.locator(".statement strong").wait_for()
    tab.settle()
    assert "small is" in page.locator(".statement").inner_text()
    page.locator("#board-filters summary", has_text="Whole benchmark").click()
    page.get_by_role("link", name="By difficulty").click()
    page.wait_for_url(re.compile("columns=difficulty"))
    assert page.locator(".matrix thead th", has_text="hard").is_visible()

    page.get_by_role("link", name="Answers", exact=True).click()
    page.wait_for_url(re.compile("/answers/"))
    page.get_by_role("link", name="They disagree").click()
    page.wait_for_url(re.compile("show=disagree"))
    loads = tab.loads
    page.locator("body").press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    first = page.locator("[data-row]").first
    assert first.evaluate("(row) => row === document.activeElement")
    page.keyboard.press("Enter")
    page.locator("tr.drawer").wait_for()
    page.wait_for_url(re.compile("open="))
    cards = page.locator(".answer-card")
    assert cards.count() == 2, "two answers are equal"
    assert cards.get_by_role("link", name="Result in run").count() == 3
    page.locator(".answer-card ins").first.wait_for()
    room = "(cards) => Math.min(...cards.map((card) => card.getBoundingClientRect().width))"
    assert page.locator(".answer-card").evaluate_all(room) > 300, "answers share the width of the page"
    page.keyboard.press("d")
    page.get_by_role("link", name="Show differences").wait_for()
    assert not page.locator(".answer-card ins").count()
    assert tab.loads == loads, "the page was loaded anew"
    page.locator("[data-row]").first.focus()
    page.keyboard.press("Enter")
    page.locator("tr.drawer").wait_for(state="detached")

    page = tab.open("/runs/single/?dataset=reasoning")
    for box in page.locator("input[name=runs]").all()[:3]:
        box.check()
    page.get_by_role("button", name="Compare", exact=True).click()
    page.wait_for_url(re.compile("/compare/"))
    tab.settle()
    assert page.locator(".matrix tbody tr").count() >= 3
    page.get_by_role("link", name="Task by task").click()
    page.wait_for_url(re.compile("/compare/tasks/"))
    assert page.locator(".task-grid thead .run").count() == 3


def test_two_runs_are_compared_down_to_a_task_that_only_one_solved(tab: Tab, site: Site) -> None:
    page = tab.open("/compare/")
    page.locator("#offered summary", has_text="shapes").click()
    for name in ("canvases large", "canvases small"):
        page.check(f"input[name=runs][value='{site.runs[name]}']")
    page.get_by_role("button", name="Compare", exact=True).click()
    page.wait_for_url(re.compile("runs="))
    tab.settle()
    assert "scripted/" in page.get_by_label("Summary").inner_text()
    page.set_viewport_size({"width": 390, "height": 844})
    beyond = page.get_by_label("Figures of both runs").evaluate("part => part.scrollWidth - part.clientWidth")
    assert beyond <= 1, "a phone shows the difference without scrolling"
    parts = page.get_by_label("Differences by part").locator("tbody td")
    is_bold = "part => Number(getComputedStyle(part).fontWeight) > 500 && part.textContent.trim() !== ''"
    bold = [part for part in parts.locator(":scope, :scope *").all() if part.evaluate(is_bold)]
    assert bold
    assert all("is-clear" in (part.get_attribute("class") or "") for part in bold), "bold is only what is significant"
    page.set_viewport_size(WIDE)
    page.get_by_role("link", name="scripted/large better").click()
    page.wait_for_url(re.compile("show=worse"))
    row = page.locator(".task-grid tbody tr").first
    outcomes = row.locator(".mark").all_inner_texts()
    assert len(set(outcomes)) == 2, outcomes
    row.locator("[data-row]").click()
    page.locator("tr.drawer img").wait_for()
    assert page.locator(".answer-card").count() == 2
    page.locator(".answer-card a").first.click()
    page.locator("h2", has_text="Expected and answered").wait_for()


def test_clear_effects_of_a_variant_are_bold_on_a_phone_too(tab: Tab, site: Site) -> None:
    tab.page.set_viewport_size({"width": 390, "height": 844})
    page = tab.open(f"/experiments/{site.experiment}/")
    clear = page.locator(".effects tbody td > b")
    weights = clear.evaluate_all("parts => parts.map(part => Number(getComputedStyle(part).fontWeight))")
    assert weights
    assert min(weights) >= 600


def test_a_wrong_answer_is_found_from_the_gallery_of_canvases(tab: Tab, site: Site) -> None:
    page = tab.open(f"/canvases/{site.canvas_set}/")
    run = site.runs["canvases small"]
    for name, label, value, option in (
        ("task", "Class", "count", "Count"),
        ("run", "Run", str(run), re.compile(rf"run {run}$")),
        ("outcome", "Outcome", "wrong", "Wrong"),
    ):
        menu = page.locator("details.menu", has=page.locator("small").get_by_text(label, exact=True))
        menu.locator("summary").click()
        menu.get_by_role("link", name=option, exact=True).click()
        page.wait_for_url(re.compile(f"{name}={value}"))
    image = page.locator(".gallery img").first
    image.wait_for()
    assert image.evaluate("(image) => image.decode().then(() => image.naturalWidth)") > 0
    page.locator(".gallery a").first.click()
    page.locator(".canvas-shape").first.hover()
    assert re.search(r" at \(-?\d+, -?\d+\)", page.locator("[data-shape]").inner_text())
    count = page.locator(".asked", has=page.locator("small", has_text="Count"))
    count.locator("td.not-right", has=page.locator(".is-wrong")).get_by_role("link").first.click()
    page.locator(".ruling .is-wrong").wait_for()
    page.locator(".text del, .text ins").first.wait_for()


def test_a_task_edited_in_the_admin_makes_a_new_version(new_tab: NewTab, site: Site, admin_state: Any) -> None:
    tab = new_tab(site, storage_state=admin_state)
    page = tab.open(f"/admin/benchmarks/task/{site.tasks['capitals']}/change/")
    page.fill("#id_expected_output", "Paris, on the Seine")
    page.locator("input[name=_save]").click()
    page.locator(".messagelist .success").wait_for()
    page = tab.open("/datasets/capitals/")
    page.locator(".lead", has_text="Version 3").first.wait_for()
    page.get_by_text("Edited here since the file").wait_for()
    page.get_by_role("link", name="Versions").click()
    page.get_by_role("link", name="Changes 1 task", exact=True).click()
    page.locator("ins", has_text="Seine").wait_for()


def test_a_dataset_is_uploaded_fixed_edited_compared_and_downloaded(tab: Tab, site: Site, tmp_path: Path) -> None:
    page = tab.open("/datasets/")
    page.get_by_role("link", name="Add dataset").click()
    path = tmp_path / "rivers.yaml"
    path.write_text(RIVERS.replace("input:", "inptu:"))
    page.set_input_files("#id_file", path)
    page.locator("#checked").get_by_text("did you mean input?").wait_for()
    path.write_text(RIVERS)
    page.set_input_files("#id_file", [])
    page.set_input_files("#id_file", path)
    page.locator("#checked").get_by_text("1 task without errors").wait_for()
    page.get_by_role("button", name="Upload dataset").click()
    page.get_by_text("Dataset Rivers created with 1 task.").wait_for()

    page.get_by_role("link", name="Tasks", exact=True).click()
    page.get_by_role("link", name="The Nile", exact=True).click()
    page.get_by_role("link", name="Edit task").click()
    checked = page.locator("#checked")
    checked.get_by_text("Which sea does the Nile reach?").wait_for()
    page.fill("#id_input", "")
    checked.get_by_role("link", name="Input").wait_for()
    page.fill("#id_input", "Which sea does the river Nile reach?")
    checked.get_by_text("the river Nile").wait_for()
    page.locator("summary", has_text="Context").click()
    page.get_by_role("button", name="Add another passage").click()
    page.get_by_role("textbox", name="passage 1").fill("The Nile flows north.")
    checked.get_by_text("The Nile flows north.").wait_for()
    page.get_by_role("button", name="Save task").click()
    page.get_by_text("Rivers now has version 2.").wait_for()

    page = tab.open("/datasets/rivers/versions/")
    page.get_by_role("link", name="Changes 1 task", exact=True).click()
    page.locator("ins", has_text="river").wait_for()
    page = tab.open("/datasets/rivers/versions/")
    with page.expect_download() as download:
        page.get_by_role("link", name="Version 1 as YAML").click()
    head, _, rest = Path(download.value.path()).read_text().partition("\n")
    assert (head, rest) == ("# yaml-language-server: $schema=dataset.schema.json", RIVERS)
    page.get_by_role("button", name="Restore version 1").click()
    page.get_by_text("is current again").wait_for()
    page.get_by_label("More", exact=True).click()
    page.get_by_role("button", name="Delete dataset").click()
    page.get_by_role("button", name="Delete dataset").click()
    page.get_by_text("Dataset Rivers deleted.").wait_for()


def test_a_task_that_a_model_failed_is_copied_to_a_new_dataset(tab: Tab, site: Site) -> None:
    page = tab.open(f"/runs/{site.runs['reasoning small']}/?outcome=wrong")
    page.locator("#results").get_by_role("checkbox").first.check()
    page.get_by_role("button", name="Copy selected tasks to a dataset").click()
    page.fill("#id_slug", "hard-cases")
    page.get_by_role("button", name="Copy 1 task").click()
    page.get_by_text("1 task copied: hard-cases now has version 1.").wait_for()
    page.get_by_role("link", name="Tasks", exact=True).click()
    page.locator("#tasks tbody a").first.click()
    page.locator("tr", has_text="scripted/small").locator(".is-wrong").first.wait_for()


def test_a_table_is_imported_with_chosen_columns(tab: Tab, site: Site, tmp_path: Path) -> None:
    page = tab.open("/datasets/new/table/")
    path = tmp_path / "peaks.csv"
    path.write_text("peak,metres,key\nHow high is Ararat?,5137,a\nHow high is Etna?,3403,b\n")
    page.set_input_files("#id_file", path)
    page.locator("#checked").get_by_text("no column is recognized as the input").wait_for()
    page.get_by_label("peak becomes").select_option("peak=input")
    page.locator("#checked").get_by_text("How high is Etna?").wait_for()
    page.get_by_label("metres becomes").select_option("metres=expected")
    page.locator("#checked td", has_text="3403").wait_for()
    page.get_by_role("button", name="Import table").click()
    page.get_by_text("Dataset peaks created with 2 tasks.").wait_for()


def test_a_chosen_theme_applies_to_every_page_and_to_charts(tab: Tab, site: Site) -> None:
    page = tab.open(f"/runs/{site.runs['canvases medium']}/surface/")
    background = "getComputedStyle(document.documentElement).backgroundColor"
    text = "getComputedStyle(document.querySelector('.chart svg text')).fill"
    light = page.evaluate(background), page.evaluate(text)
    page.select_option("#theme", "dark")
    page.locator("html[data-theme=dark]").wait_for()
    tab.settle()
    dark = page.evaluate(background), page.evaluate(text)
    assert sum(_channels(light[0])) > 600
    assert sum(_channels(dark[0])) < 200
    assert sum(_channels(light[1])) < sum(_channels(dark[1]))
    page.get_by_role("link", name="Leaderboard").first.click()
    page.wait_for_url("**/leaderboard/**")
    assert page.evaluate(background) == dark[0]


def test_days_and_times_are_those_of_the_reader(new_tab: NewTab, site: Site) -> None:
    zone = ZoneInfo("Pacific/Kiritimati")  # 14 hours ahead of the server
    page = new_tab(site, timezone_id=zone.key, locale="en-US").open("/")
    today = page.locator("time[data-day]")
    for time in (page.locator("main time:not([data-day])").first, today):
        moment = datetime.fromisoformat(time.get_attribute("datetime") or "").astimezone(zone)
        assert time.get_attribute("title") == f"{moment:%b} {moment.day}, {moment.year}, {moment:%H:%M}"
    assert today.inner_text() == f"{moment:%A, %B} {moment.day}"


def test_a_cell_of_the_difficulty_surface_leads_to_its_results(tab: Tab, site: Site) -> None:
    page = tab.open(f"/runs/{site.runs['canvases medium']}/surface/")
    page.locator(".chart svg a").first.click()
    page.wait_for_url(re.compile(r"group=\w+.*n_shapes=\d|n_shapes=\d.*group=\w+"))
    task_class = page.locator("#group option:checked").inner_text()
    rows = page.locator("#results tbody tr").all_inner_texts()
    assert rows
    assert all(task_class in row for row in rows)


def _channels(color: str) -> list[int]:
    return [int(float(part)) for part in re.findall(r"[\d.]+", color)[:3]]


def test_a_run_on_a_benchmark_starts_in_two_clicks(tab: Tab, new_tab: NewTab, site: Site) -> None:
    start = re.compile(r"^Start (run|\d+ runs)$")
    page = tab.open("/benchmarks/")
    page.get_by_role("link", name="Start run on reasoning").click()
    page.locator("#sheet #plan dt", has_text="Requests").wait_for()
    assert page.url.endswith("/benchmarks/"), "the page below stays"
    assert tab.violations() == []
    page.keyboard.press("Escape")
    assert not page.locator("#sheet").is_visible()
    page.get_by_role("link", name="Start run on reasoning").click()
    page.get_by_role("button", name=start).click()
    page.wait_for_url(re.compile(r"/(runs|experiments)/\d+/$"))
    page = new_tab(site, java_script_enabled=False).page
    page.goto(site.url("/benchmarks/"))
    page.get_by_role("link", name="Start run on reasoning").click()
    page.wait_for_url("**/runs/new/?dataset=reasoning")
    page.get_by_role("button", name=start).wait_for()


@pytest.mark.parametrize(
    ("path", "link"),
    [
        ("/models/", "main a[href^='/runs/new/?model=scripted']"),
        ("/", "table.board a[href^='/runs/new/?dataset=']"),
    ],
)
def test_the_short_form_opens_over_models_and_empty_cells_of_the_overview(tab: Tab, path: str, link: str) -> None:
    page = tab.open(path)
    page.locator(link).first.click()
    page.locator("#sheet[open] #plan dt", has_text="Requests").wait_for()
    assert page.locator("#sheet").evaluate("(sheet) => sheet.scrollTop") == 0, "its head is in view"
    ticked = page.locator("#sheet input[name=model]:checked").first
    assert (ticked.get_attribute("value") or "").startswith("scripted/")
    assert page.locator("#sheet input[name=dataset]:checked").count()
    assert tab.violations() == []
    assert page.url.endswith(path), "the page below stays"
    page.keyboard.press("Escape")
    assert not page.locator("#sheet").is_visible()


def test_on_a_phone_the_marks_of_an_analysis_stand_below_the_names_of_their_models(tab: Tab) -> None:
    tab.page.set_viewport_size({"width": 390, "height": 700})
    for path in ("/datasets/reasoning/analysis/", "/datasets/3-to-8-shapes-seed-11/analysis/"):
        page = tab.open(path)
        page.locator(".analysis tbody tr").nth(18).scroll_into_view_if_needed()
        middles = "(all) => all.map((each) => each.getBoundingClientRect()).map((box) => box.x + box.width / 2)"
        names = page.locator(".analysis thead th[title]")
        assert 0 <= names.first.evaluate("(name) => name.getBoundingClientRect().y") < 200, "it has scrolled"
        for row in (0, 18):
            marks = page.locator(".analysis tbody tr").nth(row).locator(".matrix-score")
            assert marks.evaluate_all(middles) == pytest.approx(names.evaluate_all(middles), abs=1), path


@pytest.mark.parametrize("width", [1280, 1440])
def test_what_was_expected_and_answered_is_in_view_beside_three_metrics(tab: Tab, site: Site, width: int) -> None:
    tab.page.set_viewport_size({"width": width, "height": 900})
    page = tab.open(f"/runs/{site.runs['coding medium']}/?outcome=")
    heads = page.locator("#results thead th:visible")
    assert [head.strip() for head in heads.all_inner_texts()][1:] == [
        *("Task", "Outcome", "Exact match", "Contains", "Edit similarity", "Expected", "Answer")
    ]
    widths = heads.evaluate_all("(heads) => heads.slice(-2).map((head) => head.getBoundingClientRect().width)")
    assert min(widths) > 110, "of the texts"
    overflow = page.locator("#results .scroll").evaluate("(table) => table.scrollWidth - table.clientWidth")
    assert overflow == 0


def test_a_list_of_models_by_provider_keeps_what_is_chosen(tab: Tab) -> None:
    page = tab.open("/runs/new/?dataset=reasoning")
    page.check("input[name=model][value='scripted/medium']")
    page.get_by_role("button", name="By provider").click()
    page.get_by_role("heading", name="scripted", exact=True).wait_for()
    assert page.locator("input[name=model][value='scripted/medium']").is_checked()
    page.get_by_label("Find or add models").fill("random")
    shown, chosen = page.locator("#models-options .option-row:visible"), page.locator("input[name=model]:checked")
    assert shown.count() == chosen.count() + 1, "what is chosen, and what is found"
    page.locator("#models-views").get_by_role("button", name="All").click()
    page.locator("#models-views [aria-pressed=true]", has_text="All").wait_for()
    assert shown.count() == chosen.count() + 1, "a list that is fetched anew is filtered, too"
    page.locator("#models-views").get_by_role("button", name="By provider").click()
    page.wait_for_url(re.compile("models_shown=provider"))
    assert tab.violations() == []


def test_metrics_of_a_rescoring_are_changed_and_estimated(tab: Tab, site: Site) -> None:
    page = tab.open(f"/runs/{site.runs['reasoning medium']}/rescore/")
    page.get_by_role("button", name="Choose metrics").click()
    page.get_by_label("Token F1").check()
    page.locator("#scored-by", has_text="Token F1, ").wait_for(state="attached")
    assert tab.violations() == []


def test_the_estimate_is_shown_for_a_model_that_is_typed_and_unknown(tab: Tab) -> None:
    page = tab.open("/runs/new/?dataset=reasoning&repeats=1")
    page.check("input[name=model][value='scripted/medium']")
    page.get_by_label("Find or add models").fill("scripted/typed")
    page.keyboard.press("Enter")
    page.locator("input[name=model][value='scripted/typed']:checked").wait_for()
    page.get_by_role("button", name="Start 2 runs").wait_for()
    page.locator("#models-options .cost", has_text="up to $").first.wait_for(state="attached")


@pytest.mark.parametrize("chosen", ["dataset=reasoning&model=scripted/medium", "dataset=reasoning", ""])
def test_a_field_says_what_is_wrong_with_it_until_it_is_fixed(tab: Tab, chosen: str) -> None:
    page = tab.open(f"/runs/new/?repeats=1&{chosen}")
    page.locator("summary", has_text="More options").click()
    field = page.locator("#id_temperature")
    field.fill("9")
    page.locator("#id_temperature[aria-invalid=true][aria-describedby~=id_temperature_error]").wait_for()
    assert page.locator("#id_temperature_error").inner_text() == "Ensure this value is less than or equal to 2."
    assert tab.violations() == []
    field.fill("1")
    page.locator("#id_temperature:not([aria-invalid])").wait_for()
    assert page.locator("#id_temperature_error").count() == 0
    if "model" not in chosen:
        return
    page.get_by_role("button", name="Save as schedule").click()
    page.locator("#id_when:focus").wait_for()
    assert page.locator("#id_temperature").input_value() == "1"


def test_a_trial_is_compared_with_the_one_before_whose_prompt_comes_back(tab: Tab) -> None:
    page = tab.open("/runs/new/?dataset=reasoning&model=scripted/medium&repeats=1&system_prompt=First")
    tried = page.locator("#trial:not([hx-get]) table")
    page.get_by_role("button", name="Try 3 tasks").click()
    tried.wait_for(timeout=60_000)
    page.locator("summary", has_text="System prompt First").click()
    page.get_by_label("System prompt").fill("Second")
    page.get_by_role("button", name="Try 3 tasks").click()
    page.locator("#trial p", has_text="Before: ").wait_for()
    tried.wait_for(timeout=60_000)
    page.get_by_role("button", name="Use the earlier prompt").click()
    page.locator("summary", has_text="System prompt First").wait_for()
    assert page.get_by_label("System prompt").input_value() == "First"
