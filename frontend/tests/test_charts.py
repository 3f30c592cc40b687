from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontend import charts, drawing
from frontend.chart_parts import Chart, Measure
from frontend.charts import Contender

SCORE = Measure("exact_match", "Exact match")
POINTS = st.tuples(st.integers(0, 8), st.integers(0, 8))
CELLS = [
    {
        **{"group": group, "n_shapes": n, "mean": 0.9 - n / 20, "low": 0.5 - n / 20, "high": 0.95, "n": 20},
        "url": f"/runs/1/?n_shapes={n}",
    }
    for group in ("count", "existence")
    for n in (3, 4, 5)
]
CONTENDERS = [
    Contender("a/large", 0.9, 0.85, 0.93, 100, cost=12.0, latency=900.0),
    Contender("a/small", 0.7, 0.62, 0.77, 100, cost=0.3, latency=200.0),
    Contender("b/dear", 0.65, 0.58, 0.72, 100, cost=5.0, latency=None),
]


def all_charts() -> list[Chart | None]:
    levels = {
        "easy": {"mean": 0.9, "low": 0.8, "high": 1.0, "n": 10},
        "hard": {"mean": 0.2, "low": 0, "high": 0.4, "n": 9},
    }
    return [
        charts.by_level("difficulty", "By difficulty", "Difficulty", levels, SCORE),
        charts.histogram("spread", [0, 0.5, 1], [3, 4], SCORE),
        charts.surface_heat_map(CELLS, SCORE),
        charts.surface_lines(CELLS, SCORE),
        charts.ranking(CONTENDERS, SCORE),
        charts.quality_against("cost", CONTENDERS, SCORE),
        charts.quality_against("latency", CONTENDERS, SCORE),
        charts.deltas([("b", -0.1, -0.2, 0.0, 50), ("c", 0.05, -0.01, 0.11, 48)], "a", SCORE),
    ]


@pytest.mark.parametrize("chart", all_charts(), ids=lambda chart: chart.name)
def test_every_chart_is_drawn_with_its_title_and_has_a_table(chart: Chart) -> None:
    svg = drawing.svg(chart)
    assert svg.startswith("<svg")
    assert chart.title in re.sub(r"<[^>]+>", "", svg)
    assert chart.note
    assert chart.rows
    assert all(len(row) == len(chart.columns) for row in chart.rows)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("chart", all_charts(), ids=lambda chart: chart.name)
def test_every_colour_of_a_chart_is_a_token_of_the_page(chart: Chart, theme: drawing.Theme) -> None:
    written = {key: value for key, value in chart.spec.items() if key != "data"}
    assert not re.search(r'"#[0-9a-f]{3,8}"|"rgb\(', json.dumps(written))
    assert "var(--" not in json.dumps(drawing.resolved(chart.spec, theme))


@given(st.lists(POINTS, min_size=1, max_size=12))
def test_the_frontier_is_what_no_other_point_beats(points: list[tuple[int, int]]) -> None:
    on_it = {points[place] for place in charts.frontier(points)}
    beaten = {
        (cost, quality)
        for cost, quality in points
        if any(c <= cost and q >= quality and (c, q) != (cost, quality) for c, q in points)
    }
    assert on_it == set(points) - beaten


def test_a_model_of_unknown_price_is_left_out_of_the_cost_chart() -> None:
    unknown = Contender("c/unpriced", 0.99, 0.9, 1.0, 100, cost=None, latency=100.0)
    chart = charts.quality_against("cost", [*CONTENDERS, unknown], SCORE)
    assert chart is not None
    assert "c/unpriced" not in {row[0] for row in chart.rows}


def test_there_is_no_chart_without_numbers() -> None:
    assert charts.by_level("x", "x", "x", {"easy": {"mean": None}}, SCORE) is None
    assert charts.histogram("x", [0, 1], [0], SCORE) is None
    assert charts.surface_heat_map([], SCORE) is None
    assert charts.quality_against("cost", CONTENDERS[:1], SCORE) is None
    assert charts.deltas([], "a", SCORE) is None


def test_each_cell_of_the_surface_leads_to_its_results() -> None:
    chart = charts.surface_heat_map(CELLS, SCORE)
    assert chart is not None
    assert [row["url"] for row in chart.spec["data"]["values"]] == [cell["url"] for cell in CELLS]


def test_a_measurement_without_bounds_has_no_axis_from_0_to_1() -> None:
    latency = Measure("latency", "Latency", "ms", bounded=False)
    chart = charts.by_level("x", "x", "x", {"easy": {"mean": 420.0, "low": None, "high": None, "n": 3}}, latency)
    assert chart is not None
    assert "domain" not in json.dumps(chart.spec["layer"])
    assert "interval" not in chart.note


def test_a_png_is_a_png() -> None:
    chart = all_charts()[1]
    assert chart is not None
    assert drawing.png(chart, "dark").startswith(b"\x89PNG")


def test_a_hostile_label_stays_text_in_a_drawn_chart() -> None:
    label = "</text><script>alert(1)</script>"
    chart = charts.ranking([Contender(label, 0.5, 0.4, 0.6, 3, None, None)], SCORE)
    assert chart is not None
    assert "<script" not in drawing.svg(chart)


@pytest.mark.parametrize("code", [0x00, 0x08, 0x0B, 0x1B, 0x85, 0x202E, 0x2028, 0xFFFE, 0xFFFF, 0x1FFFF])
def test_a_character_that_xml_does_not_know_does_not_end_the_process(code: int) -> None:
    chart = charts.ranking([Contender(f"a{chr(code)}b", 0.5, 0.4, 0.6, 3, None, None)], SCORE)
    assert chart is not None
    assert ElementTree.fromstring(drawing.svg(chart)).tag.endswith("svg")  # our own drawing, of no hostile XML
    assert drawing.png(chart).startswith(b"\x89PNG")


def test_the_drawing_script_is_built_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []
    monkeypatch.setattr(drawing, "_built_bundle", lambda: built.append("") or "draw();")
    assert drawing.bundle(tmp_path) == drawing.bundle(tmp_path)
    assert len(built) == 1
