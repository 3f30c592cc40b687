"""``python -m frontend.tests.browser.screenshots``: take the screenshots of the README and the docs anew.

They show a seeded installation whose models are scripts, and are named so: no number in them is a real model's.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from frontend.tests.browser.conftest import chromium
from frontend.tests.browser.site import Site, fresh_site, seed
from frontend.tests.browser.tabs import OPTIONS, Tab, new_context, open_tab
from tests.support.stack import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Page

FOLDER = ROOT / "docs" / "screenshots"
WIDTH, HEIGHT = 1280, 860
MAX_BYTES = 250_000
NAMED = "from benchmarks.models import Experiment; Experiment.objects.update(name='Autumn prompt check')"
"""The site's own name of it is an attack on pages."""
AGED = """
from datetime import timedelta
from django.db.models import DateTimeField, F
from benchmarks.models import Experiment, Run
times = [field.name for field in Run._meta.concrete_fields if isinstance(field, DateTimeField)]
keys = list(Run.objects.order_by("-pk").values_list("pk", flat=True))
for place, key in enumerate(keys):
    back = timedelta(hours=0.9 * place**1.75)
    Run.objects.filter(pk=key).update(**{name: F(name) - back for name in times})
    Run.objects.get(pk=key).results.update(finished_at=F("finished_at") - back)
for experiment in Experiment.objects.all():
    oldest = experiment.runs.order_by("created_at").values_list("created_at", flat=True).first()
    Experiment.objects.filter(pk=experiment.pk).update(created_at=oldest or experiment.created_at)
"""
"""A site of some weeks: each run is older than the next, all of which were seeded a minute ago."""


@dataclass(frozen=True, slots=True)
class Screenshot:
    """Which page, how much of it, and what is done on it first."""

    name: str
    path: Callable[[Site], str]
    height: int = HEIGHT
    prepare: Callable[[Page], object] = lambda page: None


SCREENSHOTS = (
    Screenshot("overview", lambda site: "/"),
    Screenshot("experiment", lambda site: f"/experiments/{site.experiment}/"),
    Screenshot("tasks", lambda site: f"/experiments/{site.experiment}/answers/?open={site.tasks['reasoning']}"),
    Screenshot("run", lambda site: f"/runs/{site.runs['canvases medium']}/"),
    Screenshot("compare", lambda site: "/compare/?runs={canvases large},{canvases medium}".format_map(site.runs)),
    Screenshot(
        "canvas",
        lambda site: f"/canvases/{site.canvas_set}/5/",
        prepare=lambda page: page.locator(".canvas-shape").nth(3).hover(),
    ),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, fresh_site() as site:
        seed(site)
        site.shell(NAMED + AGED)
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(OPTIONS))
        tab = open_tab(new_context(browser), site.url(""))
        for screenshot in SCREENSHOTS:
            _take(screenshot, tab, site, folder / f"{screenshot.name}.png")
        browser.close()


def _take(screenshot: Screenshot, tab: Tab, site: Site, file: Path) -> None:
    tab.page.set_viewport_size({"width": WIDTH, "height": screenshot.height})
    screenshot.prepare(tab.open(screenshot.path(site)))
    tab.page.screenshot(path=file)
    size = file.stat().st_size
    if size > MAX_BYTES:
        raise SystemExit(f"{file} has {size:,} bytes; the limit is {MAX_BYTES:,}.")
    print(f"{file.relative_to(ROOT) if file.is_relative_to(ROOT) else file}: {size:,} bytes")


if __name__ == "__main__":
    main()
