"""What holds for every page, whatever it shows: nothing on the console, accessible in both colours, no wider than a
phone, and all there without scripts. A new route cannot be forgotten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from frontend.tests.browser.addresses import ADMIN_PAGES, NO_PAGES, PAGES, Address, pages, routes
from frontend.tests.browser.site import Site
from frontend.tests.browser.visiting import COLOURS, NARROW, ROOM, UNSEEN, Visit

pytestmark = pytest.mark.browser
every_page = pytest.mark.parametrize("address", [pytest.param(address, id=name) for name, address in pages()])
first_of_every_route = pytest.mark.parametrize(
    "address", [pytest.param(next(iter(variants.values())), id=name) for name, variants in PAGES.items()]
)
every_admin_page = pytest.mark.parametrize(
    "address", [pytest.param(address, id=name) for name, address in ADMIN_PAGES.items()]
)


def test_every_route_of_the_pages_is_looked_at_or_is_no_page() -> None:
    assert set(PAGES) | set(NO_PAGES) == routes("frontend")


def test_every_list_and_form_of_our_admin_is_looked_at() -> None:
    ours = {name for name in routes("admin") if name.startswith(("benchmarks_", "tasks_app_"))}
    kinds = ("_changelist", "_preview", "_upload", "_upload_new", "_table", "_import")
    shown = {name for name in ours if name.endswith(kinds)}
    assert shown <= set(ADMIN_PAGES)
    assert {name for name in ADMIN_PAGES if "_" in name} - {"app_list"} <= ours


@every_page
def test_a_page_is_accessible_and_quiet_in_light_and_dark_and_fits_a_phone(
    address: Address, tab: Visit, site: Site
) -> None:
    page = tab.open(address(site))
    assert page.locator("h1").count() == 1
    assert tab.faults() == []
    assert tab.overflow() == []
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size(NARROW)
    tab.settle()
    assert tab.overflow() == []
    assert tab.faults((*COLOURS, *ROOM)) == []


@first_of_every_route
def test_a_page_is_all_there_without_scripts(address: Address, open_tab: Callable[..., Visit], site: Site) -> None:
    tab = open_tab(site, java_script_enabled=False)
    response = tab.page.goto(site.url(address(site)))
    assert response is not None
    assert response.status == 200
    assert tab.page.locator("main h1").is_visible()
    for chart in tab.page.locator("[data-chart]").all():
        picture = chart.locator("img")
        picture.scroll_into_view_if_needed()
        box = picture.bounding_box()
        assert box is not None
        assert box["width"] > 200, "the chart is no picture"
        assert box["height"] > 60, "the chart is no picture"


@every_admin_page
def test_a_page_of_the_admin_is_accessible_and_quiet_in_light_and_dark(
    address: Address, open_tab: Callable[..., Visit], site: Site, admin_state: Any
) -> None:
    tab = open_tab(site, storage_state=admin_state)
    page = tab.open(address(site))
    assert tab.faults() == []
    assert not page.evaluate(UNSEEN), "a sign that hides or turns text is not written out"
    page.emulate_media(color_scheme="dark")
    tab.settle()
    assert tab.faults(COLOURS) == []


@pytest.mark.parametrize("path", ["/nowhere/", "/runs/999999/", "/datasets/no-such/", "/canvases/no-such/3/"])
def test_what_is_not_there_is_said_in_a_page_of_the_site(path: str, open_tab: Callable[..., Visit], site: Site) -> None:
    tab = open_tab(site)
    page = tab.open(path, status=404)
    assert page.locator("h1").inner_text() == "Not found"
    assert page.get_by_role("link", name="Overview").first.is_visible()
    assert tab.faults() == []
    tab.problems.clear()  # Chromium itself notes a 404 on the console


def test_the_description_of_the_api_is_quiet(tab: Visit) -> None:
    page = tab.open("/api/docs")
    page.locator(".opblock").first.wait_for()


def test_a_wide_screen_does_not_stretch_lines_of_text(tab: Visit) -> None:
    tab.page.set_viewport_size({"width": 2560, "height": 1200})
    page = tab.open("/")
    box = page.locator("main").bounding_box()
    assert box is not None
    assert box["width"] <= 1200
