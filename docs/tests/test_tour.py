"""``docs/tour.md`` is walked: its files are there, have the names that it says to look for, and its commands work."""

from __future__ import annotations

import re

import pytest
from pages import ROOT, headings, page, section

PAGE = page("docs/tour.md")
STOPS = [heading for heading in headings(PAGE) if re.match(r"## \d+\. ", heading)]


def test_the_tour_has_ten_files_in_order() -> None:
    assert [int(re.findall(r"\d+", stop)[0]) for stop in STOPS] == list(range(1, 11))


@pytest.mark.parametrize("stop", STOPS)
def test_a_file_has_what_the_tour_says_to_look_for(stop: str) -> None:
    [name] = re.findall(r"`([\w/.]+)`", stop)
    code = (ROOT / name).read_text(encoding="utf-8")
    [looks] = re.findall(r"^Look for (.*?)\n\n", section(PAGE, stop), re.MULTILINE | re.DOTALL)
    named = re.findall(r"`([A-Za-z_]+)`", looks)
    assert named
    assert [word for word in named if not re.search(rf"\b{word}\b", code)] == []
    assert "\nTry: " in section(PAGE, stop)
