"""What a hostile model or dataset says stays text in a real browser: nothing runs, nothing is injected."""

from __future__ import annotations

import pytest

from frontend.tests.browser.addresses import Address, pages
from frontend.tests.browser.scripted import ONE_LINE
from frontend.tests.browser.site import Site
from frontend.tests.browser.visiting import UNSEEN, Visit

pytestmark = pytest.mark.browser

TOUCHED = ("overview", "datasets", "hostile dataset", "hostile task", "runs", "launch like hostile", "run hostile")
TOUCHED += ("hostile result", "compare hostile", "leaderboard of the hostile")
HEAVIEST = 150_000

_INJECTED = """
document.querySelectorAll(
  "main script:not([type='application/json']), #injected, [onload], [onerror], [onmouseover], a[href^='javascript:'], "
  + "img[src='x']").length
"""


@pytest.mark.parametrize("address", [pytest.param(address, id=name) for name, address in pages() if name in TOUCHED])
def test_hostile_text_is_inert(address: Address, tab: Visit, site: Site) -> None:
    path = address(site)
    page = tab.open(path)
    page.mouse.move(400, 400)
    page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    assert page.evaluate(_INJECTED) == 0
    assert not page.evaluate(UNSEEN)
    assert len(page.request.get(site.url(path)).body()) < HEAVIEST


def test_five_megabytes_in_one_line_are_folded_with_a_link_to_the_whole(tab: Visit, site: Site) -> None:
    page = tab.open(f"/runs/{site.runs['hostile']}/")
    page.locator("#results tbody a", has_text="long").click()
    assert page.get_by_text("more characters are not shown here").first.is_visible()
    assert tab.overflow() == []
    assert page.locator("main").evaluate("(main) => main.innerText.length") < HEAVIEST
    whole = page.request.get(site.url(page.get_by_role("link", name="Whole text").last.get_attribute("href") or ""))
    assert ONE_LINE in whole.text()
    assert whole.headers["content-type"] == "text/plain; charset=utf-8"


def test_results_read_over_the_api_run_nothing_in_a_browser(tab: Visit, site: Site) -> None:
    answer = tab.page.request.get(site.url(f"/api/v1/benchmarks/runs/{site.runs['hostile']}/results"))
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "script-src 'self'" in answer.headers["content-security-policy"]
