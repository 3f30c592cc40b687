"""What holds for every page: nothing on the console, accessible in both color schemes, no wider than a phone, complete
without scripts, and text from models and datasets stays text. A route that is not visited fails a test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from frontend.tests.browser.addresses import ADMIN_OBJECTS, NO_PAGES, PAGES, admin_pages, admin_routes, pages, routes
from frontend.tests.browser.conftest import NewTab
from frontend.tests.browser.scripted_models import ONE_LINE
from frontend.tests.browser.site import Site
from frontend.tests.browser.tabs import COLOR_RULES, INVISIBLE, NARROW, SPACE_RULES, WIDE, Tab

if TYPE_CHECKING:
    from playwright.sync_api import Page

# With a site of its own: in one process with the other tests of a browser it would be the last to end.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("every page")]

HEAVIEST = 120_000
"""Bytes of a document before compression."""
HEAVIEST_SENT = 48_500
"""Bytes of a page as it arrives, with its styles and scripts, without the font and the script that draws charts."""

# What the texts of the hostile model and dataset would create if a page did not escape them.
_INJECTED = """
document.querySelectorAll(
  "main script:not([type='application/json']), #injected, [onload], [onerror], [onmouseover], a[href^='javascript:'], "
  + "img[src='x']").length
"""
# Visible texts in less than 12 px, which are hard to read; charts and figures in SVG are scaled to the screen.
_TINY_TEXT = """
const tiny = new Set();
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
  const element = texts.currentNode.parentElement;
  if (!texts.currentNode.data.trim() || !element.checkVisibility()) continue;
  const matrix = element instanceof SVGElement ? element.getScreenCTM() : null;
  const size = parseFloat(getComputedStyle(element).fontSize) * (matrix ? Math.hypot(matrix.b, matrix.d) : 1);
  if (size < 11.99) tiny.add(`${size.toFixed(1)} px: ${texts.currentNode.data.trim().slice(0, 40)}`);
}
return [...tiny];
"""
_WEIGHT = """
const entries = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
const parts = entries.filter(({ name, initiatorType }) =>
  ["navigation", "link", "script"].includes(initiatorType) && !/\\.woff2$|\\/assets\\/charts-/.test(name));
return [parts[0].decodedBodySize, parts.reduce((sum, part) => sum + part.encodedBodySize, 0)];
"""


def test_every_route_is_visited_or_is_not_a_page() -> None:
    assert set(PAGES) | set(NO_PAGES) == routes("frontend")
    forms = {name for name in admin_routes() if name.endswith(("_preview", "_upload"))}
    assert forms <= set(ADMIN_OBJECTS) <= admin_routes()


def test_every_page_is_accessible_fits_a_phone_and_shows_hostile_text_as_text(tab: Tab, site: Site) -> None:
    faults: dict[str, list[str]] = {}
    for name, address in pages():
        tab.page.set_viewport_size(WIDE)
        tab.page.emulate_media(color_scheme="light")
        page = tab.open(address(site))
        problems = tab.violations() + tab.overflow()
        if page.locator("h1").count() != 1:
            problems.append("not exactly one h1")
        document, sent = page.evaluate(f"() => {{ {_WEIGHT} }}")
        if document > HEAVIEST or sent > HEAVIEST_SENT:
            problems.append(f"{document} bytes, {sent} sent")
        problems += page.evaluate(f"() => {{ {_TINY_TEXT} }}")
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size(NARROW)
        tab.settle()
        problems += tab.overflow() + tab.violations((*COLOR_RULES, *SPACE_RULES))
        problems += _hostile_text(page) + tab.take_problems()
        if problems:
            faults[name] = problems
    assert not faults, "\n".join(f"{name}: {problem}" for name, problems in faults.items() for problem in problems)


def test_every_page_is_complete_without_scripts(new_tab: NewTab, site: Site) -> None:
    tab = new_tab(site, java_script_enabled=False)
    for name, variants in PAGES.items():
        response = tab.page.goto(site.url(next(iter(variants.values()))(site)))
        assert response is not None
        assert response.status == 200, name
        assert tab.page.locator("main h1").is_visible(), name


def test_every_page_of_the_admin_is_accessible_in_light_and_dark(new_tab: NewTab, site: Site, admin_state: Any) -> None:
    tab = new_tab(site, storage_state=admin_state)
    faults: dict[str, list[str]] = {}
    for name, path in admin_pages(site).items():
        tab.page.emulate_media(color_scheme="light")
        page = tab.open(path)
        problems = tab.violations()
        if page.evaluate(INVISIBLE):
            problems.append("characters that hide or reverse text")
        page.emulate_media(color_scheme="dark")
        tab.settle()
        problems += tab.violations(COLOR_RULES) + tab.take_problems()
        if problems:
            faults[name] = problems
    assert not faults, "\n".join(f"{name}: {problem}" for name, problems in faults.items() for problem in problems)


def test_a_missing_page_has_an_error_page_of_the_site(tab: Tab) -> None:
    for path in ("/nowhere/", "/runs/999999/", "/datasets/no-such/", "/canvases/no-such/3/"):
        page = tab.open(path, status=404)
        assert page.locator("h1").inner_text() == "Page not found", path
        assert page.get_by_role("link", name="Overview").first.is_visible(), path
        assert tab.violations() == [], path


def test_the_api_description_loads_without_errors(tab: Tab) -> None:
    tab.open("/api/docs").locator(".opblock").first.wait_for()


def test_a_wide_screen_does_not_stretch_lines_of_text(tab: Tab) -> None:
    tab.page.set_viewport_size({"width": 2560, "height": 1200})
    box = tab.open("/").locator("main").bounding_box()
    assert box is not None
    assert box["width"] <= 1440


# A place in the last cell of the first row that leads on, where nothing else can be pressed.
_PLAIN_PLACE = """
row => {
  row.scrollIntoView({ block: "center" });
  for (const cell of [...row.querySelectorAll("td")].reverse()) {
    const { left, top, width, height } = cell.getBoundingClientRect();
    for (let x = left + 2; x < left + width; x += 6) {
      const here = document.elementFromPoint(x, top + height / 2);
      if (here?.matches("th a")) return [x, top + height / 2];
    }
  }
}
"""


def test_rows_of_lists_lead_to_what_they_name(tab: Tab, site: Site) -> None:
    tab.page.set_viewport_size(WIDE)
    for path in (
        *("/benchmarks/", "/datasets/", "/datasets/reasoning/tasks/", "/canvases/", "/models/"),
        *("/runs/", "/experiments/", "/judges/", "/reviews/", "/preferences/"),
    ):
        page = tab.open(path)
        row = page.locator("main tbody tr:has(th a)").first
        address = row.locator("th a").first.get_attribute("href")
        place = row.evaluate(_PLAIN_PLACE)
        assert place, path
        page.mouse.click(*place)
        page.wait_for_url(site.url(str(address)))


_EDGE_IS_SEEN = """
text => {
  text.scrollIntoView({ block: "center" });
  const { left, top, height } = text.getBoundingClientRect();
  return document.elementFromPoint(left + 1, top + height / 2) === text;
}
"""


def test_the_ends_of_an_axis_are_not_cut_on_a_phone(tab: Tab, site: Site) -> None:
    tab.page.set_viewport_size({"width": 360, "height": 800})
    for path in (f"/experiments/{site.experiment}/", "/datasets/reasoning/"):
        first = tab.open(path).locator("svg.ruler.large > text[text-anchor=middle]").first
        assert first.text_content() == "0"
        assert first.evaluate(_EDGE_IS_SEEN), path


_IS_ON_TOP = """
option => {
  option.scrollIntoView({ block: "center" });
  const { left, top, width, height } = option.getBoundingClientRect();
  return document.elementFromPoint(left + width / 2, top + height / 2) === option;
}
"""


_BEYOND_THE_EDGE = """
chips => chips.filter((chip) => {
  const { left, right } = chip.getBoundingClientRect();
  return left < 0 || right > innerWidth || chip.scrollWidth > chip.clientWidth;
}).map((chip) => chip.textContent.trim())
"""


def test_chips_of_a_phone_are_all_in_view_and_open_over_the_page(tab: Tab, site: Site) -> None:
    tab.page.set_viewport_size({"width": 360, "height": 800})
    gallery = f"/canvases/{site.canvas_set}/"
    rows = {
        "/leaderboard/": "Ranking",
        gallery: "Canvases shown",
        gallery + "?task=count&answer=99": "Canvases shown",
        f"/experiments/{site.experiment}/answers/": "Benchmark",
    }
    for path, name in rows.items():
        page = tab.open(path)
        row = page.get_by_role("navigation", name=name)
        chips = row.locator("summary")
        assert page.locator(".chip:visible").count() > 3, "more than a row has room for"
        assert page.locator(".chip:visible").evaluate_all(_BEYOND_THE_EDGE) == [], path
        for chip in (chips.first, chips.last):
            chip.click()
            menu = row.locator("details[open]")
            assert menu.locator("a").last.evaluate(_IS_ON_TOP), path
            assert tab.overflow() == []
            chip.click()
    page = tab.open(f"{gallery}5/")
    assert page.locator(".chip").evaluate_all(_BEYOND_THE_EDGE) == []


# How far the lines of these parts are apart, in pixels; those of fields are the fields.
_APART = """
parts => {
  const lines = parts.flatMap((part) => {
    const text = document.createRange();
    text.selectNodeContents(part);
    return part.matches(":empty, select") ? [part.getBoundingClientRect()] : [...text.getClientRects()];
  }).map(({ top, height }) => top + height / 2);
  return Math.max(...lines) - Math.min(...lines);
}
"""


def test_what_belongs_together_shares_a_line_of_a_phone(tab: Tab, site: Site) -> None:
    tab.page.set_viewport_size({"width": 390, "height": 844})
    page = tab.open("/runs/")
    baseline = page.locator("tr", has=page.locator(f"a[href='/runs/{site.runs['random']}/']"))
    assert baseline.locator(".finding > .small").evaluate_all(_APART) == 0
    page = tab.open("/judges/")
    judge = page.locator("table").first.locator("tbody tr").first
    assert judge.locator("[data-label='People agree'], [data-label='People agree'] + td").evaluate_all(_APART) < 8
    assert judge.locator("[data-label='Labels']").evaluate_all(_APART) < 8
    page = tab.open("/preferences/")
    run = page.locator("table").first.locator("tbody tr").first
    assert run.locator("[data-label='Cost'], [data-label='Queued']").evaluate_all(_APART) < 8
    page = tab.open(PAGES["steps"]["steps that do not match"](site))
    assert page.locator("[name='text'], [name='only']").evaluate_all(_APART) < 8


# How many pixels the texts of a cell lie on each other, at most.
_OVERLAP = """
cells => Math.max(0, ...cells.flatMap(cell => {
  const text = document.createRange();
  const boxes = [...cell.children].map(part => (text.selectNodeContents(part), text.getBoundingClientRect()));
  return boxes.flatMap((a, at) => boxes.slice(at + 1).map(b =>
    a.top < b.bottom - 1 && b.top < a.bottom - 1 ? Math.min(a.right, b.right) - Math.max(a.left, b.left) : 0));
}))
"""


def test_texts_of_an_incomplete_score_lie_beside_each_other_on_a_phone(tab: Tab, site: Site) -> None:
    tab.page.set_viewport_size({"width": 390, "height": 844})
    page = tab.open("/compare/?runs={canvases large},{canvases medium},{canvases small}".format_map(site.runs))
    page.locator(".matrix-score").first.wait_for()
    # As a run on few tasks says it, beside a score with its interval.
    page.locator(".matrix-score").evaluate_all(
        """cells => cells.forEach(cell => {
          cell.querySelectorAll(":scope > small").forEach(part => part.remove());
          for (const text of ["n = 27 of 40", "67.5% scored", "Completed with errors"])
            cell.insertAdjacentHTML("beforeend", `<small class="nowrap">${text}</small>`);
        })"""
    )
    assert page.locator(".matrix-score").evaluate_all(_OVERLAP) <= 0


def test_answers_about_a_canvas_fit_beside_it(tab: Tab, site: Site) -> None:
    for width in (1280, 1440):
        tab.page.set_viewport_size({"width": width, "height": 900})
        for index in (2, 5):
            answers = tab.open(f"/canvases/{site.canvas_set}/{index}/").get_by_role("region", name="Answers")
            assert answers.evaluate("part => part.scrollWidth - part.clientWidth") == 0, (width, index)


_LEFT = "part => part.getBoundingClientRect().left"


def test_lists_code_and_actions_of_a_phone_leave_no_room_unused(tab: Tab, site: Site) -> None:
    tab.page.set_viewport_size({"width": 390, "height": 844})
    head = tab.open("/models/").locator(".section-head", has_text="Connections")
    assert head.locator(".actions button").first.evaluate(_LEFT) == head.locator("h2").evaluate(_LEFT)
    row = tab.open(PAGES["audit"]["audit"](site)).locator("tbody tr").first
    assert row.locator("th, [data-label='Above most frequent answer']").evaluate_all(
        "cells => cells.every((cell) => cell.offsetWidth === cell.parentElement.offsetWidth)"
    )
    code = tab.open(f"/datasets/{site.canvas_set}/files/").locator("#first-file")
    whole = code.evaluate("code => code.scrollHeight")
    assert code.evaluate("code => code.offsetHeight") <= 240 < whole
    samples = tab.open("/datasets/new/generated/").locator(".plan details")
    assert samples.count() > 3
    assert samples.evaluate_all("folds => folds.at(-1).offsetTop - folds.at(-2).offsetTop") < 52
    tab.page.locator("[name='generator']").select_option("reasoning")
    tab.page.locator(".plan details[open] summary", has_text="Reasoning").wait_for()


_BELOW_EACH_OTHER = """
rows => rows.flatMap((row) => {
  const boxes = [...row.children].map((part) => part.getBoundingClientRect());
  const narrow = boxes[0].width < 120 ? [`${row.textContent.trim()} has a name ${boxes[0].width} pixels wide`] : [];
  const over = boxes.slice(1).some((box, nth) => box.top < boxes[nth].bottom);
  return over ? [...narrow, `${row.textContent.trim()} overprints itself`] : narrow;
})
"""


@pytest.mark.parametrize("width", [390, 360])
def test_what_can_be_compared_stands_below_its_name_on_a_phone(tab: Tab, site: Site, width: int) -> None:
    tab.page.set_viewport_size({"width": width, "height": 800})
    for name in ("compare", "compare on two datasets", "compare nothing task by task"):
        rows = tab.open((PAGES["compare"] | PAGES["compare-tasks"])[name](site)).locator(".comparable > li")
        assert rows.count() > 1, name
        assert rows.evaluate_all(_BELOW_EACH_OTHER) == [], name


def test_an_answer_of_five_megabytes_is_cut_with_a_link_to_the_full_text(tab: Tab, site: Site) -> None:
    page = tab.open(f"/runs/{site.runs['hostile']}/")
    page.locator("#results tbody th a").last.click()
    page.get_by_text("more characters.").first.wait_for()
    assert tab.overflow() == []
    assert page.locator("main").evaluate("(main) => main.innerText.length") < HEAVIEST
    path = page.locator("#answer a[href$='/actual.txt']", has_text="View full text").get_attribute("href") or ""
    full = page.request.get(site.url(path))
    assert ONE_LINE in full.text()
    assert full.headers["content-type"] == "text/plain; charset=utf-8"


def test_a_response_of_the_api_cannot_run_as_a_page(tab: Tab, site: Site) -> None:
    response = tab.page.request.get(site.url(f"/api/v1/benchmarks/runs/{site.runs['hostile']}/results"))
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "script-src 'self'" in response.headers["content-security-policy"]


def _hostile_text(page: Page) -> list[str]:
    """What of the page's texts acts instead of being shown, with every fold open."""
    page.mouse.move(400, 400)
    page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    faults = ["injected elements"] if page.evaluate(_INJECTED) else []
    return [*faults, "characters that hide or reverse text"] if page.evaluate(INVISIBLE) else faults
