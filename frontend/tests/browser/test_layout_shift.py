"""Nothing jumps on a page while what it shows goes on by itself."""

from __future__ import annotations

from collections import Counter
from urllib.parse import urlsplit

import pytest

from frontend.tests.browser.conftest import NewTab
from frontend.tests.browser.site import API, Site

pytestmark = pytest.mark.slow

MOST_SHIFT = 0.02
DELAY_MS = 600.0
TASKS = 22
OBSERVE = """
window.shifts = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    const where = entry.sources.map(({ node }) => node?.nodeName + " " + (node?.textContent ?? "").trim().slice(0, 60));
    if (!entry.hadRecentInput) window.shifts.push([entry.value, where]);
  }
}).observe({ type: "layout-shift", buffered: true });
"""
ENDED = ("completed", "completed_with_errors", "failed")


def hangs_in_inbox(new_tab: NewTab, site: Site) -> bool:
    """After two minutes, a notice moves what is below it, which is no matter of the run watched."""
    overview = new_tab(site).page
    overview.goto(site.url("/"))
    found = f"Run {site.runs['stuck']} has " in overview.content()
    overview.wait_for_timeout(0 if found else 3000)
    overview.close()
    return found


@pytest.mark.parametrize("width", [1440, 390])
def test_live_pages_stand_still_and_read_at_most_once_a_second(new_tab: NewTab, site: Site, width: int) -> None:
    request = {
        "name": "Watched",
        "datasets": ["reasoning"],
        "models": ["scripted/medium"],
        "metrics": ["exact_match"],
        "limit": TASKS,
        "concurrency": 1,
    }
    site.stack.wait_until(lambda: hangs_in_inbox(new_tab, site), "the run that hangs is in the inbox", 180)
    site.models.delay_ms = DELAY_MS
    reads: Counter[tuple[str, str]] = Counter()
    try:
        made = site.stack.post(f"{API}/experiments", request)
        run, experiment = made["runs"][0], made["id"]
        paths = [f"/runs/{run}/", f"/experiments/{experiment}/", "/", "/runs/", "/datasets/reasoning/", "/benchmarks/"]
        paths += ["/leaderboard/", "/leaderboard/overall/", "/models/scripted/medium/"]
        pages = {}
        for path in paths:
            page = new_tab(site, viewport={"width": width, "height": 900}).page
            page.add_init_script(OBSERVE)
            page.on(
                "response",
                lambda response, path=path: reads.update(
                    [(path, urlsplit(response.url).path)] * (response.request.resource_type in ("xhr", "fetch"))
                ),
            )
            page.goto(site.url(path))
            pages[path] = page
        site.stack.wait_until(lambda: site.stack.get(f"{API}/runs/{run}")["status"] in ENDED, "the run ends", 120)
    finally:
        site.models.delay_ms = 0.0
    for page in pages.values():
        page.wait_for_timeout(3000)
    shifts = {path: page.evaluate("window.shifts") for path, page in pages.items()}
    seconds = {path: page.evaluate("performance.now() / 1000") for path, page in pages.items()}
    moved = {path: found for path, found in shifts.items() if sum(shift for shift, _ in found) >= MOST_SHIFT}
    assert not moved, [(path, shift, where) for path, found in moved.items() for shift, where in found]
    fast = {key: count for key, count in reads.items() if count > seconds[key[0]] + 1}
    assert not fast
