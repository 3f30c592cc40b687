"""Links between the documents lead somewhere, and every page can be found from the index."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages import DOCS, ROOT, links, page, pictures

PAGES = sorted(str(path.relative_to(ROOT)) for folder in (ROOT, DOCS, DOCS / "how-to") for path in folder.glob("*.md"))


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_to_a_file(name: str) -> None:
    here = (ROOT / name).parent
    inside = [link.partition("#")[0] for link in links(page(name)) if "://" not in link]
    assert [link for link in inside if link and not (here / link).exists()] == []


@pytest.mark.skipif(not (DOCS / "screenshots").is_dir(), reason="no pictures have been taken yet")
@pytest.mark.parametrize("name", PAGES)
def test_every_picture_is_there(name: str) -> None:
    here = (ROOT / name).parent
    assert [picture for picture in pictures(page(name)) if not (here / picture).is_file()] == []


def test_every_page_is_in_the_index() -> None:
    indexed = {(DOCS / link).resolve() for link in links(page("docs/README.md"))}
    pages = {path.resolve() for path in DOCS.rglob("*.md") if "tests" not in path.relative_to(DOCS).parts}
    assert pages - indexed == {Path(DOCS / "README.md").resolve()}
