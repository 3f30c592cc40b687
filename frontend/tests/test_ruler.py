"""The ruler: where its parts stand, what it leaves out, and that no text leaves its attribute."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.presentation.cells import Mean
from frontend import ruler

SCORES = st.floats(0, 1)


def rects(html: str) -> list[tuple[str, float, float]]:
    """The class, the left and the right edge of each band."""
    found = re.findall(r'<rect class="(\w+)" x="([\d.]+)" y="4" width="([\d.]+)"', html)
    return [(name, float(x), round(float(x) + float(width), 1)) for name, x, width in found]


def places(html: str, name: str) -> list[float]:
    return [float(x) for x in re.findall(rf'class="{name}" d="M([\d.]+) ', html)]


def test_a_score_has_its_interval_the_inner_half_of_it_and_a_tick_at_the_mean() -> None:
    html = ruler.ruler(0.5, 0.25, 0.75)
    assert rects(html) == [("band", 30.5, 89.5), ("half", 45.2, 74.8)]
    assert places(html, "lead") == [60]
    assert 'd="M1 9H119M1 6v6M60 6v6M119 6v6"' in html
    assert 'aria-hidden="true"' in html, "the numbers stand beside it"


def test_guessing_is_a_dotted_line_where_it_is_known() -> None:
    assert places(ruler.ruler(0.5, 0.25, 0.75, 0.25), "guess") == [30.5]
    assert "guess" not in ruler.ruler(0.5, 0.25, 0.75)


def test_a_mean_without_an_interval_is_a_tick_alone() -> None:
    assert rects(ruler.ruler(0.5, None, None)) == []
    assert places(ruler.ruler(0.5, None, None), "lead") == [60]


def test_what_is_no_score_from_0_to_1_is_not_drawn() -> None:
    assert [ruler.ruler(mean, None, None) for mean in (None, -0.1, 1.1)] == ["", "", ""]


def test_a_difference_has_zero_in_the_middle() -> None:
    html = ruler.difference_ruler(0.1, 0.0, 0.2, 0.2)
    assert places(html, "lead") == [89.5]
    assert rects(html) == [("band", 60, 119), ("half", 74.8, 104.2)]
    assert places(ruler.difference_ruler(0.0, 0.0, 0.0, 0.0), "lead") == [60]


@pytest.mark.parametrize(
    ("bounds", "end", "texts"),
    [([0.993, 0.2], 1.0, ["−100", "0", "+100"]), ([0.05], 0.05, ["−5", "0", "+5"]), ([], 0.0, ["−100", "0", "+100"])],
)
def test_a_line_of_differences_ends_at_whole_points(bounds: list[float], end: float, texts: list[str]) -> None:
    assert ruler.ends(bounds) == end
    assert re.findall(r">([^<]+)</text>", ruler.difference_scale(end)) == texts


def test_several_models_stand_on_one_ruler_and_the_best_has_its_interval() -> None:
    html = ruler.strip([0.0, 1.0], Mean(0.5, 0.4, 0.6), 0.25, "2 <models>", 220)
    assert places(html, "other") == [1, 219]
    assert places(html, "lead") == [110]
    assert 'role="img" aria-label="2 &lt;models&gt;"' in html
    assert rects(ruler.strip([0.5], None, None, "1 model", 220)) == []


@given(SCORES, SCORES, SCORES, SCORES)
def test_every_part_lies_on_the_axis_in_its_order(low: float, mean: float, high: float, guess: float) -> None:
    low, mean, high = sorted((low, mean, high))
    html = ruler.ruler(mean, low, high, guess)
    ElementTree.fromstring(html)
    (_, left, right), (_, inner_left, inner_right) = rects(html)
    (tick,) = places(html, "lead")
    assert 1 <= left <= inner_left + 0.1 <= tick + 0.2 <= inner_right + 0.3 <= right + 0.4 <= 119.5
