"""Quality against cost or latency as the page has it."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from benchmarks.summary import Expected
from frontend import charts, drawing
from frontend.chart_parts import Measure
from frontend.charts import Contender

SCORE = Measure("exact_match", "Exact match")


def contender(label: str, mean: float, cost: float | None, model: str = "") -> Contender:
    return Contender(label, Expected(mean, 100, mean - 0.1, mean + 0.05, n_expected=100), cost, 100.0, model)


def drawn(*contenders: Contender, by: str = "cost") -> str:
    chart = charts.quality_against(by, contenders, SCORE)
    assert chart is not None
    [panel] = chart.panels
    ElementTree.fromstring(panel)
    return panel


def test_a_dot_stands_at_its_share_of_the_plot_and_has_its_interval() -> None:
    html = drawn(contender("a/x", 0.75, 1.0), contender("a/y", 0.5, 2.0))
    assert '<circle class="best" cx="43.48%" cy="25.00%" r="4.5"><title>a/x 0.750</title>' in html
    assert '<line class="span best" x1="43.48%" y1="35.00%" x2="43.48%" y2="20.00%"/>' in html
    assert '<circle class="behind" cx="86.96%" cy="50.00%"' in html
    assert 'role="img" aria-label="Exact match versus cost per 1,000 results. Line: best score at each price. ' in html


def test_the_frontier_is_a_line_of_steps_through_the_best() -> None:
    html = drawn(contender("a/x", 0.5, 1.0), contender("a/y", 0.75, 2.0), contender("a/z", 0.25, 2.0))
    assert re.findall(r'class="front" x1="([\d.]+)%" y1="([\d.]+)%" x2="([\d.]+)%" y2="([\d.]+)%"', html) == [
        ("43.48", "50.00", "86.96", "50.00"),
        ("86.96", "50.00", "86.96", "25.00"),
    ]


NARROW = r'<text class="name narrow" [^>]+>([^<]+)</text>'


def test_a_phone_has_shorter_names_at_places_of_their_own() -> None:
    html = drawn(
        contender("v/x-of-a-long-name-that", 0.75, 2.0),
        contender("vendor/y", 0.5, 1.0),
        contender("vendor/z", 0.2, 3.0),
    )
    assert re.findall(NARROW, html) == ["x-of-a-long-name-th…", "y", "z"]
    assert len(re.findall(r'<text class="name" ', html)) == 3


def test_a_phone_without_room_for_all_names_has_numbers_and_a_key() -> None:
    close = [contender(f"vendor/of-a-long-name-{place}", 0.5, 1.0 + place / 100) for place in range(4)]
    chart = charts.quality_against("cost", close, SCORE)
    assert chart is not None
    assert chart.key == tuple(each.label for each in close)
    assert sorted(re.findall(NARROW, chart.panels[0])) == ["1", "2", "3", "4"]


def test_names_that_would_stand_far_from_their_points_are_numbers_on_every_page_and_names_in_files() -> None:
    crowd = [contender(f"vendor/step-by-step-{place}", 0.0, 1.0 + place / 50) for place in range(3)]
    roomy = [contender(f"vendor/step-by-step-{place}", 0.1 + place / 4, 1.0 + place) for place in range(3)]
    for contenders, is_crowded in ((crowd, True), (roomy, False)):
        chart = charts.quality_against("latency", [*contenders, contender("a/x", 0.9, 2.0)], SCORE)
        assert chart is not None
        assert chart.is_crowded is is_crowded
        assert ('class="plot names crowded"' in chart.panels[0]) is is_crowded
        assert bool(chart.key) is is_crowded
        assert "vendor/step-by-step-0 0.000</text>" in drawing.svg(chart) or not is_crowded


def test_names_that_all_have_room_need_no_key() -> None:
    chart = charts.quality_against("cost", [contender("a/x", 0.75, 1.0), contender("a/y", 0.5, 2.0)], SCORE)
    assert chart is not None
    assert chart.key == ()


def test_variants_of_one_model_are_joined_by_a_dashed_line() -> None:
    assert 'class="joined"' in drawn(contender("a/x 1", 0.5, 1.0, "a/x"), contender("a/x 2", 0.6, 2.0, "a/x"))
    assert 'class="joined"' not in drawn(contender("a/x", 0.5, 1.0), contender("a/y", 0.6, 2.0))


def test_what_is_free_stands_beside_a_logarithmic_axis() -> None:
    html = drawn(contender("a/x", 0.5, 0.0), contender("a/y", 0.6, 0.1), contender("a/z", 0.7, 10.0))
    texts = re.findall(r'text-anchor="middle">([^<]+)</text>', html)
    assert texts == ["Free", "$0.10", "$1", "$10"]


@pytest.mark.parametrize(
    ("highest", "ticks"), [(100.0, ["$0", "$50", "$100"]), (0.8, ["$0", "$0.20", "$0.40", "$0.60", "$0.80"])]
)
def test_the_ticks_of_an_axis_from_0_are_round_numbers(highest: float, ticks: list[str]) -> None:
    html = drawn(contender("a/x", 0.5, highest / 2), contender("a/y", 0.6, highest))
    assert re.findall(r'text-anchor="middle">([^<]+)</text>', html) == ticks


def test_names_are_escaped_and_invisible_characters_written_out() -> None:
    html = drawn(contender("<b>", 0.5, 1.0), contender("a\u202eb", 0.6, 2.0))
    assert "&lt;b&gt; 0.500" in html
    assert "a⟨RLO⟩b 0.600" in html


def test_what_scores_no_more_than_a_guess_is_not_on_the_frontier() -> None:
    rows = [contender("a/none", 0.0, 1.0), contender("a/guess", 0.25, 2.0), contender("a/more", 0.5, 3.0)]
    for guess, best in ((None, ["a/guess 0.250", "a/more 0.500"]), (0.25, ["a/more 0.500"])):
        chart = charts.quality_against("cost", rows, SCORE, guess=guess)
        assert chart is not None
        assert re.findall(r'<circle class="best"[^>]*><title>([^<]+)', chart.panels[0]) == best
