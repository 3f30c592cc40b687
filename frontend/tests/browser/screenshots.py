"""``python -m frontend.tests.browser.screenshots``: draw the pictures of the README and the docs anew.

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
from frontend.tests.browser.site import Site, seeded_site
from frontend.tests.browser.visiting import OPTIONS, Visit, new_context, visit
from tests.support.stack import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Page

FOLDER = ROOT / "docs" / "screenshots"
WIDTH, HEIGHT = 1280, 860
MOST_BYTES = 200_000


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture: which page, how much of it, in which colours, and what is done on it first."""

    name: str
    path: Callable[[Site], str]
    height: int = HEIGHT
    colours: str = "light"
    prepare: Callable[[Page], object] = lambda page: None


PICTURES = (
    Picture("overview", lambda site: "/"),
    Picture("run", lambda site: f"/runs/{site.runs['canvases medium']}/", 1000),
    Picture(
        "canvas",
        lambda site: f"/canvases/{site.canvas_set}/5/",
        prepare=lambda page: page.locator(".canvas-shape").nth(3).hover(),
    ),
    Picture("compare", lambda site: "/compare/?runs={canvases large},{canvases medium}".format_map(site.runs)),
    Picture("surface", lambda site: f"/runs/{site.runs['canvases medium']}/surface/", 1000),
    Picture("result", lambda site: site.result_path("canvases small", "?outcome=wrong"), 960),
    Picture("leaderboard", lambda site: f"/leaderboard/?dataset={site.canvas_set}", 960),
    Picture("dark", lambda site: f"/runs/{site.runs['reasoning medium']}/", 1000, "dark"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, seeded_site() as site:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(OPTIONS))
        tab = visit(new_context(browser), site.url(""))
        for picture in PICTURES:
            _draw(picture, tab, site, folder / f"{picture.name}.png")
        browser.close()


def _draw(picture: Picture, tab: Visit, site: Site, file: Path) -> None:
    tab.page.set_viewport_size({"width": WIDTH, "height": picture.height})
    tab.page.emulate_media(color_scheme="dark" if picture.colours == "dark" else "light")
    picture.prepare(tab.open(picture.path(site)))
    tab.page.screenshot(path=file)
    size = file.stat().st_size
    if size > MOST_BYTES:
        raise SystemExit(f"{file} has {size:,} bytes; {MOST_BYTES:,} are allowed")
    print(f"{file.relative_to(ROOT) if file.is_relative_to(ROOT) else file}: {size:,} bytes")


if __name__ == "__main__":
    main()
