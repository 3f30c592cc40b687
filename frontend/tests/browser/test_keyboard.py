"""The site with the keyboard only."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from frontend.tests.browser.site import Site
from frontend.tests.browser.tabs import Tab

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

_FOCUSED = """() => {
  const part = document.activeElement, box = part.getBoundingClientRect(), style = getComputedStyle(part);
  return {
    name: part.id || part.innerText || part.getAttribute("aria-label") || part.tagName,
    visible: box.width > 0 && box.height > 0 && parseFloat(style.outlineWidth) > 0 && style.outlineStyle !== "none",
    tag: part.tagName,
  };
}"""


def tab_to(page: Page, name: str, most: int = 80) -> None:
    """Press Tab until the element with that id or text has the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate(_FOCUSED)["name"] == name:
            return
    raise AssertionError(f"Tab does not lead to {name!r}")


def test_the_first_tab_stop_is_a_link_to_the_content(tab: Tab) -> None:
    page = tab.open("/runs/")
    page.keyboard.press("Tab")
    focused = page.evaluate(_FOCUSED)
    assert focused["name"] == "Skip to content"
    assert focused["visible"]
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('main').contains(document.activeElement)")


def test_every_tab_stop_is_visible(tab: Tab) -> None:
    for path in ("/", "/runs/new/", "/compare/", "/canvases/", "/leaderboard/"):
        page = tab.open(path)
        page.keyboard.press("Tab")
        stops = []
        while (focused := page.evaluate(_FOCUSED))["tag"] != "BODY" and len(stops) < 40:
            stops.append(focused)
            page.keyboard.press("Tab")
        assert len(stops) > 8, path
        assert [stop["name"] for stop in stops if not stop["visible"]] == [], path


def test_a_run_is_started_without_a_mouse(tab: Tab) -> None:
    page = tab.open("/runs/new/?dataset=capitals&repeats=1")
    tab_to(page, "Find or add models")
    page.keyboard.type("baseline/reference")
    page.keyboard.press("Enter")
    tab_to(page, "change")
    page.keyboard.press("Enter")
    page.locator("#metric-capitals-regex").wait_for()
    tab_to(page, "metric-capitals-regex")
    page.keyboard.press("Space")
    tab_to(page, "start")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/runs/\d+/$"))
    page.locator("#status .is-completed").wait_for(timeout=60_000)
    status = page.locator("#status").inner_text()
    assert "1.000" in status
    assert "Regular expression" not in status


def test_j_and_k_go_through_the_results_that_match_a_filter(tab: Tab, site: Site) -> None:
    page = tab.open(f"/runs/{site.runs['canvases small']}/?outcome=wrong&group=count")
    wrong = page.locator("#results tbody a").all_inner_texts()
    page.locator("#results tbody a").first.focus()
    page.keyboard.press("Enter")
    page.locator("a[rel=next]").wait_for()
    walked = [_task_of(page)]
    for key in ("j", "j", "k"):
        before = page.url
        page.keyboard.press(key)
        page.wait_for_function("(before) => location.href !== before", arg=before)
        walked.append(_task_of(page))
    assert walked == [wrong[0], wrong[1], wrong[2], wrong[1]]


def test_letters_typed_into_a_field_do_not_navigate(tab: Tab, site: Site) -> None:
    page = tab.open(f"/canvases/{site.canvas_set}/5/")
    assert page.locator("a[rel=next]").is_visible()
    page = tab.open(f"/runs/{site.runs['canvases small']}/")
    page.locator("#text").press_sequentially("jk")
    assert page.url.endswith(f"/runs/{site.runs['canvases small']}/")
    assert page.locator("#text").input_value() == "jk"


def test_the_palette_goes_where_the_arrows_lead(tab: Tab) -> None:
    page = tab.open("/leaderboard/?dataset=reasoning")
    page.keyboard.press("/")
    page.keyboard.type("basic-cod")
    row = page.locator("#matches [aria-selected=true]")
    page.locator("#matches .title", has_text="Basic coding").first.wait_for()
    dataset = row.inner_text()
    assert "Basic coding" in dataset
    page.keyboard.press("ArrowDown")
    assert row.inner_text() != dataset
    page.keyboard.press("ArrowUp")
    assert row.inner_text() == dataset
    page.keyboard.press("Enter")
    page.wait_for_url("**/datasets/basic-coding/")
    page.keyboard.press("Control+k")
    page.locator("#matches .kind", has_text="Recent").first.wait_for()
    assert page.locator("#matches .title").first.inner_text() == "Basic coding"
    page.keyboard.press("Escape")
    assert not page.locator("#palette").is_visible()


def test_a_question_mark_lists_all_keys(tab: Tab) -> None:
    page = tab.open("/leaderboard/?dataset=reasoning")
    page.keyboard.press("?")
    page.locator("#all-keys dd", has_text="Search and commands").wait_for()
    page.keyboard.press("Escape")
    page.locator("#all-keys").wait_for(state="hidden")
    assert page.locator(".find kbd").inner_text() == "Ctrl K"
    page.keyboard.press("/")
    page.locator("#search-words:focus").wait_for()
    page.keyboard.type("reas")
    page.keyboard.press("Control+a")
    page.keyboard.type("?")
    page.locator("#all-keys dd", has_text="Search and commands").wait_for()
    page.keyboard.press("Escape")
    page.locator("#all-keys").wait_for(state="hidden")
    page.keyboard.press("/")
    page.locator("#search-words:focus").wait_for()
    page.keyboard.type("reas?")
    assert page.locator("#search-words").input_value() == "reas?"
    assert not page.locator("#palette .keys-hint kbd", has_text="?").is_visible(), "it would type a question mark"
    page.locator("#palette").get_by_role("link", name="all keys").click()
    page.locator("#all-keys dd", has_text="Search and commands").wait_for()


def test_long_forms_keep_what_saves_in_view(tab: Tab, site: Site) -> None:
    for width, height in ((1440, 900), (1280, 720), (390, 844)):
        tab.page.set_viewport_size({"width": width, "height": height})
        page = tab.open(f"/datasets/tool-use-basic/tasks/{site.tasks['tool-use-basic']}/edit/")
        save = page.get_by_role("button", name="Save task")
        for scrolled in (0, 700):
            page.evaluate("(top) => scrollTo(0, top)", scrolled)
            box = save.bounding_box()
            assert box is not None
            at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
            assert page.evaluate("({x, y}) => document.elementFromPoint(x, y)?.innerText", at) == "Save task", width
        assert width > 390 or not page.evaluate(
            "document.querySelector('.side nav').getBoundingClientRect().top < innerHeight"
        ), "one bar at the foot of a phone"
        covered = """() => {
          const bar = document.querySelector(".form-end").getBoundingClientRect();
          const part = document.activeElement.getBoundingClientRect();
          return part.top > bar.top - 12 && part.top < bar.bottom;
        }"""
        page.locator("#id_id").focus()
        for _ in range(25):
            page.keyboard.press("Tab")
            name = page.evaluate(_FOCUSED)["name"]
            if name == "Save task":
                break
            assert not page.evaluate(covered), (width, name)


@pytest.mark.parametrize("path", ["/runs/single/", "/benchmarks/", "/datasets/reasoning/analysis/"])
def test_what_acts_on_a_selection_appears_with_it_and_moves_nothing(tab: Tab, path: str) -> None:
    for width in (1440, 390):
        tab.page.set_viewport_size({"width": width, "height": 640})
        page = tab.open(path)
        bar, pages = page.locator(".bulk"), page.get_by_role("navigation", name="Main")
        assert bar.is_hidden()
        height = page.evaluate("document.documentElement.scrollHeight")
        # Without scrolling to it: where a page ends, the bar rests at the end of the list.
        page.locator(":is(tbody, #offered) [type=checkbox]").first.evaluate("(box) => box.click()")
        box = bar.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] == 640, "at the foot, as each of the lists is longer"
        assert bar.get_by_role("button").first.is_enabled()
        assert (
            bar.locator(".count").evaluate("(part) => getComputedStyle(part, '::before').content")
            == "counter(selected)"
        )
        assert pages.is_visible() == (width == 1440), "one bar at the foot of a phone"
        assert page.evaluate("document.documentElement.scrollHeight") == height


def test_what_compares_is_in_view_before_a_run_is_chosen(tab: Tab) -> None:
    for width in (1440, 390):
        tab.page.set_viewport_size({"width": width, "height": 640})
        page = tab.open("/compare/")
        row = page.locator("#offered .option-row").first
        row.evaluate("(row) => row.scrollIntoView()")
        compare, pages = page.locator(".bulk").get_by_role("button").first, page.get_by_role("navigation", name="Main")
        before = row.bounding_box()
        for is_chosen in (False, True):
            if is_chosen:
                page.locator("#offered [type=checkbox]").first.evaluate("(box) => box.click()")
            box = compare.bounding_box()
            assert box is not None
            assert box["y"] + box["height"] <= 640, "in view"
            assert compare.is_disabled(), "it takes two"
            assert pages.is_visible() == (width == 1440 or not is_chosen), "one bar at the foot once a run is chosen"
        assert row.bounding_box() == before, "no row moves"
        page.locator("#offered [type=checkbox]").nth(1).evaluate("(box) => box.click()")
        assert compare.is_enabled()


def test_the_yaml_of_a_dataset_is_numbered_indented_and_left_by_escape(tab: Tab) -> None:
    page = tab.open("/datasets/capitals/edit/yaml/")
    text = page.locator("#id_file")
    before = text.input_value()
    assert page.locator(".line-numbers span").count() == len(before.split("\n"))
    text.focus()
    page.keyboard.press("Control+Home")
    page.keyboard.press("Tab")
    assert text.input_value() == f"  {before}"
    page.keyboard.press("Shift+Tab")
    assert text.input_value() == before
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate(_FOCUSED)["tag"] != "TEXTAREA"
    lines = before.split("\n")
    at = next(n for n, line in enumerate(lines, 1) if "input:" in line)
    # In the page, which a click may scroll.
    place = "(text) => [text.getBoundingClientRect().top + scrollY, text.offsetHeight]"
    before_errors = text.evaluate(place)
    text.fill(before.replace("input:", "inptu:", 1))
    page.locator(f"#checked a[data-line='{at}']").click()
    assert text.evaluate(place) == before_errors, "errors move no line"
    chosen = "(text) => text.value.slice(text.selectionStart, text.selectionEnd)"
    assert text.evaluate(chosen) == lines[at - 1].replace("input:", "inptu:")
    assert str(at) in page.locator(".line-numbers .has-error").all_inner_texts()


def test_on_a_phone_the_number_of_a_line_is_as_high_as_its_wrapped_line(tab: Tab) -> None:
    tab.page.set_viewport_size({"width": 390, "height": 844})
    page = tab.open("/datasets/capitals/edit/yaml/")
    text = page.locator("#id_file")
    text.fill(f"name: {'long ' * 40}\ntasks:")
    heights = page.locator(".line-numbers span").evaluate_all("(all) => all.map((each) => each.offsetHeight)")
    assert heights[0] >= 100
    assert heights[0] % 20 == 0
    fits, scrolls = text.evaluate("(each) => [each.scrollWidth <= each.clientWidth, each.scrollHeight]")
    assert fits
    assert scrolls <= text.evaluate("(each) => each.clientHeight")
    page = tab.open("/datasets/reasoning/edit/yaml/")
    text = page.locator("#id_file")
    heights = page.locator(".line-numbers span").evaluate_all("(all) => all.map((each) => each.offsetHeight)")
    assert text.evaluate("(each) => each.scrollHeight") == sum(heights) - 20 + 10, "-20 below the last, 10 around all"
    page.set_viewport_size({"width": 1280, "height": 720})
    page.wait_for_function("document.querySelector('.line-numbers span').offsetHeight === 20")


def test_the_colors_of_the_yaml_stay_at_its_lines(tab: Tab) -> None:
    page = tab.open("/datasets/capitals/edit/yaml/")
    text = page.locator("#id_file")
    text.fill(
        "# first\nname: x\ntasks:\n  - id: a\n    input: |\n      note: no key\n    expected: b" + 90 * "\n" + "end: c"
    )
    assert page.locator(".colored").text_content() == text.input_value().replace("\n", "")
    keys = ["name", "tasks", "id", "input", "expected", "end"]
    assert page.locator(".colored b").all_text_contents() == keys
    assert page.locator(".colored [data-kind='comment']").all_text_contents() == ["# first"]
    drawn = "(box) => Array.from(box.firstChild.children, (line) => [line.dataset.kind, line.innerHTML])"
    for old, new in (("|", ""), ("name", "# no\nname"), ("\n\n\n", "\n"), ("tasks:\n", ""), ("input:", "input: >")):
        edit = (
            "(box, [old, text]) => box.setRangeText(text, box.value.indexOf(old), box.value.indexOf(old) + old.length)"
        )
        text.evaluate(edit, [old, new])
        text.dispatch_event("input")
        edited, value = page.locator(".colored").evaluate(drawn), text.input_value()
        assert len(edited) == len(value.split("\n"))
        text.fill("")
        text.fill(value)
        assert page.locator(".colored").evaluate(drawn) == edited, (old, new)
    end = text.evaluate("(each) => { each.scrollTo(0, each.scrollHeight); return each.scrollTop; }")
    page.wait_for_function(
        "(end) => document.querySelector('.colored > div').style.transform.endsWith(`-${end}px)`)", arg=end
    )
    last = page.locator(".colored b").last.evaluate("(key) => key.getBoundingClientRect().bottom")
    bottom = text.evaluate("(each) => each.getBoundingClientRect().bottom")
    assert 0 < bottom - last < 30, "they scroll with it"


def test_what_the_browser_keeps_of_visits_may_be_anything(tab: Tab) -> None:
    page = tab.open("/leaderboard/?dataset=reasoning")
    for kept in ("null", "{", "[null]", '[{"title": 1, "url": "/"}]', '[{"title": "x", "url": "//evil.example/"}]'):
        page.evaluate("(kept) => localStorage.setItem('visited', kept)", kept)
        page.reload()
        page.keyboard.press("Control+k")
        page.locator("#matches .title", has_text="New run").wait_for()
        assert page.locator("#matches .kind", has_text="Recent").count() == 0


def test_the_heads_of_a_whole_table_sort_it(tab: Tab) -> None:
    page = tab.open("/leaderboard/?dataset=reasoning")
    scores = page.locator("main table.ranking tbody td:nth-child(4)")
    best_first = [float(text.split()[0]) for text in scores.all_inner_texts()]
    assert len(set(best_first)) > 2
    head = page.locator("th", has_text="Score").first
    head.locator(".sort").focus()
    page.keyboard.press("Enter")
    assert [float(text.split()[0]) for text in scores.all_inner_texts()] == sorted(best_first)
    assert head.get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Enter")
    assert [float(text.split()[0]) for text in scores.all_inner_texts()] == sorted(best_first, reverse=True)


def _task_of(page: Page) -> str:
    page.wait_for_load_state()
    return page.locator("h1").inner_text()
